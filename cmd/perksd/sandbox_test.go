package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/creack/pty"

	"example.com/perks/server/servertest"
	"example.com/perks/store/storetest"
)

// TestEveryCommandHandlesSandbox lists those that take --sandbox. A new one must be added, unless it does not.
func TestEveryCommandHandlesSandbox(t *testing.T) {
	var takes []string
	for _, cmd := range allCommands(newOperator(t).program("", nil, nil).root()) {
		if !cmd.Flags().Lookup("sandbox").Hidden {
			takes = append(takes, strings.TrimPrefix(cmd.CommandPath(), "perksd "))
		}
	}
	slices.Sort(takes)
	equal(t, "the list", "audit, audit archive, backup, demo-data, doctor, export categories, export perks, "+
		"export redemptions, export users, import categories, import perks, import users, migrate, "+
		"redemption approve, redemption list, redemption reject, redemption void", strings.Join(takes, ", "))
}

// everyCommandOfTheSandbox has a line for each kind of command that works on the sandbox, those that change it last.
func everyCommandOfTheSandbox(o *operator) [][]string {
	users := o.file("users.csv", "id\nmallory\n")
	return [][]string{
		{"export", "perks", "--sandbox"}, {"redemption", "list", "--sandbox"}, {"audit", "--sandbox"},
		{"backup", "--sandbox", o.path("copy")},
		{"migrate", "--sandbox"}, {"import", "users", "--sandbox", users}, {"demo-data", "--sandbox"},
		{"redemption", "reject", "--sandbox", "r-1"},
		{"sandbox", "reset", "--yes"}, {"sandbox", "reset", "--yes", "--demo-data"},
	}
}

// withLiveRecords adds what a live database has after its first day.
func withLiveRecords(t *testing.T, o *operator) *operator {
	t.Helper()
	for _, kind := range []string{"users", "perks", "categories"} {
		o.must("import", kind, o.file(kind+".csv", importable[kind]))
	}
	o.newClient("acme")
	o.must("import", "properties", o.file("properties.csv", importable["properties"]))
	o.must("keys", "rotate")
	return o
}

// leavesLiveAlone runs every sandbox command with --sandbox-database set to the live database.
func (o *operator) leavesLiveAlone(live *operator, message string) {
	o.t.Helper()
	o.leaveLiveAlone(live, message, everyCommandOfTheSandbox(o)...)
}

// leaveLiveAlone runs these commands, and serve, with --sandbox-database set to the live database.
func (o *operator) leaveLiveAlone(live *operator, message string, lines ...[]string) {
	o.t.Helper()
	before := live.everything() + live.must("audit", "-o", "jsonl")
	for _, line := range append(lines, []string{"serve", "--addr", "127.0.0.1:0"}) {
		got := o.run(line...)
		if got.code == exitDone || !strings.Contains(got.stderr, message) || got.stdout != "" {
			o.t.Errorf("perksd %s: exit code %d, stdout %q, stderr %q", strings.Join(line, " "), got.code, got.stdout,
				got.stderr)
		}
	}
	equal(o.t, "the live database", before, live.everything()+live.must("audit", "-o", "jsonl"))
}

func TestTheLiveFileIsRefusedAsTheSandbox(t *testing.T) {
	o := withLiveRecords(t, newSQLiteOperator(t))
	if err := os.Symlink(o.path("perks.db"), o.path("soft.db")); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(o.path("perks.db"), o.path("hard.db")); err != nil {
		t.Fatal(err)
	}
	for _, same := range []string{"perks.db", "../" + o.directory[strings.LastIndex(o.directory, "/")+1:] + "/perks.db",
		"soft.db", "hard.db"} {
		o.env["PERKSD_SANDBOX_DATABASE"] = "sqlite:" + o.directory + "/" + same
		o.leavesLiveAlone(o, sandboxIsLive)
	}
}

