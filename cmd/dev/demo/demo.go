// Command demo shows the product at work: it starts the real perksd with sample data, runs perksctl through a working
// day, and prints each command with its real output. It exits 0 only if every step did what it should.
//
// It drives the two programs as a person would, through their command lines alone, and knows nothing of their insides.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/creack/pty"
	"golang.org/x/term"

	"example.com/perks/cmd/dev/programs"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, "bin", ".demo", os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// run uses the programs in one directory and leaves its files in another, so that they can be looked at afterwards.
func run(ctx context.Context, bin, dir string, out *os.File) (err error) {
	if bin, err = filepath.Abs(bin); err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	show := &shell{programs.Workspace{Programs: bin, Dir: dir}, out}

	server, err := prepare(ctx, show)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()

	for _, step := range tour {
		if err := show.step(ctx, step); err != nil {
			return err
		}
	}
	if err := terminalUI(ctx, show); err != nil {
		return err
	}
	show.say("That is the tour. Its files are in .demo; 'make demo' starts afresh, and README.md has more.")
	return nil
}

// prepare makes a client and sample data, starts the server on a free loopback port and logs perksctl in.
func prepare(ctx context.Context, s *shell) (*programs.Process, error) {
	const id = "demo"
	created, err := s.NewClient(ctx, id, "--name", "Demo")
	if err != nil {
		return nil, err
	}
	if err := s.step(ctx, step{
		say:     "An operator loads sample data: perks, users, and rental listings that belong to the client 'demo'.",
		command: "perksd demo-data --perks 2000 --users 200 --properties 20 --redemptions 0 --owner " + id,
	}); err != nil {
		return nil, err
	}
	server, err := s.Serve()
	if err != nil {
		return nil, err
	}
	s.say("The server runs at " + server.URL + ". Logging in asks for a token before anything is saved.")
	login := "perksctl auth login --api-url " + server.URL + "/v2 --client-id " + id + " --secret-stdin"
	fmt.Fprintf(s.out, "$ %s < secret\n", login)
	output, err := s.output(ctx, step{command: login, input: created.Secret + "\n"})
	fmt.Fprint(s.out, indented(output))
	return server, err
}

// step is one command of the tour.
type step struct {
	say     string   // what it shows, for the reader
	command string   // as for a shell
	input   string   // for its standard input
	exit    int      // the exit code that it must end with
	expect  []string // what its output must hold
}

// shell runs the steps with an environment of their own, so that nothing on the machine takes part in the tour.
type shell struct {
	programs.Workspace
	out *os.File
}

func (s *shell) say(text string) { fmt.Fprintf(s.out, "\n# %s\n", text) }

// step prints the command and what it printed, and fails unless both are as expected.
func (s *shell) step(ctx context.Context, step step) error {
	s.say(step.say)
	fmt.Fprintf(s.out, "$ %s\n", step.command)
	output, err := s.output(ctx, step)
	fmt.Fprint(s.out, indented(output))
	if step.exit != 0 && err == nil {
		fmt.Fprintf(s.out, "  (exit code %d)\n", step.exit)
	}
	return err
}

// output runs a step and returns what it printed on both streams, in their order.
func (s *shell) output(ctx context.Context, step step) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, programs.Timeout)
	defer cancel()
	cmd := s.shell(ctx, step.command)
	cmd.Stdin = strings.NewReader(step.input)
	output, err := s.capture(cmd)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return output, fmt.Errorf("%s: %w", step.command, err)
	}
	if code := cmd.ProcessState.ExitCode(); code != step.exit {
		return output, fmt.Errorf("%s: exit code %d, where %d was expected", step.command, code, step.exit)
	}
	for _, text := range step.expect {
		if !strings.Contains(output, text) {
			return output, fmt.Errorf("%s: its output lacks %q", step.command, text)
		}
	}
	return output, nil
}

// shell is a command line whose program replaces the shell.
func (s *shell) shell(ctx context.Context, line string) *exec.Cmd {
	cmd := s.Command(ctx, "sh")
	cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", "exec " + line}
	return cmd
}

// capture shows the command a terminal where the tour has one, so that a person sees what a person gets: aligned
// columns, not the bare tabs that are for programs.
func (s *shell) capture(cmd *exec.Cmd) (string, error) {
	size, err := pty.GetsizeFull(s.out)
	if err != nil { // not a terminal
		output, err := cmd.CombinedOutput()
		return string(output), err
	}
	ours, theirs, err := pty.Open()
	if err != nil {
		return "", err
	}
	defer ours.Close()
	size.Cols = max(size.Cols, 40) - uint16(len(indent))
	if err := pty.Setsize(theirs, size); err != nil {
		return "", errors.Join(err, theirs.Close())
	}
	cmd.Stdout, cmd.Stderr = theirs, theirs
	if err := cmd.Start(); err != nil {
		return "", errors.Join(err, theirs.Close())
	}
	theirs.Close()
	output, _ := io.ReadAll(ours) // ends with an error when the last writer is gone
	return strings.ReplaceAll(string(output), "\r\n", "\n"), cmd.Wait()
}

