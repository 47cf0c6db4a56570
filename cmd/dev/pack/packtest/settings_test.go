//go:build package

package packtest

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPerksdOperateReadsSettingsAsSystemdDoes replaces perksd by env, which prints its variables. systemd's rules
// are in systemd.exec(5), and in its parser of such files; drive.sh compares with the systemd of this machine.
func TestPerksdOperateReadsSettingsAsSystemdDoes(t *testing.T) {
	r := newRoot(t)
	r.dpkg("-i", serverPackage(t))
	r.copyPrograms("sh", "id", "setpriv", "awk", "sed", "tail", "env")
	r.copy(r.path("bin/env"), r.path("usr/bin/perksd"))
	tests := []struct {
		name, text string
		want       []string
	}{
		{"a plain line", "A=postgres://u@h/d?a=1&b=$x#y;z", []string{"A=postgres://u@h/d?a=1&b=$x#y;z"}},
		{"blanks around key and value", " \tA = v w \t\nB=x", []string{"A=v w", "B=x"}},
		{"invalid keys", "A b=c\n1A=x\nexport B=x\nA-B=x\n=x\nA.B=x\nC=1", []string{"C=1"}},
		{"a line without a value, and one without =", "A=\nB\nC=1", []string{"A=", "C=1"}},
		{"comments", "# A=1\n;B=2\n  # C=3\nD=4 # no comment\n", []string{"D=4 # no comment"}},
		{"the last one counts", "A=1\nA=2", []string{"A=2"}},
		{"backslashes", `A=a\b\\c\ ` + "\nB=\\ x", []string{`A=ab\c `, "B= x"}},
		{"a continued line", "A=one\\\ntwo\nB=\"three\\\nfour\"\nC=5", []string{"A=onetwo", "B=threefour", "C=5"}},
		{"double quotes", `A="a b" ` + "\n" + `B="\"\\\$\` + "`" + `\n"` + "\n" + `C="it's #1;"`,
			[]string{"A=a b", "B=\"\\$`\\n", "C=it's #1;"}},
		{"single quotes", `A='a "b" \c $d'`, []string{`A=a "b" \c $d`}},
		{"adjacent quotes", `A="a" 'b' c` + "\n" + `B=a"b"`, []string{"A=abc", `B=a"b"`}},
		{"lines within quotes", "A='one\n two'\nB=3", []string{"A=one\n two", "B=3"}},
		{"unterminated quotes", "A='one\nB=2", []string{"A=one\nB=2"}},
		{"CRLF line ends", "A=1\r\nB=2\r\n", []string{"A=1", "B=2"}},
		{"shell substitutions", "A=$(id)`id`\nB='$(id)'", []string{"A=$(id)`id`", "B=$(id)"}},
		{"another HOME", "HOME=/elsewhere", []string{"HOME=/elsewhere"}},
		{"nothing", "", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r.overwrite(settings, test.text)
			var got []string
			for _, variable := range strings.Split(r.data(r.inside(0, 0, []string{"PATH=/bin:/usr/bin"},
				"/usr/sbin/perksd-operate", "-0")), "\x00") {
				name, value, _ := strings.Cut(variable, "=")
				if strings.Contains("|PATH|PWD|OLDPWD|SHLVL|_||", "|"+name+"|") || variable == "HOME=/var/lib/perksd" {
					continue
				}
				got = append(got, name+"="+value)
			}
			slices.Sort(got)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("the variables differ (-want +got):\n%s", diff)
			}
		})
	}
}
