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
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"example.com/perks/api/build"
	"example.com/perks/api/display"
	"example.com/perks/cli/usage"
	"example.com/perks/server"
	"example.com/perks/server/listen"
	"example.com/perks/server/telemetry"
	"example.com/perks/store"
)

type serveOptions struct {
	address           string
	certFile, keyFile string
	behindProxy       bool
	proxies           []netip.Prefix

	hourly   bool
	newUsers bool
	tokenTTL time.Duration
	origins  []string

	rate        float64 // requests a second; 0 is without limit
	burst       int
	connections int

	logFormat, logLevel choice

	metrics          string // an address; "" for none
	metricsOpen      bool
	trustTraceparent bool
}

const telemetryHelp = "Prometheus reads metrics at --metrics-addr. Traces are sent by OTLP over HTTP to OTEL_EXPORTER_OTLP_ENDPOINT, such as http://127.0.0.1:4318;\n" +
	"OpenTelemetry's other variables count too: OTEL_SERVICE_NAME, OTEL_TRACES_SAMPLER, OTEL_EXPORTER_OTLP_HEADERS and the like."

func (p *program) serveCommand() *cobra.Command {
	o := serveOptions{
		logFormat: choice{value: "text", allowed: []string{"text", "json"}},
		logLevel:  choice{value: "info", allowed: []string{"debug", "info", "warn", "error"}},
	}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the API until SIGTERM or SIGINT",
		Long: "Serve the API until SIGTERM or SIGINT, then finish the requests under way and exit with 0.\n\n" +
			"When it is ready it prints 'listening on' and its address to stderr, where its log goes too.\n" +
			"Tokens and secrets must not cross a network in the open: on any address but loopback it needs a certificate, or a proxy before it that has one.\n\n" +
			"The database is a SQLite file, or one of PostgreSQL that any number of servers share; 'perksd --help' says how to name it.\n\n" + telemetryHelp,
		Example: "  perksd serve\n" +
			"  perksd serve --database postgres://perks@db.example/perks?sslmode=verify-full\n" +
			"  perksd serve --addr :8443 --tls-cert cert.pem --tls-key key.pem\n" +
			"  perksd serve --addr :8080 --behind-proxy --log-format json --rate-limit 50/s",
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error { return p.serve(cmd.Context(), o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.address, "addr", "127.0.0.1:8080", "the `HOST:PORT` to listen on; port 0 takes a free one")
	f.StringVar(&o.certFile, "tls-cert", "", "a `FILE` with the certificate, then the chain, in PEM; SIGHUP has it read again")
	f.StringVar(&o.keyFile, "tls-key", "", "a `FILE` with the certificate's key in PEM")
	f.BoolVar(&o.behindProxy, "behind-proxy", false, "a proxy ends TLS: listen in the open anywhere, and believe X-Forwarded-For, -Proto and -Host")
	f.Func("trusted-proxies", "with --behind-proxy, the addresses of all proxies, `CIDR,...` such as 10.0.0.5,10.1.0.0/16; nobody else's word counts (default whoever is connected, as the only proxy)",
		func(text string) (err error) { o.proxies, err = parseNetworks(text); return err })
	f.BoolVar(&o.hourly, "hourly", false, "give a client the same token for a whole clock hour, on every replica")
	f.BoolVar(&o.newUsers, "create-users", false, "create a user on their first redemption; without this an unknown user is 404")
	f.DurationVar(&o.tokenTTL, "token-ttl", time.Hour, "how long a token lives, at most 24h")
	f.StringSliceVar(&o.origins, "cors-origin", nil, "an `ORIGIN` whose web pages may call the API, such as https://app.example; several with commas, * for all (default none)")
	f.Func("rate-limit", "how often each client may ask, `N/s`; 0 is without limit (default without)",
		func(text string) (err error) { o.rate, err = parseRate(text); return err })
	f.IntVar(&o.burst, "rate-burst", 0, "how many requests at once --rate-limit lets through of a client that was quiet; 0 is those of one second")
	f.IntVar(&o.connections, "max-connections", 10_000, "how many connections are open at once, if the system lets perksd have twice as many files; a quiet one costs some 20 KiB")
	f.Var(&o.logFormat, "log-format", "how to write the log")
	f.Var(&o.logLevel, "log-level", "the least that is logged: info has a line for every request, debug also why a token was refused")
	f.StringVar(&o.metrics, "metrics-addr", "", "the `HOST:PORT` at which Prometheus reads /metrics, of this machine or of a private network (default none)")
	f.BoolVar(&o.metricsOpen, "metrics-open", false, "let --metrics-addr be any address, because a firewall or a network policy decides who comes there")
	f.BoolVar(&o.trustTraceparent, "trust-traceparent", false,
		"continue the trace that a request names, and record it if that says so; otherwise a trace of its own is linked to it")
	return cmd
}

// check refuses flags that mean nothing, or not what somebody may think.
func (o *serveOptions) check() error {
	wrong := func(problem string) error { return usageError{errors.New(problem)} }
	for _, origin := range o.origins {
		if err := server.CheckOrigin(origin); err != nil {
			return usageError{fmt.Errorf("--cors-origin: %w", err)}
		}
	}
	switch {
	case o.tokenTTL < time.Second || o.tokenTTL > server.MaxTokenTTL:
		return usageError{fmt.Errorf("--token-ttl must be between 1s and %s, not %s", server.MaxTokenTTL, o.tokenTTL)}
	case o.burst < 0:
		return wrong("--rate-burst must not be negative")
	case o.burst > 0 && o.rate == 0:
		return wrong("--rate-burst means nothing without --rate-limit")
	case o.connections < 1:
		return wrong("--max-connections must be at least 1")
	case len(o.proxies) > 0 && !o.behindProxy:
		return wrong("--trusted-proxies means nothing without --behind-proxy")
	case (o.certFile == "") != (o.keyFile == ""):
		return wrong("--tls-cert and --tls-key belong together; only one of them is given")
	case o.metricsOpen && o.metrics == "":
		return wrong("--metrics-open means nothing without --metrics-addr")
	}
	return nil
}

// drainTime is how long requests under way may take to end: as long as the slowest body and its answer may take, and less
// than the 30 s after which most supervisors kill.
const drainTime = 27 * time.Second

func (p *program) serve(ctx context.Context, o serveOptions) (err error) {
	reloads, forget := p.hangUps() // first of all, because without this SIGHUP ends a program
	defer forget()
	if err := o.check(); err != nil {
		return err
	}
	listener, certificate, err := o.listen(p.now)
	if err != nil {
		return err
	}
	defer listener.Close()
	// A request leaves some 12 KiB behind on a heap of a few MiB, and collecting that as often as Go does by itself took a tenth of
	// the server's time. More would let thousands of slow connections take more memory than they should.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200)
	}
	log := o.logger(p.stderr)
	watched, err := o.telemetry(ctx, log)
	if err != nil {
		return err
	}
	defer watched.Stop()
	live, sandbox, err := p.openStores(ctx, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, live.Close()) }()
	stores := []store.Store{live}
	if sandbox != nil {
		defer func() { err = errors.Join(err, sandbox.Close()) }()
		stores = append(stores, sandbox)
	}

	handler, err := server.New(ctx, server.Config{
		Live: live, Sandbox: sandbox,
		TokenTTL: o.tokenTTL, Hourly: o.hourly, CreateUsers: o.newUsers, RateLimit: o.rate, RateBurst: o.burst,
		BehindProxy: o.behindProxy, TrustedProxies: o.proxies, CORSOrigins: o.origins,
		Metrics: watched.Metrics, Tracer: watched.Tracer, TrustTraceparent: o.trustTraceparent,
		Version: build.Read().Version, Logger: log, Now: p.now, NewID: p.newID,
	})
	if err != nil {
		return err
	}
	connections := listen.Limit(listener, o.roomFor(log))
	watched.Watch(connections, certificate)
	scheme := "http://"
	if certificate != nil {
		scheme = "https://"
		certificate.LogDetails(log, "the certificate was read")
	}
	hours, days := time.NewTicker(time.Hour), time.NewTicker(24*time.Hour)
	defer hours.Stop()
	defer days.Stop()
	stop := inBackground(
		func(ctx context.Context) { purge(ctx, stores, watched.CountPurge, p.now, hours.C, log) },
		func(ctx context.Context) { certificate.Watch(ctx, reloads, days.C, log) },
	)
	defer stop()
	p.announce(o.logFormat.value, log, scheme+listener.Addr().String())
	p.keepSupervisorInformed(ctx, log)
	answering := listen.Server{Handler: handler, Certificate: certificate, MaxHeader: 64 << 10, Drain: drainTime, Draining: "draining", Log: log}
	return answering.Serve(ctx, connections)
}

