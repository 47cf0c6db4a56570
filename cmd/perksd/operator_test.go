package main

import (
	"os"
	"os/user"
	"strconv"
	"strings"
	"testing"

	"example.com/perks/store"
)

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
