package api

import (
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

var stamped = &debug.BuildInfo{
	Main: debug.Module{Version: "v0.0.0-20260304050607-0123456789ab+dirty"},
	Settings: []debug.BuildSetting{
		{Key: "vcs", Value: "git"},
		{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"},
		{Key: "vcs.time", Value: "2026-03-04T05:06:07Z"},
		{Key: "vcs.modified", Value: "true"},
	},
}

func TestBuildLine(t *testing.T) {
	here := runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH
	for _, test := range []struct {
		linked string
		built  *debug.BuildInfo
		want   string
	}{
		{"v1.2.3", stamped, "perksd v1.2.3 (commit 0123456789ab, modified, 2026-03-04T05:06:07Z, " + here + ")"},
		{"", stamped, "perksd v0.0.0-20260304050607-0123456789ab+dirty (commit 0123456789ab, modified, " +
			"2026-03-04T05:06:07Z, " + here + ")"},
		{"", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "perksd dev (" + here + ")"},
		{"v1.2.3", &debug.BuildInfo{}, "perksd v1.2.3 (" + here + ")"},
	} {
		if got := buildFrom(test.linked, test.built).Line("perksd"); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

func TestAPIImportsNoOtherPerksPackage(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	if ours := strings.Count(string(out), "example.com/perks"); ours != 1 {
		t.Errorf("imports:\n%s", out)
	}
}
