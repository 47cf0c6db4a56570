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
	o.env["SOURCE_DATE_EPOCH"] = "1772600767"
	o.must("man", o.path("man"))
	o.must("man", o.path("again"))
	for _, cmd := range allCommands(o.program("", nil, nil).root()) {
		if cmd.Hidden {
			continue
		}
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".8"
		page := o.read(filepath.Join("man", name))
		if page != o.read(filepath.Join("again", name)) {
			t.Errorf("%s differs when it is made twice", name)
		}
		if !strings.Contains(page, ` "8" "Mar 2026" "perksd dev"`) {
			t.Errorf("%s begins with %.80q", name, page)
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && !strings.Contains(page, `\fB--`+f.Name+`\fP`) {
				t.Errorf("%s lacks --%s", name, f.Name)
			}
		})
	}
	o.env["SOURCE_DATE_EPOCH"] = "yesterday"
	o.refuses(exitFailure, `SOURCE_DATE_EPOCH "yesterday" is not a number of seconds`, "man", o.path("never"))
}

func (o *operator) read(name string) string {
	o.t.Helper()
	text, err := os.ReadFile(o.path(name))
	if err != nil {
		o.t.Fatal(err)
	}
	return string(text)
}
