package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"example.com/perks/cli"
	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
	"example.com/perks/cmd/dev/programs"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

// envNow is the time at which the clock of perksd stands still. The operator has no account then.
const envNow = "PERKS_TEST_NOW"

// TestMain makes this program perksd and perksctl in PATH.
func TestMain(m *testing.M) {
	testscript.Main(programs.Tests{Of: m}, map[string]func(){
		"perksd": func() {
			p := newProgram()
			if at, err := time.Parse(time.RFC3339, os.Getenv(envNow)); err == nil {
				p.now, p.operator = func() time.Time { return at }, store.Operator
			}
			p.main()
		},
		"perksctl": func() { os.Exit(cli.Main(os.Args[1:], command.SystemStreams(), session.Environment())) },
	})
}

var update = flag.Bool("update", false, "rewrite the golden files")

// testNow is the time of the tests.
var testNow = time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC)

// commandTime bounds each command of the tests.
const commandTime = 30 * time.Second

const exitDone, exitFailure, exitUsage = command.ExitOK, command.ExitFailed, command.ExitUsage

// operator runs commands in its own directory with its own empty database. Its clock stands still, and ids and secrets
// are the same in every run.
type operator struct {
	t         *testing.T
	directory string
	env       map[string]string
	now       time.Time
	random    *rand.ChaCha8
	operator  store.Actor
	ticks     chan time.Time // for polling commands
	ids       int

	reloads chan os.Signal // what SIGHUP would send
}

// newOperator returns an operator with a database of the kind that PERKS_TEST_DATABASE names.
func newOperator(t *testing.T) *operator { return newOperatorOf(t, servertest.DatabaseAddress(t)) }

// newSQLiteOperator returns an operator with the file perks.db, for tests about files.
func newSQLiteOperator(t *testing.T) *operator {
	o := newOperatorOf(t, "")
	o.env["PERKSD_DATABASE"] = "sqlite:" + o.path("perks.db")
	return o
}

func newOperatorOf(t *testing.T, address string) *operator {
	env := map[string]string{"PERKSD_DATABASE": address, "PERKSD_ALLOW_FSYNC_OFF": "true"}
	return &operator{t: t, directory: t.TempDir(), env: env, now: testNow, random: rand.NewChaCha8([32]byte{}),
		operator: store.Operator, reloads: make(chan os.Signal)}
}

// store opens the database like the server.
func (o *operator) store() store.Store {
	o.t.Helper()
	opened, err := o.database().open(context.Background(), slog.New(slog.DiscardHandler))
	if err != nil {
		o.t.Fatal(err)
	}
	return opened
}

func (o *operator) database() database {
	o.t.Helper()
	db, err := parseDatabase(o.env["PERKSD_DATABASE"])
	if err != nil {
		o.t.Fatal(err)
	}
	return db
}

// hasNoDatabase checks that no command has set the database up.
func (o *operator) hasNoDatabase() {
	o.t.Helper()
	o.refuses(exitFailure, "perksd was never set up in the database "+o.database().name()+
		"; name another with --database, or set this one up with 'perksd migrate'", "client", "list")
}

func (o *operator) path(name string) string { return filepath.Join(o.directory, name) }

// file writes a file and returns its path.
func (o *operator) file(name, content string) string {
	o.t.Helper()
	if err := os.WriteFile(o.path(name), []byte(content), 0o600); err != nil {
		o.t.Fatal(err)
	}
	return o.path(name)
}

// librariesWords is how Go and its libraries speak of their own functions and types, which no operator should read.
var librariesWords = regexp.MustCompile(`strconv\.|(^| )(yaml|json|template|x509|tls|csv|exec|fs):|dial ` +
	`(tcp|unix)|net/http|fork/exec|%!|\b(open|read|write|stat|mkdir) [^ ]*/[^ ]*: |` +
	`parsing time|invalid character|unexpected EOF|cannot unmarshal|Go value|interface \{\}|unknown ` +
	`flag|shorthand|invalid argument "|no such (host|file)|exit status|context (deadline|canceled)`)

// outcome is the result of a command.
type outcome struct {
	code           int
	stdout, stderr string
}

func (o *operator) run(args ...string) outcome { return o.runWith("", args...) }

// runWith gives the command an input.
func (o *operator) runWith(stdin string, args ...string) outcome {
	// A command that should have been refused must not serve forever.
	ctx, cancel := context.WithTimeout(context.Background(), commandTime)
	defer cancel()
	var stdout, stderr bytes.Buffer
	code := o.program(stdin, &stdout, &stderr).run(ctx, args)
	if found := librariesWords.FindString(stderr.String()); found != "" {
		o.t.Errorf("perksd %q says %q in %q", args, found, stderr.String())
	}
	return outcome{code: code, stdout: stdout.String(), stderr: stderr.String()}
}

func (o *operator) program(stdin string, stdout, stderr io.Writer) *program {
	env := maps.Clone(o.env) // tests change it while a server runs
	return &program{
		Streams:  command.Streams{In: strings.NewReader(stdin), Out: stdout, Err: stderr},
		getenv:   func(name string) string { return env[name] },
		now:      func() time.Time { return o.now },
		newID:    func() string { o.ids++; return fmt.Sprintf("id-%04d", o.ids) },
		random:   o.random,
		operator: o.operator,
		every:    func(time.Duration) (<-chan time.Time, func()) { return o.ticks, func() {} },
		reloads:  func() (<-chan os.Signal, func()) { return o.reloads, func() {} },
	}
}

// must runs a command that has to succeed without messages on stderr, and returns its output.
func (o *operator) must(args ...string) string {
	o.t.Helper()
	got := o.run(args...)
	if got.code != exitDone || got.stderr != "" {
		o.t.Fatalf("perksd %s: exit code %d, stderr %q", strings.Join(args, " "), got.code, got.stderr)
	}
	return got.stdout
}

// refuses runs a command that has to fail with the code and one line on stderr, and print nothing on stdout.
func (o *operator) refuses(code int, message string, args ...string) {
	o.t.Helper()
	want := outcome{code: code, stderr: "perksd: " + message + "\n"}
	if diff := cmp.Diff(want, o.run(args...), cmp.AllowUnexported(outcome{})); diff != "" {
		o.t.Errorf("perksd %s differs (-want +got):\n%s", strings.Join(args, " "), diff)
	}
}

func equal(t *testing.T, what, want, got string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", what, diff)
	}
}

// golden compares with a file under testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, path, string(want), got)
}
