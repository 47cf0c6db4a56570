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

func TestCommandsWorkOnTheSandbox(t *testing.T) {
	o := withSandbox(t)
	live := o.everything() + o.must("audit", "-o", "jsonl")

	prepared := o.must("migrate", "--sandbox")
	if !strings.HasSuffix(prepared, "This is the sandbox "+o.inSandbox().database().name()+".\n") ||
		strings.Contains(prepared, "pending") {
		t.Errorf("migrate says %q", prepared)
	}
	equal(t, "import perks", "Imported 2 perks into the sandbox: 2 created.\n",
		o.must("import", "perks", "--sandbox", o.file("perks.csv", twoPerks)))
	equal(t, "import categories", "Imported 2 categories into the sandbox: 2 created.\n",
		o.must("import", "categories", "--sandbox", o.file("c.csv", importable["categories"])))
	o.env["PERKSD_SANDBOX"] = "true"
	equal(t, "import users", "Imported 2 users into the sandbox: 2 created.\n",
		o.must("import", "users", o.file("users.csv", importable["users"])))
	delete(o.env, "PERKSD_SANDBOX")
	o.inSandbox().redeem("r-1", "spa", "alice")
	o.inSandbox().redeem("r-2", "spa", "bob")

	equal(t, "export perks", o.inSandbox().must("export", "perks"), o.must("export", "perks", "--sandbox"))
	equal(t, "export users", "id\nalice\nbob\n", o.must("export", "users", "--sandbox"))
	equal(t, "redemption list", o.inSandbox().must("redemption", "list"), o.must("redemption", "list", "--sandbox"))
	equal(t, "approve", `ID   PERK  USER   STATUS    REDEEMED_AT           CLIENT
r-1  spa   alice  approved  2026-06-15T12:00:00Z  acme
This was done in the sandbox.
`, o.must("redemption", "approve", "r-1", "--sandbox"))
	o.must("redemption", "reject", "r-2", "--sandbox", "-o", "json")
	equal(t, "audit", `AT                    ACTOR        ACTION              SUBJECT
2026-06-15T12:00:00Z  client/acme  redemption.create   redemption/r-1
2026-06-15T12:00:00Z  client/acme  redemption.create   redemption/r-2
2026-06-15T12:00:00Z  operator     perks.import        perks
2026-06-15T12:00:00Z  operator     categories.import   categories
2026-06-15T12:00:00Z  operator     users.import        users
2026-06-15T12:00:00Z  operator     redemption.approve  redemption/r-1
2026-06-15T12:00:00Z  operator     redemption.reject   redemption/r-2
`, o.must("audit", "--sandbox"))
	equal(t, "demo-data", "Imported 20 perks and 3 users into the sandbox, which has no properties.\n",
		o.must("demo-data", "--sandbox", "--perks", "20", "--users", "3"))

	equal(t, "the live database", live, o.everything()+o.must("audit", "-o", "jsonl"))
	o.must("import", "users", "--sandbox=false", o.file("users.csv", "id\neve\n"))
	equal(t, "--sandbox=false", "id\nalice\neve\n", o.must("export", "users"))
}

func TestBackupOfTheSandbox(t *testing.T) {
	o := newSQLiteOperator(t)
	o.env["PERKSD_SANDBOX_DATABASE"] = "sqlite:" + o.path("sandbox.db")
	o.refuses(exitFailure, "perksd was never set up in the database "+o.path("sandbox.db")+
		"; name another with --sandbox-database, or set this one up with 'perksd migrate "+
		"--sandbox'", "backup", "--sandbox", o.path("copy.db"))
	o.must("import", "users", "--sandbox", o.file("users.csv", importable["users"]))
	if said, want := o.must("backup", "--sandbox", o.path("copy.db")),
		"Backed up the sandbox "+o.path("sandbox.db")+" to "+o.path("copy.db")+" ("; !strings.HasPrefix(said, want) {
		t.Errorf("backup says %q, want %q and its size", said, want)
	}
	equal(t, "the copy", "id\nalice\nbob\n", o.must("export", "users", "--database", "sqlite:"+o.path("copy.db")))
	o.hasNoDatabase() // and none was made
}