const indent = "  "

func indented(output string) string {
	if output != "" && !strings.HasSuffix(output, "\n") {
		output += "\n"
	}
	var b strings.Builder
	for line := range strings.Lines(output) {
		b.WriteString(indent + line)
	}
	return b.String()
}

// tour is a working day: support staff redeem, a property manager edits, and a script reads.
var tour = []step{
	{say: "Browse: filters, an order, and one page.",
		command: `perksctl perk list --city Berlin --sort title --per-page 5 --limit 5`,
		expect:  []string{"Berlin"}},
	{say: "Near a position: within 3 km, the nearest first.",
		command: `perksctl perk list --near 52.52,13.405 --radius 3 --sort distance --limit 5`},
	{say: "The categories, for a program: every command speaks JSON.",
		command: `perksctl perk categories -o json --jq '[.[].category_name] | sort | .[0:5]'`,
		expect:  []string{"["}},
	{say: "One perk, whole.",
		command: `perksctl perk get coffee-2for1`,
		expect:  []string{"coffee-2for1"}},
	{say: "Redeem it for a user, with a note of where.",
		command: `perksctl perk redeem coffee-2for1 --user alice --metadata till=7`,
		expect:  []string{"approved"}},
	{say: "Nobody redeems the same perk twice: the second try is refused with exit code 6.",
		command: `perksctl perk redeem coffee-2for1 --user alice`, exit: 6,
		expect: []string{"already"}},
	{say: "A perk that the operator approves by hand redeems to pending.",
		command: `perksctl perk redeem spa-day --user alice`,
		expect:  []string{"pending"}},
	{say: "What alice has redeemed, the newest first.",
		command: `perksctl user perks alice --type redeemed`,
		expect:  []string{"coffee-2for1", "spa-day"}},
	{say: "A night's job: every row of a file, here from standard input, with a result for each.",
		command: `perksctl perk redeem --file - --results winners.results.jsonl`, input: winners,
		expect: []string{"2 rows: 1 done, 1 waits for approval"}},
	{say: "The same command again does nothing twice: a job that was killed resumes like this.",
		command: `perksctl perk redeem --file - --results winners.results.jsonl`, input: winners,
		expect: []string{"2 of them by an earlier run"}},
	{say: "The operator sees what waits.",
		command: `perksd redemption list --status pending`,
		expect:  []string{"spa-day"}},
	{say: "A property manager looks at a listing,",
		command: `perksctl property get 1`},
	{say: "changes its title and its weekly price, whose digits stay as they are typed,",
		command: `perksctl property update 1 --title 'Sunny loft by the river' --set price_pw=410.50`,
		expect:  []string{"Updated property 1"}},
	{say: "and sees the change.",
		command: `perksctl property get 1 --fields propertyId,title,price_pw`,
		expect:  []string{"Sunny loft by the river", "410.50"}},
	{say: "Where something does not work, the doctor says why.",
		command: `perksctl doctor`,
		expect:  []string{"credentials", "scopes"}},
	{say: "A value that breaks a rule is named, and nothing is changed.",
		command: `perksctl property update 1 --set bedrooms=-1 --set lat=91`, exit: 2,
		expect: []string{"bedrooms", "lat"}},
	{say: "What does not exist is said plainly: exit code 5.",
		command: `perksctl perk get no-such-perk`, exit: 5,
		expect: []string{"no-such-perk"}},
	{say: "Every change to a listing is in the operator's audit log, as it was before and after.",
		command: `perksd audit --subject property/1 -o jsonl`,
		expect:  []string{"property.update"}},
}

// winners is a file of redemptions.
const winners = "perk_id,user_id,metadata.campaign\ncoffee-2for1,bob,autumn\nspa-day,bob,autumn\n"

// terminalUI gives the terminal to perksctl tui until the person quits. Off a terminal, or on one that cannot be drawn
// on, it does nothing.
func terminalUI(ctx context.Context, s *shell) error {
	if !term.IsTerminal(int(os.Stdin.Fd())) || !term.IsTerminal(int(s.out.Fd())) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	const line = "perksctl tui"
	s.say("And at any time: the terminal UI, with the same server. ? shows its keys, q quits.")
	fmt.Fprintf(s.out, "$ %s\n", line)
	cmd := s.shell(ctx, line)
	for _, name := range []string{"COLORTERM", "NO_COLOR", "LANG", "LC_ALL", "TMUX", "TERM_PROGRAM"} {
		if value, set := os.LookupEnv(name); set {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, s.out, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // it leaves the terminal as it was
	cmd.WaitDelay = programs.Timeout
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", line, err)
	}
	return nil
}
