package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestEveryCommandHasAManualPageWithItsFlags(t *testing.T) {
	o := newOperator(t)
	o.must("man", o.path("man"))
	for _, cmd := range allCommands(o.program("", nil, nil).root()) {
		if cmd.Hidden {
			continue
		}
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".8"
		page := o.read(filepath.Join("man", name))
		if !strings.HasPrefix(page, `.TH "`+strings.ToUpper(strings.TrimSuffix(name, ".8"))+`" "8" `) {
			t.Errorf("%s begins with %.80q", name, page)
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && !strings.Contains(page, `\fB`+strings.ReplaceAll("--"+f.Name, "-", `\-`)+`\fR`) {
				t.Errorf("%s lacks --%s", name, f.Name)
			}
		})
	}
}

func (o *operator) read(name string) string {
	o.t.Helper()
	text, err := os.ReadFile(o.path(name))
	if err != nil {
		o.t.Fatal(err)
	}
	return string(text)
}