func TestSandboxIsRefusedWhereItWouldBeIgnored(t *testing.T) {
	o := withSandbox(t)
	why := func(reason, command string) string {
		return "--sandbox: " + reason + "; leave it out, and PERKSD_SANDBOX too (see 'perksd " + command + " --help')"
	}
	for _, test := range []struct{ command, reason, args string }{
		{"serve", "serve uses both databases", ""},
		{"client list", "clients are only in the live database, and may use the sandbox too", ""},
		{"client disable", "clients are only in the live database, and may use the sandbox too", "acme"},
		{"keys rotate", "signing keys are only in the live database, and sign tokens for the sandbox too", ""},
		{"property restore", "the sandbox has no properties", "1"},
		{"import properties", "the sandbox has no properties", "x.csv"},
		{"export properties", "the sandbox has no properties", ""},
	} {
		line := append(strings.Fields(test.command), strings.Fields(test.args)...)
		o.refuses(exitUsage, why(test.reason, test.command), append(line, "--sandbox")...)
		o.env["PERKSD_SANDBOX"] = "true"
		o.refuses(exitUsage, why(test.reason, test.command), line...)
		delete(o.env, "PERKSD_SANDBOX")
	}
	o.env["PERKSD_SANDBOX"] = "true"
	o.must("version")
	delete(o.env, "PERKSD_SANDBOX")
	o.refuses(exitUsage, "the sandbox has no properties: leave --owner, --properties and --redemptions out "+
		"(see 'perksd demo-data --help')", "demo-data", "--sandbox", "--owner", "acme")
	o.refuses(exitUsage, "the sandbox has no properties: leave --owner, --properties and --redemptions out "+
		"(see 'perksd demo-data --help')", "demo-data", "--sandbox", "--properties", "1")
	o.refuses(exitUsage, "--sandbox-database only says where the sandbox is: add --sandbox to work on it, or leave "+
		"both out to work on the live database (see 'perksd import users "+
		"--help')", "import", "users", "--sandbox-database", "sqlite:other.db", "x.csv")
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

func TestWithoutASandboxTheLiveDatabaseIsNotUsed(t *testing.T) {
	o := withClient(t)
	before := o.everything()
	for _, line := range everyCommandOfTheSandbox(o) {
		o.refuses(exitUsage, noSandbox, line...)
	}
	equal(t, "the live database", before, o.everything())
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

func TestASandboxInItsOwnSchemaIsSeparate(t *testing.T) {
	address := storetest.PostgresDatabase(t)
	o := withLiveRecords(t, newOperatorOf(t, address))
	executeIn(t, address, `CREATE SCHEMA trials`)
	o.env["PERKSD_SANDBOX_DATABASE"] = withParameter(t, address, "search_path", "trials")
	before := o.everything()
	o.must("demo-data", "--sandbox", "--perks", "3", "--users", "2")
	if said := o.must("sandbox", "reset", "--yes"); !strings.Contains(said, " of 3 perks, ") {
		t.Errorf("reset says %q", said)
	}
	equal(t, "the live schema", before, o.everything())
	equal(t, "the sandbox", "id\n", o.must("export", "users", "--sandbox"))
}

// withTrials fills the sandbox with two perks, a category, two users and a redemption.
func withTrials(t *testing.T) *operator {
	o := withSandbox(t)
	o.must("import", "perks", "--sandbox", o.file("perks.csv", twoPerks))
	o.must("import", "users", "--sandbox", o.file("users.csv", importable["users"]))
	o.inSandbox().redeem("r-1", "spa", "alice")
	return o
}

func TestSandboxReset(t *testing.T) {
	o := withTrials(t)
	live := o.everything() + o.must("audit", "-o", "jsonl")
	name := o.inSandbox().database().name()
	equal(t, "reset", "Emptied the sandbox "+name+" of 2 perks, 2 users and 1 redemption.\n",
		o.must("sandbox", "reset", "--yes"))
	equal(t, "the sandbox", newOperatorLike(o).everything(), o.inSandbox().everything())
	equal(t, "its audit log",
		`{"at":"2026-06-15T12:00:00Z","actor":"operator","action":"sandbox.reset","subject":"sandbox",`+
			`"before":{"perks":2,"categories":0,"users":2,"redemptions":1,"idempotency_keys":0},"after":null}`+"\n",
		o.must("audit", "--sandbox", "--subject", "sandbox", "-o", "jsonl"))
	equal(t, "reset again", "Emptied the sandbox "+name+" of nothing.\n",
		o.must("sandbox", "reset", "--yes", "--sandbox"))
	equal(t, "refilled", "Emptied the sandbox "+name+" of nothing.\n"+
		"Imported 500 perks and 1,200 users into the sandbox, which has no properties.\n",
		o.must("sandbox", "reset", "--yes", "--demo-data"))
	equal(t, "the live database", live, o.everything()+o.must("audit", "-o", "jsonl"))
}

// newOperatorLike returns an operator with an empty database of the same kind.
func newOperatorLike(o *operator) *operator {
	fresh := newOperator(o.t)
	fresh.must("migrate")
	return fresh
}

func TestSandboxResetNeedsATerminalOrYes(t *testing.T) {
	o := withTrials(t)
	before := o.inSandbox().everything()
	o.env["PERKSD_YES"] = "true" // no variable confirms it
	message := "perksd: cannot ask for confirmation without a terminal: add --yes to empty the sandbox (see 'perksd " +
		"sandbox reset --help')\n"
	if got := o.runWith("yes\n", "sandbox", "reset"); got.code != exitUsage || got.stderr != message ||
		got.stdout != "" {
		t.Errorf("%+v", got)
	}
	equal(t, "the sandbox", before, o.inSandbox().everything())
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
	p.stdin = terminal
	code = p.run(ctx, args)
	if err := terminal.Close(); err != nil {
		o.t.Fatal(err)
	}
	return code, out.String(), strings.ReplaceAll(<-shown, "\r\n", "\n")
}
