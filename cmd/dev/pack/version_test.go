package main

import (
	"os/exec"
	"testing"
	"time"
)

var day = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// TestVersionsAreThoseOfEachFormat checks that each version sorts after the one before in Debian, whose order RPM has
// too.
func TestVersionsAreThoseOfEachFormat(t *testing.T) {
	before := ""
	for _, test := range []struct {
		git                   string
		date                  time.Time
		plain, debian, alpine string
	}{
		{"dev", day.AddDate(0, 0, -1), "dev", "0~20260303050607.dev", "0_git20260303050607-r0"},
		{"1d0ed3b", day, "1d0ed3b", "0~20260304050607.1d0ed3b", "0_git20260304050607-r0"},
		{"0c996e7-dirty", day.Add(time.Second), "0c996e7-dirty", "0~20260304050608.0c996e7+dirty",
			"0_git20260304050608_p-r0"},
		{"v1.2.0-beta", day, "1.2.0-beta", "1.2.0~beta", "1.2.0_beta-r0"},
		{"v1.2.0-rc.1", day, "1.2.0-rc.1", "1.2.0~rc.1", "1.2.0_rc1-r0"},
		{"v1.2.0-rc.1-4-gabcdef0", day, "1.2.0-rc.1-4-gabcdef0", "1.2.0~rc.1+4.gabcdef0", "1.2.0_rc1_p4-r0"},
		{"v1.2.0-rc.2", day, "1.2.0-rc.2", "1.2.0~rc.2", "1.2.0_rc2-r0"},
		{"v1.2.0", day, "1.2.0", "1.2.0", "1.2.0-r0"},
		{"v1.2.0-dirty", day, "1.2.0-dirty", "1.2.0+dirty", "1.2.0_p-r0"},
		{"1.2.1", day, "1.2.1", "1.2.1", "1.2.1-r0"},
		{"v1.2.1-3-g0123456", day, "1.2.1-3-g0123456", "1.2.1+3.g0123456", "1.2.1_p3-r0"},
		{"v1.2.1-12-g0123456-dirty", day, "1.2.1-12-g0123456-dirty", "1.2.1+12.g0123456+dirty", "1.2.1_p12_p-r0"},
		{"v1.10.0", day, "1.10.0", "1.10.0", "1.10.0-r0"},
	} {
		got, err := versionsOf(test.git, test.date)
		if want := (versions{test.plain, test.debian, test.alpine}); err != nil || got != want {
			t.Errorf("%s becomes %+v, %v; want %+v", test.git, got, err, want)
		}
		if before != "" {
			if said, err := exec.Command("dpkg", "--compare-versions", before, "lt",
				got.debian).CombinedOutput(); err != nil || len(said) > 0 {
				t.Errorf("%s does not come after %s: %v %s", got.debian, before, err, said)
			}
		}
		before = got.debian
	}
	for _, git := range []string{"", "v1.0.0_1", "feature/x", "1.0 ", "v1.2.0-preview"} {
		if got, err := versionsOf(git, day); err == nil {
			t.Errorf("%q becomes %+v", git, got)
		}
	}
}
