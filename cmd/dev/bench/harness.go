package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/cmd/dev/programs"
	"example.com/perks/store/storetest"
)

// harness is what the sections share: the programs they measure, as this checkout builds them, a temporary directory
// for what those write, and how long to measure.
type harness struct {
	programs.Workspace
	options
	clients  int
	cleanups []func() error // what a section has started
}

// openHarness builds the programs. It must be called in the checkout.
func openHarness(ctx context.Context, o options) (*harness, error) {
	dir, err := os.MkdirTemp("", "perks-bench-")
	if err != nil {
		return nil, err
	}
	l := &harness{Workspace: programs.Workspace{Programs: filepath.Join(dir, "bin"), Dir: dir}, options: o}
	l.logf("building perksd and perksctl")
	err = programs.Build(ctx, l.Programs, "-trimpath", "-ldflags", "-s -w", "./cmd/perksd", "./cmd/perksctl",
		"./cmd/dev/bench/testdata/hello")
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

func (l *harness) close() error { return os.RemoveAll(l.Dir) }

// logf reports progress on stderr.
func (l *harness) logf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...)
}

// measure runs a section and ends what it has started, the last first.
func (l *harness) measure(ctx context.Context, s section) (*table, error) {
	t, err := s.measure(ctx, l)
	for _, undo := range slices.Backward(l.cleanups) {
		err = errors.Join(err, undo())
	}
	l.cleanups = nil
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	return t, nil
}

// runPerksd runs one of perksd's commands on a database and returns what it printed.
func (l *harness) runPerksd(ctx context.Context, database string, input io.Reader, args ...string) (string, error) {
	command := l.Command(ctx, slices.Concat([]string{"perksd"}, args, []string{"--database", database})...)
	command.Stdin = input
	output, err := programs.Output(command)
	return output, errors.Join(err, ctx.Err())
}

// start runs a program that says where it listens until the section ends, and returns its HOST:PORT.
func (l *harness) start(command *exec.Cmd) (address string, err error) {
	log, err := os.CreateTemp(l.Dir, "*.log")
	if err != nil {
		return "", err
	}
	p, err := programs.Start(command, log)
	if err != nil {
		return "", err
	}
	l.cleanups = append(l.cleanups, func() error { return errors.Join(p.Stop(), log.Close(), os.Remove(log.Name())) })
	return strings.TrimPrefix(p.URL, "http://"), nil
}

// connections is the size of the pool on both sides of a comparison.
const connections = 16

// serverOptions makes PostgreSQL what an operator would run: every commit on the disk, and memory and log sized so that
// neither a working set of a million perks nor a checkpoint disturbs it.
var serverOptions = storetest.PostgresOptions{Durable: true,
	Settings: map[string]string{"shared_buffers": "1GB", "max_wal_size": "8GB"}}

const database = "perks"

// address is where perksd and others find the database of a cluster.
func address(c *storetest.PostgresServer) string {
	return fmt.Sprintf("%s&pool_max_conns=%d", c.DSN(database), connections)
}

// startPostgres starts a server with an empty database.
func startPostgres(ctx context.Context) (*storetest.PostgresServer, error) {
	c, err := storetest.StartPostgres(ctx, serverOptions)
	if err != nil {
		return nil, err
	}
	if err := c.CreateDatabase(ctx, database); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// postgres is startPostgres until the section ends.
func (l *harness) postgres(ctx context.Context) (*storetest.PostgresServer, error) {
	c, err := startPostgres(ctx)
	if err == nil {
		l.cleanups = append(l.cleanups, c.Stop)
	}
	return c, err
}

// newDatabase is the address of an empty database, until the section ends.
func (l *harness) newDatabase(ctx context.Context, kind, name string) (string, error) {
	if kind == "SQLite" {
		return l.file(filepath.Join(l.Dir, name+".db")), nil
	}
	c, err := l.postgres(ctx)
	if err != nil {
		return "", err
	}
	return address(c), nil
}

// service is a program that serves perks, and a token for it.
type service struct{ address, token string }

// serve starts perksd on a database, with a client that may do everything.
func (l *harness) serve(ctx context.Context, database string) (*service, error) {
	address, err := l.start(l.Command(context.Background(), "perksd", "serve", "--addr", "127.0.0.1:0", "--database",
		database, "--audit-rate", "0")) // one client sends everything
	if err != nil {
		return nil, err
	}
	l.clients++
	scopes := strings.ReplaceAll(api.AllScopes().String(), " ", ",")
	credentials, err := l.NewClient(ctx, fmt.Sprintf("bench-%d", l.clients), "--database", database, "--scope", scopes)
	if err != nil {
		return nil, err
	}
	s := &service{address: address}
	c, err := s.client(nil)
	if err != nil {
		return nil, err
	}
	token, err := c.Token(ctx, credentials)
	s.token = token.AccessToken
	return s, err
}

// client calls the service through a transport; nil is the network.
func (s *service) client(transport http.RoundTripper) (*client.Client, error) {
	return client.New(client.Config{BaseURL: s.url(""), Tokens: client.StaticToken(s.token), Transport: transport})
}

// url is an address of the API, such as url("/partners/perks").
func (s *service) url(path string) string { return "http://" + s.address + "/v2" + path }

// repeat requests an address of the API again and again, for as long as the plan says.
func (s *service) repeat(ctx context.Context, path string, plan Plan) (Report, error) {
	request := fmt.Appendf(nil, "GET /v2%s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", path, s.address,
		s.token)
	plan.Address, plan.Status = s.address, http.StatusOK
	plan.Request = func(buffer []byte, _ int64) []byte { return append(buffer, request...) }
	return Run(ctx, plan)
}

// fetch returns the body at an address of the API.
func (s *service) fetch(ctx context.Context, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url(path), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+s.token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s got status %d: %s", s.url(path), response.StatusCode, bytes.TrimSpace(body))
	}
	return body, err
}
