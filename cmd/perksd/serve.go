package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"example.com/perks/server"
)

type serveOptions struct {
	listen    listenOptions
	sandbox   string
	hourly    bool
	tokenTTL  time.Duration
	rateLimit rate
	logFormat choice
}

func (p *program) serveCommand() *cobra.Command {
	o := serveOptions{logFormat: choice{value: "text", allowed: []string{"text", "json"}}}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the API until SIGTERM or SIGINT",
		Long: "Serve the API until SIGTERM or SIGINT, then finish the requests under way and exit with 0.\n\n" +
			"When it is ready it prints 'listening on' and its address to stderr, where its log goes too.\n" +
			"Tokens and secrets must not cross a network in the open: on any address but loopback it needs a certificate, or a proxy before it that has one.\n\n" +
			"The database is a SQLite file, or one of PostgreSQL that any number of servers share; 'perksd --help' says how to name it.",
		Example: "  perksd serve\n" +
			"  perksd serve --database postgres://perks@db.example/perks?sslmode=verify-full\n" +
			"  perksd serve --addr :8443 --tls-cert cert.pem --tls-key key.pem\n" +
			"  perksd serve --addr :8080 --behind-proxy --log-format json --rate-limit 50/s",
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error { return p.serve(cmd.Context(), o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.listen.address, "addr", "127.0.0.1:8080", "the `HOST:PORT` to listen on; port 0 takes a free one")
	f.StringVar(&o.listen.certFile, "tls-cert", "", "a `FILE` with the certificate, then the chain, in PEM")
	f.StringVar(&o.listen.keyFile, "tls-key", "", "a `FILE` with the certificate's key in PEM")
	f.BoolVar(&o.listen.behindProxy, "behind-proxy", false, "a proxy ends TLS: listen in the open anywhere, and believe X-Forwarded-For, -Proto and -Host")
	f.StringVar(&o.sandbox, "sandbox-database", "", "the `DATABASE` of the sandbox addresses; without one they are not there")
	f.BoolVar(&o.hourly, "hourly", false, "give a client the same token for a whole clock hour, on every replica")
	f.DurationVar(&o.tokenTTL, "token-ttl", time.Hour, "how long a token lives, at most 24h")
	f.Var(&o.rateLimit, "rate-limit", "how often each client may ask; 0 is without limit (default without)")
	f.Var(&o.logFormat, "log-format", "how to write the log")
	return cmd
}

func (p *program) serve(ctx context.Context, o serveOptions) (err error) {
	listener, err := o.listen.open()
	if err != nil {
		return err
	}
	defer listener.Close()
	spareCollections()
	log := p.logger(o.logFormat.value)
	stores, err := p.openStores(ctx, o.sandbox, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stores.close()) }()

	handler, err := server.New(ctx, server.Config{
		Live: stores.live, Sandbox: stores.sandbox,
		TokenTTL: o.tokenTTL, Hourly: o.hourly, RateLimit: o.rateLimit.perSecond, BehindProxy: o.listen.behindProxy,
		Version: version, Logger: log, Now: p.now, NewID: p.newID,
	})
	if err != nil {
		return err
	}
	stopPurging := startPurging(stores.all(), p.now, log)
	defer stopPurging()
	p.announce(o.logFormat.value, log, listener.url())
	return listener.serve(ctx, handler, log)
}

// spareCollections lets garbage grow to twice what is live, unless GOGC says otherwise. A request leaves some 12 KiB behind
// on a heap of a few MiB, and collecting that as often as Go does by itself took a tenth of the server's time. More would
// let thousands of slow connections take more memory than they should.
func spareCollections() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200)
	}
}

func (p *program) logger(format string) *slog.Logger {
	if format == "json" {
		return slog.New(slog.NewJSONHandler(p.stderr, nil))
	}
	return slog.New(slog.NewTextHandler(p.stderr, nil))
}

// announce says that requests are answered now, and where. People and scripts wait for this line, so it is plain in a
// log of text; a log of JSON has nothing but JSON.
func (p *program) announce(format string, log *slog.Logger, url string) {
	if format == "json" {
		log.Info("listening on " + url)
		return
	}
	fmt.Fprintln(p.stderr, "listening on "+url)
}