// listen reads the certificate, if there is one, and takes the address.
func (o *serveOptions) listen(now func() time.Time) (l net.Listener, certificate *listen.Certificate, err error) {
	address, err := net.ResolveTCPAddr("tcp", o.address)
	if err != nil {
		return nil, nil, usageError{fmt.Errorf("--addr must be HOST:PORT: %w", err)}
	}
	if o.certFile == "" && !o.behindProxy && !address.IP.IsLoopback() {
		return nil, nil, usageError{fmt.Errorf("perksd does not listen on %s in the open, because tokens and secrets would cross the network for all to read: "+
			"give it --tls-cert and --tls-key, or --behind-proxy if a proxy before it ends TLS", o.address)}
	}
	if o.certFile != "" {
		if certificate, err = listen.ReadCertificate(o.certFile, o.keyFile, now, usage.AboutFile); err != nil {
			return nil, nil, err
		}
	}
	if l, err = listen.Take(address); err != nil {
		return nil, nil, fmt.Errorf("--addr: %w", err)
	}
	return l, certificate, nil
}

// telemetry takes the address of the metrics, and fails before anything is served if it cannot be had.
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
		_ = listener.Close() // nobody was answered there
	}
	if errors.As(err, new(telemetry.VariableError)) {
		err = usageError{err}
	}
	return started, err
}

