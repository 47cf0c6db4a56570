package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"example.com/perks/cmd/dev/programs"
)

// develop starts perksd dev within the test, with the time and the ids of a real server. It returns what it printed and
// a function that interrupts it.
func (o *operator) develop(args ...string) (said string, stop func()) {
	o.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	read, write := io.Pipe()
	var stdout bytes.Buffer
	exited := make(chan int, 1)
	go func() {
		p := o.program("", &stdout, write)
		p.now, p.newID = time.Now, func() string { return uuid.Must(uuid.NewV7()).String() }
		exited <- p.run(ctx, append([]string{"dev"}, args...))
		write.Close()
	}()
	log := programs.Follow(o.t, read)
	log.WaitForURL(o.t) // it prints the rest before
	return stdout.String(), func() {
		o.t.Helper()
		cancel()
		log.Rest()
		if code := <-exited; code != exitDone {
			o.t.Errorf("perksd dev ended with %d", code)
		}
	}
}

// developersShell runs lines in a directory with perksd and perksctl in bin, and returns their output.
func developersShell(t *testing.T, directory, script string) (string, error) {
	t.Helper()
	perksctl, err := exec.LookPath("perksctl")
	if err != nil {
		t.Fatal(err)
	}
	_ = os.Symlink(filepath.Dir(perksctl), filepath.Join(directory, "bin")) // which is there the second time
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = directory
	cmd.Env = append(os.Environ(), "PERKSCTL_CONFIG_DIR="+filepath.Join(directory, "config"), "PERKSCTL_KEYRING=off")
	output, err := cmd.CombinedOutput()
	return string(output), err
}

// TestReadmesFirstRedemption runs the commands of the README as they stand, apart from the port if 8080 is in use.
func TestReadmesFirstRedemption(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?s)\nRedeem your first perk:\n\n    make build\n    bin/perksd (dev \S+) ` +
		`[^\n]*\n(.*?\n)\n[^ ]`).FindStringSubmatch(string(readme))
	if found == nil {
		t.Fatal("the README does not show the first redemption")
	}
	o := newOperatorOf(t, "")
	t.Chdir(o.directory)
	said, stop := o.develop(strings.Fields(found[1])[1:]...)
	defer stop()
	address := regexp.MustCompile(`127\.0\.0\.1:[0-9]+`).FindString(said)
	script := strings.ReplaceAll(found[2], "127.0.0.1:8080", address)
	output, err := developersShell(t, o.directory, script)
	if err != nil || !strings.Contains(output, "Redeemed coffee-2for1 for alice at ") {
		t.Errorf("the commands\n%s\nprinted, with %v:\n%s", script, err, output)
	}
	here, err := os.Getwd() // perksd dev prints whole paths, for a terminal that is elsewhere
	if err != nil {
		t.Fatal(err)
	}
	login := strings.ReplaceAll(regexp.MustCompile(`login [^\n]+`).FindString(said), here+"/", "")
	if !strings.Contains(strings.Join(strings.Fields(strings.ReplaceAll(script, "\\\n", "")), " "), login) {
		t.Errorf("perksd dev says %q, and the README another line:\n%s", login, script)
	}
}

func TestDevKeepsItsDirectory(t *testing.T) {
	o := newOperatorOf(t, "")
	directory := o.path("a directory")
	taken, err := net.Listen("tcp", "127.0.0.1:8080")
	if err == nil { // else another program has the port
		defer taken.Close()
	}
	first, stop := o.develop(directory)
	for _, want := range []string{
		"Port 8080 is in use, so this server has port 80",
		"Imported 500 perks, 1,200 users and 400 properties, and made 600 redemptions.", "into the sandbox",
		" --client-id dev --secret-stdin < '" + directory + "/dev.secret'\n",
	} {
		if !strings.Contains(first, want) {
			t.Errorf("the first start lacks %q:\n%s", want, first)
		}
	}
	commands := func(said string) string {
		return strings.Join(regexp.MustCompile(`(?m)^  perksctl .*$`).FindAllString(said, -1), "\n")
	}
	output, err := developersShell(t, o.directory, commands(first)+"\n"+
		"perksctl property update 1 --title Mine\nperksctl perk list --sandbox --limit 1\n"+
		"perksctl redemption list --all -o jsonl | grep -o '\"status\":\"[a-z]*\"' | sort | uniq -c | tr -s ' \\n' ' '")
	const statuses = ` 421 "status":"approved" 60 "status":"pending" 60 "status":"rejected" 60 "status":"voided"`
	if err != nil || !strings.Contains(output, statuses) { // with that of the first line
		t.Errorf("the first start: %v\n%s", err, output)
	}
	o.refuses(exitFailure, "another perksd dev serves "+directory+". Stop it, or name another directory", "dev",
		directory)
	stop()
	if info, err := os.Stat(filepath.Join(directory, "dev.secret")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the secret: %v, %v", info, err)
	}
	second, stop := o.develop(directory)
	if strings.Contains(second, "Imported") {
		t.Errorf("the second start fills the databases again:\n%s", second)
	}
	output, err = developersShell(t, o.directory, commands(second))
	if err == nil || !strings.Contains(output, `User "alice" has already redeemed perk "coffee-2for1".`) {
		t.Errorf("the second start: %v\n%s", err, output)
	}
	stop()
}

func TestDevRemovesItsTemporaryDirectory(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	said, stop := newOperatorOf(t, "").develop()
	if made, _ := filepath.Glob(filepath.Join(os.TempDir(), "perksd-dev-*", devDatabase)); len(made) != 1 ||
		!strings.Contains(said, made[0][:len(made[0])-len(devDatabase)]+devSecret) {
		t.Errorf("made %v, and said\n%s", made, said)
	}
	stop()
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "*")); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}
