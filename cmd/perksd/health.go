package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/cli/command"
	"example.com/perks/server/listen"
	"example.com/perks/store"
)

// readyTimeout is how long the server may take to say that it is ready: it waits for a write for up to 2 s.
const readyTimeout = 5 * time.Second

// healthCommand is for containers, in whose image there is no other program that could ask the server.
func (p *program) healthCommand() *cobra.Command {
	address, certFile := serveDefaults(nil).address, ""
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Ask the server on this machine whether it is ready",
		Long: "Ask the server on this machine whether it is ready: whether a write to its databases succeeded just\n" +
			"now.\n\n" +
			"It exits with 0 if the server is ready, and otherwise with 1. It finds the server by the variables\n" +
			"that 'perksd serve' reads.",
		Example: "  perksd health\n" +
			"  perksd health --addr :8443 --tls-cert cert.pem",
		Args: command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := askWhetherReady(cmd.Context(), address, certFile != ""); err != nil {
				return err
			}
			fmt.Fprintln(p.Out, "ready")
			return nil
		},
	}
	cmd.Flags().StringVar(&address, "addr", address, "the `HOST:PORT` on which the server listens")
	cmd.Flags().StringVar(&certFile, "tls-cert", "", "the server's certificate, a `FILE`; with one, it speaks TLS")
	return cmd
}

// askWhetherReady fails unless the server at an address of this machine is ready.
func askWhetherReady(ctx context.Context, address string, overTLS bool) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	scheme := "http"
	if overTLS {
		scheme = "https"
	}
	through := &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, address) // an address without a host is this machine's
		},
		// #nosec G402 -- nothing secret is sent, and the certificate names a host under which this machine need not be
		// reachable from within
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12},
		DisableKeepAlives: true,
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://localhost/readyz", nil)
	if err != nil {
		return err
	}
	response, err := through.RoundTrip(request)
	switch operation, _ := errors.AsType[*net.OpError](err); {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("no server listens on %s", address)
	case ctx.Err() != nil:
		return fmt.Errorf("the server on %s does not respond within %s", address, readyTimeout)
	case operation != nil:
		return fmt.Errorf("asking the server on %s: %w", address, operation.Err)
	case err != nil:
		return fmt.Errorf("asking the server on %s: %w", address, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		var said struct{ Response string }
		// whatever else listens there may say nothing
		_ = json.NewDecoder(io.LimitReader(response.Body, 1<<10)).Decode(&said)
		return fmt.Errorf("the server on %s is not ready: %s", address, cmp.Or(said.Response, response.Status))
	}
	return nil
}

var findingTable = table[store.Finding]{
	columns: []string{"CHECK", "OUTCOME", "FOUND", "ADVICE"},
	cells: func(f store.Finding) []string {
		return []string{f.Check, string(f.Outcome), f.Found, f.Advice}
	},
}

func (p *program) doctorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the database, its server, its settings and this machine",
		Long: "Check the database, its server, its settings and this machine. It changes nothing, and what it\n" +
			"prints has no secrets.\n\n" +
			"The exit code is 1 if a check failed. A warning is what works now and may break a promise; the advice\n" +
			"says how to mend it. Whether a server is ready, 'perksd health' asks.",
		Example: "  perksd doctor\n  perksd doctor --database postgres://perks@db.example/perks -o json",
		Args:    command.NoArgs,
	}
	output := outputFlag(cmd, "table", "json", "jsonl")
	p.sandboxFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		db, err := p.target(cmd.Context())
		if err != nil {
			return err
		}
		findings := append(inspectProgram(), inspectDatabase(cmd.Context(), db)...)
		if err := findingTable.print(p.Out, output.value, sequence(findings, nil)); err != nil {
			return err
		}
		failed := 0
		for _, f := range findings {
			if f.Outcome == store.Failed {
				failed++
			}
		}
		if failed > 0 {
			return fmt.Errorf("%d of %d checks failed", failed, len(findings))
		}
		return nil
	}
	return cmd
}

// inspectProgram checks this program and what the system lets it do.
func inspectProgram() []store.Finding {
	files := store.Finding{Check: "open files", Outcome: store.OK,
		Found: fmt.Sprintf("at most %d", listen.MaxOpenFiles())}
	if wanted := 2 * serveDefaults(nil).connections; listen.MaxOpenFiles() < wanted {
		files.Outcome = store.Warning
		files.Advice = fmt.Sprintf("a busy server needs %d: LimitNOFILE of its unit, or ulimit -n", wanted)
	}
	program := fmt.Sprintf("%s, %s/%s", api.Build().Version, runtime.GOOS, runtime.GOARCH)
	return []store.Finding{{Check: "perksd", Outcome: store.OK, Found: program}, files}
}

// inspectDatabase makes each check that the ones before it allow.
func inspectDatabase(ctx context.Context, db database) []store.Finding {
	fail := func(check string, err error) store.Finding {
		return store.Finding{Check: check, Outcome: store.Failed, Found: err.Error()}
	}
	if err := requireMigrated(ctx, db); err != nil {
		return []store.Finding{fail("database", err)}
	}
	findings := []store.Finding{{Check: "database", Outcome: store.OK,
		Found: db.name() + " has this program's version"}}
	for _, part := range []struct {
		name  string
		check func(context.Context) ([]store.Finding, error)
	}{{"settings", db.settings}, {"server", db.inspect}} {
		found, err := part.check(ctx)
		if err != nil {
			found = []store.Finding{fail(part.name, err)}
		}
		findings = append(findings, found...)
	}
	return findings
}
