package main

import (
	"os/exec"
	"testing"
	"time"
)

var day = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// TestGitVersionsBecomeDebianVersions checks that each version sorts after the one before.
func TestGitVersionsBecomeDebianVersions(t *testing.T) {
	before := ""
	for _, test := range []struct {
		git  string
		date time.Time
		want string
	}{
		{"dev", day.AddDate(0, 0, -1), "0~20260303050607.dev"},
		{"1d0ed3b", day, "0~20260304050607.1d0ed3b"},
		{"0c996e7-dirty", day.Add(time.Second), "0~20260304050608.0c996e7+dirty"},
		{"v1.2.0-rc.1", day, "1.2.0~rc.1"},
		{"v1.2.0-rc.1-4-gabcdef0", day, "1.2.0~rc.1+4.gabcdef0"},
		{"v1.2.0-rc.2", day, "1.2.0~rc.2"},
		{"v1.2.0", day, "1.2.0"},
		{"v1.2.0-dirty", day, "1.2.0+dirty"},
		{"1.2.1", day, "1.2.1"},
		{"v1.2.1-3-g0123456", day, "1.2.1+3.g0123456"},
		{"v1.2.1-12-g0123456-dirty", day, "1.2.1+12.g0123456+dirty"},
		{"v1.10.0", day, "1.10.0"},
	} {
		got, err := debianVersion(test.git, test.date)
		if err != nil || got != test.want {
			t.Errorf("%s becomes %q, %v; want %q", test.git, got, err, test.want)
		}
		if before != "" {
			if said, err := exec.Command("dpkg", "--compare-versions", before, "lt", got).CombinedOutput(); err != nil || len(said) > 0 {
				t.Errorf("%s does not come after %s: %v %s", got, before, err, said)
			}
		}
		before = got
	}
	for _, git := range []string{"", "v1.0.0_1", "feature/x", "1.0 "} {
		if got, err := debianVersion(git, day); err == nil {
			t.Errorf("%q becomes %q", git, got)
		}
	}
}
