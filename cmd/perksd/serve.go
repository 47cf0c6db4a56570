package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"os"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/cli/command"
	"example.com/perks/server"
	"example.com/perks/server/listen"
	"example.com/perks/server/telemetry"
	"example.com/perks/store"
)

type serveOptions struct {
	server.Config     // what flags set of it
	address           string
	listener          net.Listener // instead of the address; nil if there is none yet
	standbys          string       // an address; "" for none
	allowFsyncOff     bool
	certFile, keyFile string
	webhookKeyFile    string
	connections       int

	logFormat, logLevel enumFlag

	metrics     string // an address; "" for none
	metricsOpen bool
}

const telemetryHelp = "Prometheus reads metrics at --metrics-addr. Traces are sent by OTLP over HTTP to\n" +
	"OTEL_EXPORTER_OTLP_ENDPOINT, such as http://127.0.0.1:4318; OpenTelemetry's other variables work too:\n" +
	"OTEL_SERVICE_NAME, OTEL_TRACES_SAMPLER, OTEL_EXPORTER_OTLP_HEADERS and so on."

func (p *program) serveCommand() *cobra.Command {
	o := serveDefaults(nil)
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the API until SIGTERM or SIGINT",
		Long: "Serve the API until SIGTERM or SIGINT, then finish the requests in flight and exit with 0.\n\n" +
			"When it is ready, it prints 'listening on' and its address to stderr, where it also logs. To keep\n" +
			"tokens and secrets off the network in plain text, any address but loopback needs a certificate, or a\n" +
			"proxy in front that has one.\n\n" +
			"The database is a SQLite file, or a PostgreSQL database that any number of servers share; see 'perksd\n" +
			"--help'.\n\n" + telemetryHelp,
		Example: "  perksd serve\n" +
			"  perksd serve --database postgres://perks@db.example/perks?sslmode=verify-full\n" +
			"  perksd serve --addr :8443 --tls-cert cert.pem --tls-key key.pem\n" +
			"  perksd serve --addr :8080 --behind-proxy --log-format json --rate-limit 50/s",
		Args: command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.serve(cmd.Context(), o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.address, "addr", o.address, "the `HOST:PORT` to listen on; port 0 picks a free one")
	f.StringVar(&o.standbys, "read-database", "",
		"an `ADDRESS` like that of --database, whose hosts are PostgreSQL standbys to read lists and perks from "+
			"(default none)")
	f.BoolVar(&o.allowFsyncOff, "allow-fsync-off", false, "start over a PostgreSQL with fsync = off, which loses "+
		"redemptions and may damage the database in a power cut: for trials only")
	f.StringVar(&o.certFile, "tls-cert", "", "a PEM `FILE` with the certificate and its chain; SIGHUP reloads it")
	f.StringVar(&o.keyFile, "tls-key", "", "a PEM `FILE` with the certificate's key")
	f.BoolVar(&o.BehindProxy, "behind-proxy", false,
		"a proxy terminates TLS: serve plain HTTP on any address, and trust X-Forwarded-For, -Proto and -Host")
	f.Func("trusted-proxies", "with --behind-proxy, all proxies as `CIDR,...`; headers from other peers are ignored "+
		"(default the peer, as the only proxy)",
		func(text string) (err error) { o.TrustedProxies, err = parseNetworks(text); return err })
	f.Func("public-url", "the `URL` at which clients reach this server, such as https://api.example: "+
		"absolute addresses in responses begin with it (default what each request names)",
		func(text string) (err error) { o.PublicURL, err = server.ParsePublicURL(text); return err })
	f.BoolVar(&o.Hourly, "hourly", false, "give a client the same token for a whole clock hour, on every replica")
	f.BoolVar(&o.CreateUsers, "create-users", false,
		"create a user on their first redemption; otherwise an unknown user is 404")
	f.StringSliceVar(&o.SearchMetadata, "search-metadata", nil, "find redemptions by these `KEYS` of their metadata, "+
		"such as ticket,order; what the database has is indexed in the background (default none)")
	f.BoolVar(&o.FourEyes, "four-eyes", false,
		"who redeemed can't approve or void: the same client, and the same person where both are named")
	f.Func("webhook-allow", "`CIDR,...` that webhooks may lead to although they are not public, also over plain HTTP "+
		"(default only public addresses, over HTTPS)",
		func(text string) (err error) { o.WebhookAllow, err = parseNetworks(text); return err })
	f.StringVar(&o.webhookKeyFile, "webhook-key-file", "", "a `FILE` with the key that encrypts the secrets of webhooks, "+
		"32 bytes in base64; on further lines, older keys (default a key in the database)")
	f.DurationVar(&o.TokenTTL, "token-ttl", o.TokenTTL, "lifetime of a token, at most 24h")
	f.StringSliceVar(&o.CORSOrigins, "cors-origin", nil,
		"an `ORIGIN` whose web pages may call the API, such as https://app.example; separate several by commas, * is "+
			"all (default none)")
	f.Func("rate-limit", "maximum requests per second of each client, `N/s`; 0 is unlimited (default unlimited)",
		func(text string) (err error) { o.RateLimit, err = parseRate(text); return err })
	f.IntVar(&o.RateBurst, "rate-burst", 0,
		"how many requests at once --rate-limit allows an idle client; 0 is one second's worth")
	f.Func("audit-rate", "maximum `SIZE/s` that the changes of each client add to the audit log, "+
		"a minute's worth at once; 0 is unlimited (default 1MiB/s)",
		func(text string) (err error) { o.AuditRate, err = parseSizeRate(text); return err })
	f.IntVar(&o.connections, "max-connections", o.connections,
		"maximum open connections; needs a file limit of twice this. An idle connection uses about 20 KiB")
	f.Var(&o.logFormat, "log-format", "format of the log")
	f.Var(&o.logLevel, "log-level",
		"minimum level to log: info has a line for each request, debug also why a token was refused")
	f.StringVar(&o.metrics, "metrics-addr", "",
		"the `HOST:PORT` for Prometheus to read /metrics, on this machine or a private network (default none)")
	f.BoolVar(&o.metricsOpen, "metrics-open", false,
		"allow any --metrics-addr, because a firewall or a network policy protects it")
	f.BoolVar(&o.TrustTraceparent, "trust-traceparent", false,
		"continue the trace that a request names, and record it if the caller does; otherwise start a trace that "+
			"links to it")
	return cmd
}

