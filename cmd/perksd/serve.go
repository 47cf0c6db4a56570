package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/perks/api/build"
	"example.com/perks/server"
	"example.com/perks/server/auth"
	"example.com/perks/store"
)

type serveOptions struct {
	listen    listenOptions
	proxies   networks
	limits    limitOptions
	log       logOptions
	telemetry telemetryOptions
	hourly    bool
	newUsers  bool
	tokenTTL  time.Duration
	origins   []string
}

func (p *program) serveCommand() *cobra.Command {
	var o serveOptions
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
	o.listen.flags(f)
	f.BoolVar(&o.hourly, "hourly", false, "give a client the same token for a whole clock hour, on every replica")
	f.BoolVar(&o.newUsers, "create-users", false, "create a user on their first redemption; without this an unknown user is 404")
	f.DurationVar(&o.tokenTTL, "token-ttl", time.Hour, "how long a token lives, at most 24h")
	f.StringSliceVar(&o.origins, "cors-origin", nil, "an `ORIGIN` whose web pages may call the API, such as https://app.example; several with commas, * for all (default none)")
	o.proxies.flag(f)
	o.limits.flags(f)
	o.log.flags(f)
	o.telemetry.flags(f)
	return cmd
}

func (p *program) serve(ctx context.Context, o serveOptions) (err error) {
	reloads, forget := p.hangUps() // first of all, because without this SIGHUP ends a program
	defer forget()
	if o.tokenTTL < time.Second || o.tokenTTL > auth.MaxTokenTTL {
		return usageError{fmt.Errorf("--token-ttl must be between 1s and %s, not %s", auth.MaxTokenTTL, o.tokenTTL)}
	}
	for _, origin := range o.origins {
		if err := server.CheckOrigin(origin); err != nil {
			return usageError{fmt.Errorf("--cors-origin: %w", err)}
		}
	}
	if err := errors.Join(o.limits.check(), o.proxies.check(o.listen.behindProxy)); err != nil {
		return err
	}
	listener, err := o.listen.open(p.now)
	if err != nil {
		return err
	}
	defer listener.Close()
	spareCollections()
	log := o.log.logger(p.stderr)
	telemetry, err := o.telemetry.start(ctx, log)
	if err != nil {
		return err
	}
	defer telemetry.stop()
	stores, err := p.openStores(ctx, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stores.close()) }()

	handler, err := server.New(ctx, server.Config{
		Live: stores.live, Sandbox: stores.sandbox,
		TokenTTL: o.tokenTTL, Hourly: o.hourly, CreateUsers: o.newUsers, RateLimit: o.limits.rate.perSecond, RateBurst: o.limits.burst,
		BehindProxy: o.listen.behindProxy, TrustedProxies: o.proxies.list, CORSOrigins: o.origins,
		Metrics: telemetry.metrics, Tracer: telemetry.tracer, TrustTraceparent: o.telemetry.trustTraceparent,
		Version: build.Read().Version, Logger: log, Now: p.now, NewID: p.newID,
	})
	if err != nil {
		return err
	}
	stopPurging := startPurging(telemetry.purges.of(stores.all()), p.now, log)
	defer stopPurging()
	telemetry.showExpiry(listener.certificate)
	listener.counted = telemetry.showConnections
	stopWatching := listener.watch(reloads, log)
	defer stopWatching()
	p.announce(o.log.format.value, log, listener.url())
	p.keepSupervisorInformed(ctx, log)
	return listener.serve(ctx, handler, o.limits.roomFor(log), log)
}

// spareCollections lets garbage grow to twice what is live, unless GOGC says otherwise. A request leaves some 12 KiB behind
// on a heap of a few MiB, and collecting that as often as Go does by itself took a tenth of the server's time. More would
// let thousands of slow connections take more memory than they should.
func spareCollections() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200)
	}
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

// serveStores is the databases that a server answers from.
type serveStores struct {
	live    store.Store
	sandbox store.Store // nil without a sandbox
}