// metricsAddress refuses addresses that the whole internet may reach. Metrics hold no secrets, but they tell how busy a business
// is, and who attacks learns from them what works.
func (o *serveOptions) metricsAddress() (*net.TCPAddr, error) {
	address, err := net.ResolveTCPAddr("tcp", o.metrics)
	if err != nil {
		return nil, usageError{fmt.Errorf("--metrics-addr must be HOST:PORT: %w", err)}
	}
	if o.metricsOpen || address.IP.IsLoopback() || address.IP.IsPrivate() || address.IP.IsLinkLocalUnicast() {
		return address, nil
	}
	return nil, usageError{fmt.Errorf("perksd does not show its metrics on %s, because people on the internet may come there: "+
		"name an address of this machine's private network, or add --metrics-open if a firewall keeps others out", o.metrics)}
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

// roomFor returns how many connections there can be. Half of the files are kept for the databases.
func (o *serveOptions) roomFor(log *slog.Logger) int {
	room := openFiles() / 2
	if room >= o.connections {
		return o.connections
	}
	log.Warn("the system lets perksd have too few files for --max-connections", "max_connections", o.connections, "connections", room, "files_needed", 2*o.connections)
	return room
}

// announce says that requests are answered now, and where. People and scripts wait for this line, so it is plain in a
// log of text; a log of JSON has nothing but JSON.
func (p *program) announce(format string, log *slog.Logger, url string) {
	if format == "json" {
		// Whatever the level of the log, its handler writes what it is given.
		line := slog.NewRecord(p.now(), slog.LevelInfo, "listening on "+url, 0)
		_ = log.Handler().Handle(context.Background(), line) // who cannot read the log does not wait for it
		return
	}
	fmt.Fprintln(p.stderr, "listening on "+url)
}

// keepSupervisorInformed tells systemd, or whoever else started the program and has set NOTIFY_SOCKET, that it answers, and
// when ctx ends that it drains. See sd_notify(3).
func (p *program) keepSupervisorInformed(ctx context.Context, log *slog.Logger) {
	socket := p.getenv("NOTIFY_SOCKET")
	if socket == "" {
		return
	}
	tell := func(state string) {
		// One datagram. A name that begins with @ is in Linux's abstract namespace, as Go has it too.
		conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
		if err == nil {
			defer conn.Close()
			_, err = conn.Write([]byte(state))
		}
		if err != nil {
			log.Warn("the supervisor was not told how far perksd is", "state", state, "error", "NOTIFY_SOCKET: "+err.Error())
		}
	}
	tell("READY=1")
	context.AfterFunc(ctx, func() { tell("STOPPING=1") })
}

// parseRate reads requests a second, such as "50/s" or "0.5".
func parseRate(text string) (float64, error) {
	number, err := strconv.ParseFloat(strings.TrimSuffix(text, "/s"), 64)
	if err != nil || number < 0 || math.IsInf(number, 0) || math.IsNaN(number) {
		return 0, errors.New("it must be a number of requests a second, such as 50/s")
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

// inBackground does all of the work until the function that it returns is called, which waits for what is under way.
func inBackground(work ...func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var working sync.WaitGroup
	for _, do := range work {
		working.Go(func() { do(ctx) })
	}
	return func() {
		cancel()
		working.Wait()
	}
}

// expiredKeysStay leaves room for clocks that differ.
const expiredKeysStay = time.Hour

// purge deletes idempotency keys that are past their life and signing keys that have expired, now and at each tick, until ctx ends.
// It counts idempotency keys.
func purge(ctx context.Context, stores []store.Store, count func(int64, error), now func() time.Time, ticks <-chan time.Time, log *slog.Logger) {
	for {
		for _, s := range stores {
			at := now()
			keys, err := s.PurgeIdempotencyKeys(ctx, at.Add(-store.IdempotencyKeyLife))
			count(keys, err)
			logPurge(ctx, log, "idempotency keys", keys, err)
			if ctx.Err() != nil {
				return
			}
			keys, err = s.PurgeSigningKeys(ctx, at.Add(-expiredKeysStay))
			logPurge(ctx, log, "signing keys", keys, err)
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
