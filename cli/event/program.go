package event

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/editor"
	"example.com/perks/cli/command"
)

// program is a command that runs for each event.
type program struct {
	words []string
	group *group

	mu  sync.Mutex
	out io.Writer // gets whole lines
}

// lingering is how long what a program has started may keep its output open.
const lingering = time.Second

func newProgram(line string, s *command.Streams) (*program, error) {
	words, err := editor.Split(line)
	if err != nil || len(words) == 0 {
		return nil, command.Usagef("--exec %q is not a command line. Quote it for the shell, as in --exec "+
			"'./notify --to \"front desk\"'.", line)
	}
	if _, err := exec.LookPath(words[0]); err != nil {
		return nil, command.FlagFile("exec", err)
	}
	g, err := newGroup()
	if err != nil {
		return nil, fmt.Errorf("the programs of --exec cannot be watched over: %w", err)
	}
	return &program{words: words, group: g, out: s.Lines("output")}, nil
}

func (p *program) close() { p.group.close() }

func (p *program) deliver(ctx context.Context, e api.Event, _ time.Time, attempt int) answer {
	text, err := api.EncodeJSON(e)
	if err != nil {
		return answer{problem: err.Error()}
	}
	said := &prefixed{program: p, prefix: e.Subject + ": "}
	cmd := exec.CommandContext(ctx, p.words[0], p.words[1:]...) // #nosec G204 -- the person's own command
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(append(text, '\n')), said, said
	cmd.Env = append(os.Environ(), variables(e, attempt)...)
	cmd.WaitDelay = lingering
	p.group.join(cmd)
	err = cmd.Run()
	said.end()
	a := answer{}
	if cmd.ProcessState != nil && cmd.ProcessState.Exited() {
		a.exitCode = new(cmd.ProcessState.ExitCode())
	}
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		a.problem = command.Plain(err)
	}
	return a
}

func variables(e api.Event, attempt int) []string {
	actor := ""
	if e.Actor != nil {
		actor = *e.Actor
	}
	return []string{
		"PERKS_EVENT_ID=" + e.ID, "PERKS_EVENT_TYPE=" + string(e.Type), "PERKS_EVENT_SUBJECT=" + e.Subject,
		"PERKS_EVENT_AT=" + e.At.UTC().Format(time.RFC3339Nano), "PERKS_EVENT_ACTOR=" + actor,
		"PERKS_EVENT_CURSOR=" + e.Cursor, fmt.Sprint("PERKS_EVENT_ATTEMPT=", attempt),
	}
}

// longestLine bounds what is kept of a line until it ends.
const longestLine = 8 << 10

// prefixed writes what a program says in whole lines, with the event's subject before each.
type prefixed struct {
	program *program
	prefix  string
	begun   []byte
}

func (w *prefixed) Write(text []byte) (int, error) {
	n := len(text)
	for len(text) > 0 {
		line, rest, isWhole := bytes.Cut(text, []byte("\n"))
		room := longestLine - len(w.begun)
		if len(line) > room {
			line, rest, isWhole = text[:room], text[room:], true
		}
		w.begun, text = append(w.begun, line...), rest
		if isWhole {
			w.write()
		}
	}
	return n, nil
}

func (w *prefixed) end() {
	if len(w.begun) > 0 {
		w.write()
	}
}

func (w *prefixed) write() {
	w.program.mu.Lock()
	defer w.program.mu.Unlock()
	fmt.Fprintf(w.program.out, "%s%s\n", w.prefix, w.begun)
	w.begun = w.begun[:0]
}
