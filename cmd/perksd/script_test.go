package main

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"example.com/perks/cmd/dev/programs"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

// TestScripts runs commands as separate processes, whose clock stands still. Each script has an empty database, whose
// name is $DATABASE, and these commands in addition to those of testscript:
//
//	exits CODE command...   the command must exit with this code
//	says LINE...            the last command said just this on stderr, and printed nothing
//	prints LINE...          the last command printed just this
//	field NAME VARIABLE...  sets variables to the member of each line of JSON that the last command printed
//	has-no-database         no command has set the database up
//	later DURATION          moves the clock
//	redeem ID PERK USER     redeems like the server
//	delete-property ID      deletes like the server
//	add-sandbox             gives commands an empty sandbox, whose name is $SANDBOX
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			o := newOperator(t)
			env.Values["operator"] = o
			for name, value := range o.env {
				env.Setenv(name, value)
			}
			env.Setenv("DATABASE", o.database().name())
			env.Setenv(envNow, testNow.Format(time.RFC3339))
			odd, err := filepath.Abs("testdata/odd") // records of each kind with texts that are easily corrupted
			env.Setenv("ODD", odd)
			env.Setenv("GORACE", "atexit_sleep_ms=0") // the race detector delays every exit by a second
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": programs.Exits, "says": says, "field": field, "later": later, "redeem": redeem,
			"delete-property": deleteProperty,
			"prints":          func(ts *testscript.TestScript, _ bool, lines []string) { wrote(ts, "stdout", lines) },
			"has-no-database": hasNoDatabase, "add-sandbox": func(ts *testscript.TestScript, _ bool, _ []string) {
				address := servertest.DatabaseAddress(t)
				ts.Setenv("PERKSD_SANDBOX_DATABASE", address)
				ts.Setenv("SANDBOX", newOperatorOf(t, address).database().name())
			},
		},
		UpdateScripts:      *update,
		RequireUniqueNames: true,
	})
}

// wrote checks one of the last command's outputs.
func wrote(ts *testscript.TestScript, stream string, lines []string) {
	if want, got := strings.Join(lines, "\n")+"\n", ts.ReadFile(stream); got != want {
		ts.Fatalf("%s is\n%swant\n%s", stream, got, want)
	}
}

func says(ts *testscript.TestScript, _ bool, lines []string) {
	lines[len(lines)-1] = "perksd: " + lines[len(lines)-1]
	wrote(ts, "stderr", lines)
	if printed := ts.ReadFile("stdout"); printed != "" {
		ts.Fatalf("it also prints %s", printed)
	}
	if found := librariesWords.FindString(ts.ReadFile("stderr")); found != "" {
		ts.Fatalf("it says %q", found)
	}
}

func hasNoDatabase(ts *testscript.TestScript, _ bool, _ []string) {
	programs.Exits(ts, false, []string{"1", "perksd", "client", "list"})
	says(ts, false, []string{fmt.Sprintf("perksd was never set up in the database %s; name another with --database, "+
		"or set this one up with 'perksd migrate'", ts.Getenv("DATABASE"))})
}

func field(ts *testscript.TestScript, _ bool, args []string) {
	member := regexp.MustCompile(`"` + args[0] + `": ?"([^"]*)"`)
	for i, found := range member.FindAllStringSubmatch(ts.ReadFile("stdout"), -1) {
		ts.Setenv(args[1+i], found[1])
	}
}

// now is the time of a script.
func now(ts *testscript.TestScript) time.Time {
	at, err := time.Parse(time.RFC3339, ts.Getenv(envNow))
	ts.Check(err)
	return at
}

func later(ts *testscript.TestScript, _ bool, args []string) {
	by, err := time.ParseDuration(args[0])
	ts.Check(err)
	ts.Setenv(envNow, now(ts).Add(by).Format(time.RFC3339))
}

// operatorOf is an operator with the database and the time of a script.
func operatorOf(ts *testscript.TestScript) *operator {
	o := *ts.Value("operator").(*operator)
	o.env, o.now = map[string]string{"PERKSD_DATABASE": ts.Getenv("PERKSD_DATABASE")}, now(ts)
	return &o
}

func redeem(ts *testscript.TestScript, _ bool, args []string) {
	operatorOf(ts).redeem(args[0], args[1], args[2])
}

// deleteProperty deletes a property as its owner.
func deleteProperty(ts *testscript.TestScript, _ bool, args []string) {
	o := operatorOf(ts)
	db := o.store()
	defer db.Close()
	var id int64
	_, err := fmt.Sscan(args[0], &id)
	ts.Check(err)
	anyone := func(store.PropertyRecord) error { return nil }
	ts.Check(db.DeleteProperty(context.Background(), id, store.ClientActor("acme", ""), o.now, anyone))
}