// serveDefaults are the options of a server without flags. The listener may be nil.
func serveDefaults(listener net.Listener) serveOptions {
	return serveOptions{
		Config:  server.Config{TokenTTL: time.Hour, AuditRate: 1 << 20},
		address: "127.0.0.1:8080", listener: listener, connections: 10_000,
		logFormat: enumFlag{value: "text", allowed: []string{"text", "json"}},
		logLevel:  enumFlag{value: "info", allowed: []string{"debug", "info", "warn", "error"}},
	}
}

// check rejects invalid flags, and flags that would have no effect.
func (o *serveOptions) check() error {
	for _, origin := range o.CORSOrigins {
		if err := server.CheckOrigin(origin); err != nil {
			return command.Usagef("--cors-origin: %s", err)
		}
	}
	if problem := server.CheckSearchedKeys(o.SearchMetadata); problem != "" {
		return command.Usagef("--search-metadata %s", problem)
	}
	switch {
	case o.TokenTTL < time.Second || o.TokenTTL > server.MaxTokenTTL:
		return command.Usagef("--token-ttl must be between 1s and %s, not %s", server.MaxTokenTTL, o.TokenTTL)
	case o.RateBurst < 0:
		return command.Usagef("--rate-burst must not be negative")
	case o.RateBurst > 0 && o.RateLimit == 0:
		return command.Usagef("--rate-burst needs --rate-limit")
	case o.connections < 1:
		return command.Usagef("--max-connections must be at least 1")
	case len(o.TrustedProxies) > 0 && !o.BehindProxy:
		return command.Usagef("--trusted-proxies needs --behind-proxy")
	case (o.certFile == "") != (o.keyFile == ""):
		return command.Usagef("give both --tls-cert and --tls-key, or neither")
	case o.metricsOpen && o.metrics == "":
		return command.Usagef("--metrics-open needs --metrics-addr")
	}
	return nil
}

// drainTime is how long requests in flight may take to finish: as long as the slowest body and its response may take,
// and less than the 30 s after which most supervisors kill.
const drainTime = 27 * time.Second

