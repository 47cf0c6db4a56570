package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/creack/pty"

	"example.com/perks/server/servertest"
	"example.com/perks/store/storetest"
)

const (
	noSandbox = "there is no sandbox: name its database with --sandbox-database or PERKSD_SANDBOX_DATABASE"
	twoPerks  = "id,title,description,city,approval\nspa,Spa,Warm,Bath,manual\ntea,Tea,Hot,Bath,auto\n"
)

// withSandbox sets up a live database with a client, a perk and a user, and an empty sandbox.
func withSandbox(t *testing.T) *operator {
	o := withClient(t)
	o.env["PERKSD_SANDBOX_DATABASE"] = servertest.DatabaseAddress(t)
	o.must("import", "perks", o.file("live.csv", "id,title,description,city\nspa,Live,Dear,Leeds\n"))
	o.must("import", "users", o.file("live-users.csv", "id\nalice\n"))
	return o
}

// inSandbox returns the operator with the sandbox as its only database.
func (o *operator) inSandbox() *operator {
	other := *o
	other.env = map[string]string{"PERKSD_DATABASE": o.env["PERKSD_SANDBOX_DATABASE"]}
	return &other
}

// TestEveryCommandHandlesSandbox lists all commands: a new one must be added with or without --sandbox.
func TestEveryCommandHandlesSandbox(t *testing.T) {
	takes := map[string]bool{}
	for _, cmd := range allCommands(newOperator(t).program("", nil, nil).root()) {
		if takesIt := !cmd.Flags().Lookup("sandbox").Hidden; takesIt || !cmd.HasSubCommands() {
			takes[cmd.CommandPath()] = takesIt
		}
	}
	for _, path := range []string{"import perks", "import categories", "import users", "export perks",
		"export categories", "export users", "export redemptions",
		"redemption list", "redemption approve", "redemption reject", "redemption void", "audit",
		"audit archive", "demo-data", "backup", "migrate", "doctor"} {
		if !takes["perksd "+path] {
			t.Errorf("%s does not take --sandbox", path)
		}
		delete(takes, "perksd "+path)
	}
	for path, does := range takes {
		if does {
			t.Errorf("%s takes --sandbox, and is not in the list of this test", path)
		}
	}
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

// withTrials fills the sandbox with two perks, a category, two users and a redemption.
func withTrials(t *testing.T) *operator {
	o := withSandbox(t)
	o.must("import", "perks", "--sandbox", o.file("perks.csv", twoPerks))
	o.must("import", "users", "--sandbox", o.file("users.csv", importable["users"]))
	o.inSandbox().redeem("r-1", "spa", "alice")
	return o
}

func TestSandboxResetAsksOnATerminal(t *testing.T) {
	o := withTrials(t)
	before := o.inSandbox().everything()
	name := o.inSandbox().database().name()
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
	equal(t, "the sandbox", before, o.inSandbox().everything())

	code, stdout, _ := o.atTerminal(t.Context(), "yes\n", "sandbox", "reset")
	if want := "Emptied the sandbox " + name + " of 2 perks, 2 users and 1 redemption.\n"; code != exitDone ||
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
