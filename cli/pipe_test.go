package cli_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"example.com/perks/cli/session"
)

// runs returns a command line of each command that asks the service or keeps something, and such as write data of their own.
// They can be run in any number and order.
func runs(facts map[string]string) [][]string {
	lines := []string{
		"auth login --api-url " + facts["API_URL"] + " --client-id " + facts["CLIENT"], "auth status", "profile list", "profile show",
		"profile use default", "perk list", "perk list --all --sort title", "perk get coffee", "perk get coffee museum", "perk categories",
		"perk redeem coffee --user alice", "perk redeem coffee --user alice --dry-run", "user perks alice",
		"user perks alice --type redeemed", "property get 42", "property get 42 43", "property update 42 --title New",
		"property update 42 --title New --dry-run", "property delete 42 --yes --dry-run", "api health", "api partners/perks --paginate",
		"api POST partners/perks/museum/redeem --field user_id=bob --dry-run", "completion bash", "version",
	}
	var all [][]string
	for _, line := range lines {
		all = append(all, strings.Fields(line))
	}
	return all
}

// process is the command as a process of its own.
func (x *terminal) process(args ...string) *exec.Cmd {
	cmd := exec.Command("perksctl", args...)
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	for name, value := range x.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return cmd
}

// withStdout runs the command with that standard output, and returns how it ended and what it told on standard error.
func (x *terminal) withStdout(stdout *os.File, cmd *exec.Cmd) (*os.ProcessState, string) {
	x.t.Helper()
	var told bytes.Buffer
	cmd.Stdout, cmd.Stderr = stdout, &told
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		x.t.Fatal(err)
	}
	return cmd.ProcessState, told.String()
}

// open opens a file until the end of the test.
func open(t *testing.T, path string, flag int) *os.File {
	t.Helper()
	file, err := os.OpenFile(path, flag, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}

func TestAFullDiskIsTold(t *testing.T) {
	x, facts := loggedIn(t)
	x.env[session.EnvClientSecret] = facts["SECRET"]
	full := open(t, "/dev/full", os.O_WRONLY)
	const told = "Standard output cannot be written: no space left on device."
	for _, args := range runs(facts) {
		ended, stderr := x.withStdout(full, x.process(append(args, "-o", "json")...))
		if ended.ExitCode() != 1 || strings.Count(stderr, told) != 1 || !strings.HasSuffix(stderr, `{"error":{"code":"failed","message":"`+told+`"}}`+"\n") {
			t.Errorf("perksctl %s -o json: %s\n%s", strings.Join(args, " "), ended, stderr)
		}
	}
	for _, line := range []string{
		"help", "help perk redeem", "perk", "perk list --help", "auth token", "perk list -o yaml", "perk list -o csv", "perk list -o id",
		"perk list --jq .[].id", "perk list --template {{.}}", "perk list", "perk get coffee", "api openapi.yaml",
	} {
		if ended, stderr := x.withStdout(full, x.process(strings.Fields(line)...)); ended.ExitCode() != 1 || stderr != "error: "+told+"\n" {
			t.Errorf("perksctl %s: %s\n%s", line, ended, stderr)
		}
	}
}

func TestAReaderThatHasSeenEnoughIsNoError(t *testing.T) {
	x, facts := loggedIn(t)
	x.env[session.EnvClientSecret] = facts["SECRET"]
	for i, args := range append(runs(facts), strings.Fields("help perk"), strings.Fields("perk list --help")) {
		if args[0] != "help" && args[len(args)-1] != "--help" {
			args = append(args, "-o", "json")
		}
		cmd := x.process(args...)
		if i%2 == 0 { // as under some supervisors and languages
			cmd = exec.Command("bash", append([]string{"-c", `trap '' PIPE; exec perksctl "$@"`, "bash"}, args...)...)
			cmd.Env = x.process().Env
		}
		reader, writer, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		reader.Close()
		ended, stderr := x.withStdout(writer, cmd)
		writer.Close()
		status, ok := ended.Sys().(syscall.WaitStatus)
		if !ok || !status.Signaled() || status.Signal() != syscall.SIGPIPE || strings.Contains(stderr, "error") || strings.Contains(stderr, "pipe") {
			t.Errorf("perksctl %s: %s\n%s", strings.Join(args, " "), ended, stderr)
		}
	}
}

// TestClosedStreamsDoNoHarm runs commands without standard streams at all. No file or connection may take their numbers and
// get what was meant for them.
func TestClosedStreamsDoNoHarm(t *testing.T) {
	x, facts := loggedIn(t)
	x.env[session.EnvClientSecret] = facts["SECRET"]
	for _, args := range runs(facts) {
		for _, closed := range []string{"<&-", ">&-", "2>&-", "<&- >&- 2>&-"} {
			cmd := exec.Command("bash", append([]string{"-c", `exec perksctl "$@" ` + closed, "bash"}, args...)...)
			cmd.Env = x.process().Env
			text, err := cmd.CombinedOutput()
			conflict := strings.HasPrefix(strings.Join(args, " "), "perk redeem") && cmd.ProcessState.ExitCode() == 6
			if err != nil && !conflict {
				t.Errorf("perksctl %s %s: %v\n%s", strings.Join(args, " "), closed, err, text)
			}
		}
	}
	if r := x.must("profile", "show", "--jq", ".client_id"); r.out != facts["CLIENT"]+"\n" {
		t.Errorf("the configuration has become\n%s", r.out)
	}
}

func TestACommandThatNeedsInputSaysSoWithoutOne(t *testing.T) {
	x, _ := loggedIn(t)
	for line, want := range map[string]string{
		"login --secret-stdin --api-url http://127.0.0.1:1/v2 --client-id c": "error: ",
		"property delete 42":   "--yes",
		"api POST x --input -": "error: ",
	} {
		cmd := exec.Command("bash", "-c", "exec perksctl "+line+" <&-")
		cmd.Env = x.process().Env
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = io.Discard, &stderr
		_ = cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code < 1 || code > 8 || !strings.Contains(stderr.String(), want) {
			t.Errorf("perksctl %s: exit code %d\n%s", line, code, &stderr)
		}
	}
}