func (p *program) serve(ctx context.Context, o serveOptions) (err error) {
	reloads, stopReloads := p.reloads() // first, because by default SIGHUP ends a program
	defer stopReloads()
	if err := o.check(); err != nil {
		return err
	}
	listener, certificate, err := o.listen(p.now)
	if err != nil {
		return err
	}
	defer listener.Close()
	// A request leaves about 12 KiB of garbage on a heap of a few MiB: with Go's default, collecting it took a tenth of
	// the server's time. A higher value would let thousands of slow connections use too much memory.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200)
	}
	if o.WebhookKeys, err = readWebhookKeys(o.webhookKeyFile); err != nil {
		return err
	}
	log := o.logger(p.Err)
	exports, err := o.telemetry(ctx, log)
	if err != nil {
		return err
	}
	defer exports.Stop()
	stores, end, err := p.openStores(ctx, o.standbys, o.allowFsyncOff, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	if o.Live = stores[0]; len(stores) > 1 {
		o.Sandbox = stores[1]
	}
	connected := o.connectionLimit(log)
	o.Standbys, o.MaxListeners = o.standbys != "", max(1, connected/2)
	o.Metrics, o.Tracer, o.Logger = exports.Metrics, exports.Tracer, log
	o.Version, o.Now, o.NewID = api.Build().Version, p.now, p.newID
	handler, err := server.New(ctx, o.Config)
	if err != nil {
		return err
	}
	connections := listen.Limit(listener, connected)
	exports.Watch(connections, certificate)
	scheme := "http://"
	if certificate != nil {
		scheme = "https://"
		certificate.LogDetails(log, "the certificate was read")
	}
	hours, checks, days := time.NewTicker(time.Hour), time.NewTicker(time.Hour), time.NewTicker(24*time.Hour)
	seconds := time.NewTicker(time.Second)
	defer seconds.Stop()
	defer hours.Stop()
	defer checks.Stop()
	defer days.Stop()
	stop := inBackground(
		func(ctx context.Context) { purge(ctx, stores, exports.CountPurge, p.now, hours.C, log) },
		func(ctx context.Context) { expire(ctx, stores, p.now, seconds.C, log) },
		func(ctx context.Context) { handler.WatchExpiry(ctx, checks.C) },
		func(ctx context.Context) { certificate.Watch(ctx, reloads, days.C, log) },
		handler.Run,
	)
	defer stop()
	p.announce(o.logFormat.value, log, scheme+listener.Addr().String())
	p.notifySystemd(ctx, log)
	answering := listen.Server{Handler: handler, Certificate: certificate, MaxHeader: 64 << 10, Drain: drainTime,
		Draining: "draining", OnDrain: handler.EndStreams, Log: log}
	return answering.Serve(ctx, connections)
}

// listen reads the certificate, if any, and listens on the address.
func (o *serveOptions) listen(now func() time.Time) (l net.Listener, certificate *listen.Certificate, err error) {
	if o.listener != nil {
		return o.listener, nil, nil
	}
	address, err := net.ResolveTCPAddr("tcp", o.address)
	if err != nil {
		return nil, nil, badAddress("--addr", o.address, err)
	}
	if o.certFile == "" && !o.BehindProxy && !address.IP.IsLoopback() {
		return nil, nil, command.Usagef("perksd does not serve plain HTTP on %s, because anyone on the "+
			"network could read tokens and secrets: use --tls-cert and --tls-key, or --behind-proxy if a proxy in "+
			"front terminates TLS", o.address)
	}
	if o.certFile != "" {
		if certificate, err = listen.ReadCertificate(o.certFile, o.keyFile, now, command.Plain); err != nil {
			return nil, nil, err
		}
	}
	if l, err = listen.Take(address); err != nil {
		return nil, nil, fmt.Errorf("--addr: %w", err)
	}
	return l, certificate, nil
}

