package main

import (
	"encoding/json"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"example.com/perks/api"
)

func TestVersionAsTextAndJSON(t *testing.T) {
	o := newOperator(t)
	equal(t, "perksd version", "perksd dev ("+runtime.Version()+", "+runtime.GOOS+"/"+runtime.GOARCH+")\n",
		o.must("version"))
	var reported api.BuildInfo
	if err := json.Unmarshal([]byte(o.must("version", "-o", "json")), &reported); err != nil ||
		reported != api.Build() {
		t.Errorf("-o json prints %+v, %v", reported, err)
	}
	o.refuses(exitUsage, `unexpected argument "2" (see 'perksd version --help')`, "version", "2")
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
	o.refuses(exitUsage, `there is no script for "sh"; the shells are bash, zsh, fish (see 'perksd completion --help')`,
		"completion", "sh")
	if offered := o.run("__complete", "client", "list", "-o", "").stdout; !strings.HasPrefix(offered,
		"table\njson\njsonl\n") {
		t.Errorf("after -o the completions are:\n%s", offered)
	}
}