// openStores opens the live database and, unless --sandbox-database is empty, the sandbox.
func (p *program) openStores(ctx context.Context, log *slog.Logger) (s serveStores, err error) {
	live, err := parseDatabase(p.database)
	if err != nil {
		return s, err
	}
	if p.sandboxDatabase == "" {
		s.live, err = live.open(ctx, log)
		return s, err
	}
	apart, err := parseDatabase(p.sandboxDatabase)
	if err != nil {
		return s, err
	}
	if err := requireApart(ctx, live, apart); err != nil {
		return s, err
	}
	if err := requireNotLive(ctx, apart); err != nil { // before either is migrated
		return s, err
	}
	if s.live, err = live.open(ctx, log); err != nil {
		return s, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.sandbox, err = apart.open(ctx, log); err != nil {
		return s, err
	}
	return s, requireSandbox(ctx, live, apart, s.sandbox)
}

func (s serveStores) all() []store.Store {
	if s.sandbox == nil {
		return []store.Store{s.live}
	}
	return []store.Store{s.live, s.sandbox}
}

func (s serveStores) close() error {
	var failures []error
	for _, db := range s.all() {
		failures = append(failures, db.Close())
	}
	return errors.Join(failures...)
}

// limitOptions says how much of the server one caller, and all of them, may have.
type limitOptions struct {
	rate        rate
	burst       int
	connections int
}

func (o *limitOptions) flags(f *pflag.FlagSet) {
	f.Var(&o.rate, "rate-limit", "how often each client may ask; 0 is without limit (default without)")
	f.IntVar(&o.burst, "rate-burst", 0, "how many requests at once --rate-limit lets through of a client that was quiet; 0 is those of one second")
	f.IntVar(&o.connections, "max-connections", 10_000, "how many connections are open at once, if the system lets perksd have twice as many files; a quiet one costs some 20 KiB")
}

func (o *limitOptions) check() error {
	switch {
	case o.burst < 0:
		return usageError{errors.New("--rate-burst must not be negative")}
	case o.burst > 0 && o.rate.perSecond == 0:
		return usageError{errors.New("--rate-burst means nothing without --rate-limit")}
	case o.connections < 1:
		return usageError{errors.New("--max-connections must be at least 1")}
	}
	return nil
}

// roomFor returns how many connections there can be. Half of the files are kept for the databases.
func (o *limitOptions) roomFor(log *slog.Logger) int {
	room := openFiles() / 2
	if room >= o.connections {
		return o.connections
	}
	log.Warn("the system lets perksd have too few files for --max-connections", "max_connections", o.connections, "connections", room, "files_needed", 2*o.connections)
	return room
}

// rate is a flag that takes requests a second, such as "50/s" or "0.5". 0 is without limit.
type rate struct{ perSecond float64 }

func (r *rate) String() string {
	if r.perSecond == 0 {
		return ""
	}
	return strconv.FormatFloat(r.perSecond, 'g', -1, 64) + "/s"
}

// Type is how help shows the value.
func (r *rate) Type() string { return "N/s" }

// Set reads a rate.
func (r *rate) Set(text string) error {
	number, err := strconv.ParseFloat(strings.TrimSuffix(text, "/s"), 64)
	if err != nil || number < 0 || math.IsInf(number, 0) || math.IsNaN(number) {
		return errors.New("it must be a number of requests a second, such as 50/s")
	}
	r.perSecond = number
	return nil
}

// keepSupervisorInformed tells systemd, or whoever else started the program and has set NOTIFY_SOCKET, that it answers, and
// when ctx ends that it drains. See sd_notify(3).
func (p *program) keepSupervisorInformed(ctx context.Context, log *slog.Logger) {
	socket := p.getenv("NOTIFY_SOCKET")
	if socket == "" {
		return
	}
	tell := func(state string) {
		if err := notify(socket, state); err != nil {
			log.Warn("the supervisor was not told how far perksd is", "state", state, "error", err.Error())
		}
	}
	tell("READY=1")
	context.AfterFunc(ctx, func() { tell("STOPPING=1") })
}

// notify sends one datagram. A name that begins with @ is in Linux's abstract namespace, as Go has it too.
func notify(socket, state string) error {
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("NOTIFY_SOCKET: %w", err)
	}
	defer conn.Close()
	_, err = conn.Write([]byte(state))
	return err
}