// telemetry starts metrics and traces. It fails before anything is served if the metrics' address is not available.
func (o *serveOptions) telemetry(ctx context.Context, log *slog.Logger) (*telemetry.Telemetry, error) {
	var listener net.Listener
	if o.metrics != "" {
		address, err := o.metricsAddress()
		if err != nil {
			return nil, err
		}
		if listener, err = listen.Take(address); err != nil {
			return nil, fmt.Errorf("--metrics-addr: %w", err)
		}
	}
	started, err := telemetry.Start(ctx, listener, log)
	if err != nil && listener != nil {
		_ = listener.Close() // nothing was served there
	}
	if errors.As(err, new(telemetry.VariableError)) {
		err = command.Usagef("%s", err)
	}
	return started, err
}

// badAddress says what is wrong with an address to listen on.
func badAddress(flag, address string, err error) error {
	var unknown *net.DNSError
	if host, _, split := net.SplitHostPort(address); split == nil && errors.As(err, &unknown) && unknown.Name == host {
		return command.Usagef("%s: the host %q is not known", flag, host)
	}
	return command.Usagef("%s must be HOST:PORT, such as 127.0.0.1:8080, not %q", flag, address)
}

// metricsAddress rejects addresses that may be public. Metrics contain no secrets, but they show how busy a business
// is, and show an attacker what works.
func (o *serveOptions) metricsAddress() (*net.TCPAddr, error) {
	address, err := net.ResolveTCPAddr("tcp", o.metrics)
	if err != nil {
		return nil, badAddress("--metrics-addr", o.metrics, err)
	}
	if o.metricsOpen || address.IP.IsLoopback() || address.IP.IsPrivate() || address.IP.IsLinkLocalUnicast() {
		return address, nil
	}
	return nil, command.Usagef("perksd does not serve metrics on %s, which may be reachable from the internet: "+
		"use a private address, or add --metrics-open if a firewall protects it", o.metrics)
}

func (o *serveOptions) logger(out io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(o.logLevel.value)) // the flag takes no others
	options := slog.HandlerOptions{Level: level}
	if o.logFormat.value == "json" {
		return slog.New(slog.NewJSONHandler(display.JSONWriter(out), &options))
	}
	return slog.New(slog.NewTextHandler(display.Writer(out), &options))
}

// connectionLimit leaves half of the open files to the databases.
func (o *serveOptions) connectionLimit(log *slog.Logger) int {
	most := listen.MaxOpenFiles() / 2
	if most >= o.connections {
		return o.connections
	}
	log.Warn("the limit of open files is too low for --max-connections", "max_connections", o.connections,
		"connections", most, "files_needed", 2*o.connections)
	return most
}

// announce prints the address, for which people and scripts wait, as plain text unless the log is JSON.
func (p *program) announce(format string, log *slog.Logger, url string) {
	if format == "json" {
		// The handler writes it whatever the log's level is.
		line := slog.NewRecord(p.now(), slog.LevelInfo, "listening on "+url, 0)
		_ = log.Handler().Handle(context.Background(), line) // if the log fails, nobody waits for this line
		return
	}
	fmt.Fprintln(p.Err, "listening on "+url)
}

// notifySystemd tells systemd, or another supervisor that sets NOTIFY_SOCKET, when the server is ready and when ctx
// ends and it drains. See sd_notify(3).
func (p *program) notifySystemd(ctx context.Context, log *slog.Logger) {
	socket := p.getenv("NOTIFY_SOCKET")
	if socket == "" {
		return
	}
	notify := func(state string) {
		// Go, like systemd, takes a name that begins with @ as one in Linux's abstract namespace.
		conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
		if err == nil {
			defer conn.Close()
			_, err = conn.Write([]byte(state))
		}
		if err != nil {
			log.Warn("cannot notify systemd", "state", state, "error", "NOTIFY_SOCKET: "+err.Error())
		}
	}
	notify("READY=1")
	context.AfterFunc(ctx, func() { notify("STOPPING=1") })
}

// readWebhookKeys reads the file of --webhook-key-file, if there is one.
func readWebhookKeys(path string) ([][]byte, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path) // #nosec G304 -- the operator's choice
	if err != nil {
		return nil, fmt.Errorf("--webhook-key-file: %w", err)
	}
	keys, err := server.ParseWebhookKeys(string(text))
	if err != nil {
		return nil, command.Usagef("--webhook-key-file %s: %s", path, err)
	}
	return keys, nil
}

