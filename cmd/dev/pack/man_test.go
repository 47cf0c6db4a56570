package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func TestEveryCommandHasAManualPageWithItsFlags(t *testing.T) {
	dir := t.TempDir()
	if err := writeManual(dir, day); err != nil {
		t.Fatal(err)
	}
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		if cmd.Name() == "help" {
			return
		}
		page := read(t, filepath.Join(dir, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1"))
		cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
			if !strings.Contains(page, `\fB--`+flag.Name+`\fP`) {
				t.Errorf("the page of %s lacks --%s", cmd.CommandPath(), flag.Name)
			}
		})
		for _, member := range cmd.Commands() {
			check(member)
		}
	}
	check(tree())
}

func TestTheMainPageHasTheGlobalSections(t *testing.T) {
	dir := t.TempDir()
	if err := writeManual(dir, day); err != nil {
		t.Fatal(err)
	}
	page := read(t, filepath.Join(dir, "perksctl.1"))
	for _, text := range []string{
		".SH ENVIRONMENT\n", "\\fBPERKSCTL_CLIENT_SECRET\\fP\nthe secret", ".SH EXIT STATUS\n", "\\fB130\\fP\ninterrupted",
		`.TH "PERKSCTL" "1" "Mar 2026" "perksctl dev"`, ".SH SEE ALSO\n",
	} {
		if !strings.Contains(page, text) {
			t.Errorf("perksctl.1 lacks %q:\n%s", text, page)
		}
	}
}

func TestPagesAreReproducible(t *testing.T) {
	date, err := dateOf("1772600767", time.Now())
	if err != nil || !date.Equal(day) {
		t.Fatalf("%v, %v", date, err)
	}
	if _, err := dateOf("yesterday", time.Now()); err == nil {
		t.Error("a date that is not a number is accepted")
	}
	first, second := t.TempDir(), t.TempDir()
	for _, dir := range []string{first, second} {
		if err := writeManual(dir, date); err != nil {
			t.Fatal(err)
		}
	}
	pages, err := filepath.Glob(filepath.Join(first, "*"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("%v, %v", pages, err)
	}
	for _, page := range pages {
		text := read(t, page)
		if text != read(t, filepath.Join(second, filepath.Base(page))) || strings.Contains(text, "Auto generated") {
			t.Errorf("%s differs when it is made twice", filepath.Base(page))
		}
	}
}

func TestPerksctlDoesNotImportTheManualGenerator(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "example.com/perks/cmd/perksctl").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, dependency := range []string{"github.com/spf13/cobra/doc", "github.com/cpuguy83/go-md2man/v2/md2man"} {
		if strings.Contains("\n"+string(out), "\n"+dependency+"\n") {
			t.Errorf("perksctl imports %s", dependency)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
