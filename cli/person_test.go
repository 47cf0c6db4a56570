package cli_test

import (
	"strings"
	"testing"

	"example.com/perks/server/servertest"
)

func TestDeleteAsksOnATerminal(t *testing.T) {
	x, facts := loggedIn(t)
	question := "Delete property 42 at " + facts["API_URL"] + " (profile default)? [y/N] "
	no := x.typing("n\n", "property", "delete", "42")
	if no.code != 3 || no.err != question+"error: Cancelled; nothing was changed.\n" || no.out != "" {
		t.Errorf("no: %+v", no)
	}
	if r := x.typing("", "property", "delete", "42", "-o", "json"); r.code != 3 ||
		!strings.Contains(r.err, `{"error":{"code":"cancelled",`) {
		t.Errorf("end of input: %+v", r)
	}
	x.must("property", "get", "42")
	yes := x.typing("y\n", "property", "delete", "42")
	if yes.code != 0 || yes.err != question+"Deleted property 42 at "+facts["API_URL"]+" (profile default).\n" {
		t.Errorf("yes: %+v", yes)
	}
	if r := x.run("property", "get", "42"); r.code != 5 {
		t.Errorf("the property still exists: %+v", r)
	}
}

func TestLoginAsksOnATerminal(t *testing.T) {
	facts := seed(servertest.Start(t))
	x := newTerminal(t, nil)
	r := x.typing(facts["API_URL"]+"/\n"+facts["CLIENT"]+"\n"+facts["SECRET"]+"\n", "login")
	if r.code != 0 || !strings.Contains(r.err, "Logged in to "+facts["API_URL"]+" as "+facts["CLIENT"]) {
		t.Fatalf("%+v", r)
	}
	if strings.Contains(r.out+r.err, facts["SECRET"]) {
		t.Errorf("the secret was shown: %+v", r)
	}
	if again := x.typing(facts["SECRET"]+"\n", "login"); again.code != 0 ||
		strings.Contains(again.err, "Address of the API") {
		t.Errorf("a second login asks for the address: %+v", again)
	}
	if empty := x.typing("\n", "login"); empty.code != 2 {
		t.Errorf("an empty secret: %+v", empty)
	}
}
