package cli_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"example.com/perks/cli/session"
)

// commandLines returns command lines of the commands that call the service, save files or write data. They can run in
// any order, repeatedly.
func commandLines(facts map[string]string) [][]string {
	lines := []string{
		"auth login --api-url " + facts["API_URL"] + " --client-id " + facts["CLIENT"], "auth status", "profile list",
		"profile show",
		"profile use default", "perk list", "perk list --all --sort title", "perk get coffee", "perk get coffee museum",
		"perk categories",
		"perk redeem coffee --user alice", "perk redeem coffee --user alice --dry-run", "user perks alice",
		"user perks alice --type redeemed", "property get 42", "property get 42 43", "property history 42",
		"property update 42 --title New",
		"property update 42 --title New --dry-run", "property delete 42 --yes --dry-run", "api health",
		"api partners/perks --paginate",
		"api POST partners/perks/museum/redeem --field user_id=bob --dry-run", "completion bash", "version",
	}
	var all [][]string
	for _, line := range lines {
		all = append(all, strings.Fields(line))
	}
	return all
}

// process returns perksctl as a separate process.
func (x *terminal) process(args ...string) *exec.Cmd {
	cmd := exec.Command("perksctl", args...)
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	for name, value := range x.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return cmd
}

// withStdout runs the command with the standard output, and returns its state and standard error.
func (x *terminal) withStdout(stdout *os.File, cmd *exec.Cmd) (*os.ProcessState, string) {
	x.t.Helper()
	var message bytes.Buffer
	cmd.Stdout, cmd.Stderr = stdout, &message
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		x.t.Fatal(err)
	}
	return cmd.ProcessState, message.String()
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

func TestFullDiskIsReported(t *testing.T) {
	x, facts := loggedIn(t)
	x.env[session.EnvClientSecret] = facts["SECRET"]
	full := open(t, "/dev/full", os.O_WRONLY)
	const message = "Standard output cannot be written: no space left on device."
	for _, args := range commandLines(facts) {
		state, stderr := x.withStdout(full, x.process(append(args, "-o", "json")...))
		if state.ExitCode() != 1 || strings.Count(stderr, message) != 1 ||
			!strings.HasSuffix(stderr, `{"error":{"code":"failed","message":"`+message+`"}}`+"\n") {
			t.Errorf("perksctl %s -o json: %s\n%s", strings.Join(args, " "), state, stderr)
		}
	}
	for _, line := range []string{
		"help", "help perk redeem", "perk", "perk list --help", "auth token", "perk list -o yaml", "perk list -o csv",
		"perk list -o id",
		"perk list --jq .[].id", "perk list --template {{.}}", "perk list", "perk get coffee", "api openapi.yaml",
	} {
		if state, stderr := x.withStdout(full, x.process(strings.Fields(line)...)); state.ExitCode() != 1 ||
			stderr != "error: "+message+"\n" {
			t.Errorf("perksctl %s: %s\n%s", line, state, stderr)
		}
	}
}

func TestClosedPipeIsNoError(t *testing.T) {
	x, facts := loggedIn(t)
	x.env[session.EnvClientSecret] = facts["SECRET"]
	for i, args := range append(commandLines(facts), strings.Fields("help perk"), strings.Fields("perk list --help")) {
		if args[0] != "help" && args[len(args)-1] != "--help" {
			args = append(args, "-o", "json")
		}
		cmd := x.process(args...)
		if i%2 == 0 { // as some supervisors and languages do
			cmd = exec.Command("bash", append([]string{"-c", `trap '' PIPE; exec perksctl "$@"`, "bash"}, args...)...)
			cmd.Env = x.process().Env
		}
		reader, writer, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		reader.Close()
		state, stderr := x.withStdout(writer, cmd)
		writer.Close()
		status, ok := state.Sys().(syscall.WaitStatus)
		if !ok || !status.Signaled() || status.Signal() != syscall.SIGPIPE || strings.Contains(stderr, "error") ||
			strings.Contains(stderr, "pipe") {
			t.Errorf("perksctl %s: %s\n%s", strings.Join(args, " "), state, stderr)
		}
	}
}

// TestClosedStreamsDoNoHarm runs commands without standard streams. No file or connection may get their descriptors and
// their output.
func TestClosedStreamsDoNoHarm(t *testing.T) {
	x, facts := loggedIn(t)
	x.env[session.EnvClientSecret] = facts["SECRET"]
	for _, args := range commandLines(facts) {
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
		t.Errorf("the configuration is now\n%s", r.out)
	}
}
