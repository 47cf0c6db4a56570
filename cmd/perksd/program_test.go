package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"os/user"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/store"
)

func TestEveryCommandHasHelp(t *testing.T) {
	o := newOperator(t)
	for _, cmd := range allCommands(o.program("", nil, nil).root()) {
		path := strings.Fields(cmd.CommandPath())[1:]
		help := o.must(append(path, "--help")...)
		if cmd.Short == "" || !strings.Contains(help, "Usage:") {
			t.Errorf("%s does not say what it does", cmd.CommandPath())
		}
	}
	if got := o.must("--version"); got != "perksd version dev\n" {
		t.Errorf("--version prints %q", got)
	}
}

func allCommands(cmd *cobra.Command) []*cobra.Command {
	commands := []*cobra.Command{cmd}
	for _, child := range cmd.Commands() {
		commands = append(commands, allCommands(child)...)
	}
	return commands
}

func TestVersionAsTextAndJSON(t *testing.T) {
	o := newOperator(t)
	equal(t, "perksd version", "perksd dev ("+runtime.Version()+", "+runtime.GOOS+"/"+runtime.GOARCH+")\n",
		o.must("version"))
	var reported api.BuildInfo
	if err := json.Unmarshal([]byte(o.must("version", "-o", "json")), &reported); err != nil ||
		reported != api.Build() {
		t.Errorf("-o json prints %+v, %v", reported, err)
	}
}

func TestCompletionScriptsLoad(t *testing.T) {
	o := newOperator(t)
	for _, shell := range []string{"bash", "zsh", "fish"} {
		cmd := exec.Command(shell, "--no-execute")
		if shell != "fish" {
			cmd = exec.Command(shell, "-n")
		}
		cmd.Stdin = strings.NewReader(o.must("completion", shell))
		if said, err := cmd.CombinedOutput(); err != nil || len(said) > 0 {
			t.Errorf("%s says %v: %s", shell, err, said)
		}
	}
	if offered := o.run("__complete", "client", "list", "-o", "").stdout; !strings.HasPrefix(offered,
		"table\njson\njsonl\n") {
		t.Errorf("after -o the completions are:\n%s", offered)
	}
}

func TestTheOperatorIsNamedByAccountAndSudo(t *testing.T) {
	for _, r := range []struct {
		account  string
		uid      int
		sudoUser string
		want     store.Actor
	}{
		{"alice", 1000, "", "operator/alice"},
		{"root", 0, "alice", "operator/root/alice"},
		{"perks", 998, "alice", "operator/perks/alice"},
		{"alice", 1000, "alice", "operator/alice"},
		{"", 4711, "", "operator/uid-4711"},
		{"perks", 998, "al/ice\x1b[31m é", "operator/perks/al_ice__31m__"},
		{`CORP\alice`, -1, "", `operator/CORP\alice`},
		{strings.Repeat("a", 100), 1, "", store.Actor("operator/" + strings.Repeat("a", 64))},
	} {
		if got := operatorActor(r.account, r.uid, r.sudoUser); got != r.want {
			t.Errorf("account %q, number %d, sudo from %q: %q, want %q", r.account, r.uid, r.sudoUser, got, r.want)
		}
	}
}

func TestTheOperatorIsTheAccountOfTheProcess(t *testing.T) {
	t.Setenv("USER", "somebody-else")
	t.Setenv("LOGNAME", "somebody-else")
	want := "uid-" + strconv.Itoa(os.Getuid())
	if known, err := user.LookupId(strconv.Itoa(os.Getuid())); err == nil {
		want = known.Username
	}
	none := func(string) string { return "" }
	if got := currentOperator(none); got != store.OperatorActor(accountName(want)) {
		t.Errorf("the operator is %q, want the account %s", got, want)
	}
}

func TestTheAuditLogNamesTheOperator(t *testing.T) {
	o := newOperator(t)
	o.operator = store.OperatorActor("root", "alice")
	o.must("client", "create", "--name", "X", "--id", "x")
	o.must("client", "rotate-secret", "x")
	o.must("client", "disable", "x")
	o.must("keys", "rotate")
	o.must("import", "users", o.file("users.csv", importable["users"]))
	o.must("demo-data", "--perks", "1", "--users", "1")
	for line := range strings.Lines(o.must("audit", "-o", "jsonl")) {
		if !strings.Contains(line, `"actor":"operator/root/alice"`) {
			t.Errorf("an entry does not name the operator: %s", line)
		}
	}
}