// parseRate reads requests a second, such as "50/s" or "0.5".
func parseRate(text string) (float64, error) {
	number, err := strconv.ParseFloat(strings.TrimSuffix(text, "/s"), 64)
	if err != nil || number < 0 || math.IsInf(number, 0) || math.IsNaN(number) {
		return 0, errors.New("it must be a number of requests a second, such as 50/s")
	}
	return number, nil
}

// sizeRate is bytes a second, such as 512KiB/s or 1.5MiB/s, or 0.
var sizeRate = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)(B|KiB|MiB|GiB)/s$`)

// parseSizeRate reads a sizeRate.
func parseSizeRate(text string) (float64, error) {
	if text == "0" {
		return 0, nil
	}
	parts := sizeRate.FindStringSubmatch(text)
	if parts == nil {
		return 0, errors.New("it must be a size a second, such as 512KiB/s or 1MiB/s, or 0")
	}
	number, err := strconv.ParseFloat(parts[1], 64)
	number *= map[string]float64{"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[parts[2]]
	if err != nil || number < 1 || number > 1<<40 {
		return 0, errors.New("it must be from 1B/s to 1024GiB/s, or 0")
	}
	return number, nil
}

// parseNetworks reads IP addresses and ranges of them. An address alone is a range of one.
func parseNetworks(text string) (list []netip.Prefix, err error) {
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		network, err := netip.ParsePrefix(part)
		if address, noRange := netip.ParseAddr(part); noRange == nil {
			network, err = netip.PrefixFrom(address, address.BitLen()), nil
		}
		if err != nil {
			return nil, fmt.Errorf("%q is neither an IP address nor a range of them such as 10.1.0.0/16", part)
		}
		list = append(list, network.Masked())
	}
	return list, nil
}

// inBackground starts all of the work. stop cancels it and waits until it is done.
func inBackground(work ...func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, do := range work {
		running.Go(func() { do(ctx) })
	}
	return func() {
		cancel()
		running.Wait()
	}
}

// expiredKeyRetention allows for clock skew.
const expiredKeyRetention = time.Hour

// purge deletes expired idempotency keys and signing keys, and what was refused or delivered long ago, now
// and at each tick, until ctx ends. It calls count with the number of idempotency keys.
func purge(
	ctx context.Context, stores []store.Store, count func(int64, error), now func() time.Time, ticks <-chan time.Time,
	log *slog.Logger,
) {
	for {
		for _, s := range stores {
			at := now()
			keys, err := s.PurgeIdempotencyKeys(ctx, at.Add(-store.IdempotencyKeyLife))
			count(keys, err)
			logPurge(ctx, log, "idempotency keys", keys, err)
			if ctx.Err() != nil {
				return
			}
			keys, err = s.PurgeSigningKeys(ctx, at.Add(-expiredKeyRetention))
			logPurge(ctx, log, "signing keys", keys, err)
			keys, err = s.PurgeRefused(ctx, at.AddDate(0, 0, -api.RefusedDays))
			logPurge(ctx, log, "refused redemptions", keys, err)
			keys, err = s.PurgeWebhookDeliveries(ctx, at.AddDate(0, 0, -api.WebhookDeliveryDays))
			logPurge(ctx, log, "deliveries of webhooks", keys, err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticks:
		}
	}
}

// expire rejects redemptions that nobody has decided in time, now and at each tick, until ctx ends.
func expire(
	ctx context.Context, stores []store.Store, now func() time.Time, ticks <-chan time.Time, log *slog.Logger,
) {
	fails := make([]bool, len(stores))
	for {
		for i, s := range stores {
			expired, _, err := s.ExpireRedemptions(ctx, now())
			switch {
			case ctx.Err() != nil:
				return
			case err != nil && !fails[i]:
				log.Warn("cannot reject redemptions that have expired; trying again every second", "error", err)
			case expired > 0:
				log.Info("rejected redemptions that have expired", "count", expired)
			}
			fails[i] = err != nil
		}
		select {
		case <-ctx.Done():
			return
		case <-ticks:
		}
	}
}

func logPurge(ctx context.Context, log *slog.Logger, what string, purged int64, err error) {
	switch {
	case ctx.Err() != nil:
	case err != nil:
		log.Warn("cannot purge old "+what+"; trying again in an hour", "error", err)
	case purged > 0:
		log.Info("purged old "+what, "count", purged)
	}
}