func TestALivePostgresDatabaseIsRefusedAsTheSandbox(t *testing.T) {
	live := storetest.PostgresDatabase(t)
	o := withLiveRecords(t, newOperatorOf(t, live))
	for _, same := range []string{
		live, "postgresql" + live[len("postgres"):], withParameter(t, live, "application_name", "sandbox"),
		withParameter(t, live, "search_path", "nowhere,public"),
	} {
		o.env["PERKSD_SANDBOX_DATABASE"] = same
		o.leaveLiveAlone(o, sandboxIsLive, []string{"sandbox", "reset", "--yes"}, []string{"demo-data", "--sandbox"})
	}
}

func TestSwappedDatabasesAreRefused(t *testing.T) {
	live := withLiveRecords(t, newOperator(t))
	swapped := newOperatorOf(t, servertest.DatabaseAddress(t))
	swapped.env["PERKSD_SANDBOX_DATABASE"] = live.env["PERKSD_DATABASE"]
	swapped.must("import", "users", swapped.file("users.csv", "id\ntrial\n"))
	swapped.leavesLiveAlone(live, "--sandbox-database names a live database, "+live.database().name()+
		": it has 1 client, 1 signing key and 2 properties, which a sandbox never has; if --database and "+
		"--sandbox-database are swapped, swap them back")
}

func TestALiveDatabaseWithOnlyASigningKeyIsRefused(t *testing.T) {
	live := newOperator(t)
	_, stop := live.serve()
	stop()
	o := newOperator(t)
	o.env["PERKSD_SANDBOX_DATABASE"] = live.env["PERKSD_DATABASE"]
	o.leaveLiveAlone(live, "it has 1 signing key, which a sandbox never has", []string{"sandbox", "reset", "--yes"})
}

func TestSandboxResetAsksOnATerminal(t *testing.T) {
	o := newOperator(t)
	o.env["PERKSD_SANDBOX_DATABASE"] = servertest.DatabaseAddress(t)
	o.must("import", "users", "--sandbox", o.file("users.csv", importable["users"]))
	before := o.must("export", "users", "--sandbox")
	name := newOperatorOf(t, o.env["PERKSD_SANDBOX_DATABASE"]).database().name()
	question := "This deletes every perk, category, user and redemption of the sandbox " + name +
		".\nType yes to continue: "
	for _, answer := range []string{"\n", "y\n", "Yes\n", "yes please\n", "no\n", "\x04"} {
		code, stdout, screen := o.atTerminal(t.Context(), answer, "sandbox", "reset")
		if code != exitFailure || stdout != "" || !strings.Contains(screen, question) ||
			!strings.HasSuffix(screen, "perksd: cancelled; nothing was changed\n") {
			t.Errorf("with the answer %q: exit code %d, stdout %q, on the screen %q", answer, code, stdout, screen)
		}
	}
	interrupted, interrupt := context.WithCancel(t.Context())
	interrupt()
	if code, _, screen := o.atTerminal(interrupted, "", "sandbox", "reset"); code != exitFailure {
		t.Errorf("interrupted: exit code %d, on the screen %q", code, screen)
	}
	equal(t, "the sandbox", before, o.must("export", "users", "--sandbox"))

	code, stdout, _ := o.atTerminal(t.Context(), "yes\n", "sandbox", "reset")
	if want := "Emptied the sandbox " + name + " of 2 users.\n"; code != exitDone ||
		stdout != want {
		t.Errorf("with yes: exit code %d, stdout %q", code, stdout)
	}
}

// atTerminal runs a command at a terminal, with typed as its input. It returns stdout, which is a pipe, and the text on
// the screen.
func (o *operator) atTerminal(ctx context.Context, typed string, args ...string) (code int, stdout, screen string) {
	o.t.Helper()
	screenSide, terminal, err := pty.Open()
	if err != nil {
		o.t.Fatal(err)
	}
	defer screenSide.Close()
	if _, err := io.WriteString(screenSide, typed); err != nil {
		o.t.Fatal(err)
	}
	shown := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(screenSide) // returns an error when the terminal is closed
		shown <- string(text)
	}()
	var out bytes.Buffer
	p := o.program("", &out, terminal)
	p.In, p.InTTY, p.ErrTTY = terminal, true, true
	code = p.run(ctx, args)
	if err := terminal.Close(); err != nil {
		o.t.Fatal(err)
	}
	return code, out.String(), strings.ReplaceAll(<-shown, "\r\n", "\n")
}
