package event

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

const forwardHelp = `With --forward-to, post each new event to a URL as a webhook of the service: the same headers, body
and signature, by the secret of --secret-stdin, or by a new one that is shown once. With --exec, run
a program for each instead: its standard input has the event as JSON, and its environment
PERKS_EVENT_ID, _TYPE, _SUBJECT, _AT, _ACTOR, _CURSOR and _ATTEMPT. No shell reads the command. What
the program prints goes to standard error; whatever it starts ends with perksctl.

Each attempt is a line: time, type, subject, status and duration. An event is delivered if the reply
is 2xx, or the exit code 0. Otherwise it is retried as webhooks are, after 5s, 5m, 30m and so on for
three days, or when Retry-After says. Events of one subject stay in order; those of others go on.
After the last attempt, or the status 410, the command ends.

--state keeps the position in a file, so that the same command resumes, even after kill -9: no event
is missed, and at most those that were being delivered come again, one unless
--concurrency says otherwise. Without --last or --after, it begins with the events from now on.`

// forwarding is the flags of what delivers events.
type forwarding struct {
	forwardTo, exec, state string
	secretStdin            bool
	concurrency            int
}

func (f *forwarding) bind(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.forwardTo, "forward-to", "", "post each event as a webhook to this `URL`")
	cmd.Flags().StringVar(&f.exec, "exec", "", "run this `command` for each event")
	cmd.Flags().BoolVar(&f.secretStdin, "secret-stdin", false,
		"with --forward-to, read the secret that signs from standard input")
}

// isGiven tells whether events are delivered, not only shown.
func (f *forwarding) isGiven() bool { return f.forwardTo != "" || f.exec != "" }

func (f *forwarding) checkTarget(cmd *cobra.Command) error {
	changed := cmd.Flags().Changed
	for _, name := range []string{"forward-to", "exec"} {
		if changed(name) && cmd.Flags().Lookup(name).Value.String() == "" {
			return command.Usagef("--%s must not be empty.", name)
		}
	}
	switch {
	case f.forwardTo != "" && f.exec != "":
		return command.Usagef("Give --forward-to or --exec, not both.")
	case f.secretStdin && f.forwardTo == "":
		return command.Usagef("--secret-stdin needs --forward-to: only webhooks are signed.")
	}
	return nil
}

// mostAtOnce bounds --concurrency.
const mostAtOnce = 64

func (f *flags) checkForwarding(cmd *cobra.Command) error {
	if err := f.checkTarget(cmd); err != nil {
		return err
	}
	changed := cmd.Flags().Changed
	for _, name := range []string{"state", "concurrency"} {
		if changed(name) && !f.isGiven() {
			return command.Usagef("--%s needs --forward-to or --exec.", name)
		}
	}
	switch {
	case f.isGiven() && !f.follow:
		return command.Usagef("--forward-to and --exec deliver what happens from now on: add --follow, or write " +
			"perksctl tail. One event again: perksctl events resend ID")
	case f.concurrency < 1 || f.concurrency > mostAtOnce:
		return command.Usagef("--concurrency must be between 1 and %d.", mostAtOnce)
	case changed("state") && f.state == "":
		return command.Usagef("--state must not be empty.")
	}
	return nil
}

// deliveryView is how attempts are shown.
var deliveryView = output.View{
	Columns: []string{"at", "type", "subject", "status", "exit_code", "duration_ms", "error"}, ID: "event_id",
}

// delivery is one attempt to deliver an event.
type delivery struct {
	At       time.Time     `json:"at"` // when it began
	EventID  string        `json:"event_id"`
	Type     api.EventType `json:"type"`
	Subject  string        `json:"subject"`
	Attempt  int           `json:"attempt"`     // the first is 1
	Status   *int          `json:"status"`      // of the response; null without one
	ExitCode *int          `json:"exit_code"`   // of the program; null without one
	Error    *string       `json:"error"`       // why it failed; null if the event is delivered
	Duration int64         `json:"duration_ms"` // in milliseconds
	Answer   string        `json:"answer"`      // the beginning of the response's body
	NextAt   *time.Time    `json:"next_at"`     // of the next attempt; null without one
	Cursor   string        `json:"cursor"`      // the position after the event
}

// delivery describes an attempt that was the last.
func (a answer) delivery(e api.Event, at time.Time, attempt int, took time.Duration) delivery {
	d := delivery{At: at.UTC().Truncate(time.Millisecond), EventID: e.ID, Type: e.Type, Subject: e.Subject,
		Attempt: attempt, Status: a.status, ExitCode: a.exitCode, Duration: took.Milliseconds(), Answer: a.text,
		Cursor: e.Cursor}
	if a.problem != "" {
		d.Error = &a.problem
	}
	return d
}

func notDelivered(e api.Event, d delivery) error {
	return &command.Failure{Exit: command.ExitFailed, Code: "not_delivered",
		Message: fmt.Sprintf("Event %s was not delivered by attempt %d: %s.", e.ID, d.Attempt, *d.Error)}
}

// writer returns what shows an attempt as the flags of the output ask for; write is for programs.
func writer(
	s *session.Session, write func(*output.Printer[delivery], delivery) error,
) (func(delivery, api.Event) error, error) {
	printer, err := output.New[delivery](s.Output, s.Streams, deliveryView)
	if err != nil {
		return nil, err
	}
	return func(d delivery, e api.Event) error {
		if !s.Output.IsPlain() {
			return write(printer, d)
		}
		status := "failed"
		switch {
		case d.Status != nil:
			status = fmt.Sprint(*d.Status)
		case d.ExitCode != nil:
			status = fmt.Sprint("exit ", *d.ExitCode)
		}
		more := []string{status, (time.Duration(d.Duration) * time.Millisecond).String()}
		if d.Error != nil {
			why := *d.Error
			if d.NextAt != nil {
				why += fmt.Sprintf("; attempt %d in %s", d.Attempt+1, display.Duration(d.NextAt.Sub(d.At)))
			}
			more = append(more, display.Line(why))
		}
		return writeLine(s.Streams, d.At, e, more...)
	}, nil
}

// forward delivers events until it is interrupted, or an event can't be delivered.
func (f *flags) forward(cmd *cobra.Command, s *session.Session) error {
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	show, err := writer(s, func(p *output.Printer[delivery], d delivery) error {
		return p.List(context.WithoutCancel(ctx), output.Each([]delivery{d})) // also what ends after an interrupt
	})
	if err != nil {
		return err
	}
	c, connection, err := s.Connect()
	if err != nil {
		return err
	}
	if s.Flags.Timeout > 0 { // it also ends retries
		ctx, cancel = context.WithTimeout(ctx, s.Flags.Timeout)
		defer cancel()
	}
	t, err := f.open(ctx, s, connection)
	if err != nil {
		return err
	}
	defer t.close()
	queue := newQueue(t, f.concurrency, show, s.Streams)
	if f.state != "" {
		var unlock func()
		if queue.state, unlock, err = openState(f.state, connection); err != nil {
			return err
		}
		defer unlock()
		if queue.state.After != "" {
			for _, name := range []string{"after", "last"} {
				if cmd.Flags().Changed(name) {
					return command.Usagef("%s has a position already, so --%s says nothing. Leave it out, or choose "+
						"another file.", f.state, name)
				}
			}
			f.after = queue.state.After
		}
		queue.resume()
	}
	if !cmd.Flags().Changed("last") {
		f.last = 0
	}
	f.before = f.after
	pages := make(chan read)
	go func() {
		defer close(pages)
		for page, err := range f.wanted(f.pages(ctx, s.Streams, c)) {
			select {
			case pages <- read{page, f.before, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	cause := queue.run(ctx, pages)
	if cause == nil {
		return nil
	}
	return f.stopped(cmd, s, queue, cause)
}

// stopped says how to resume.
func (f *flags) stopped(cmd *cobra.Command, s *session.Session, q *queue, cause error) error {
	if q.position == "" {
		return cause // it has not begun
	}
	words := append(s.CommandLine(cmd.CalledAs()), command.GivenFlags(cmd, "after", "last", "limit")...)
	switch after := q.safe(); {
	case f.state != "":
	case after == "":
		words = append(words, "--last", fmt.Sprint(api.MaxPerPage))
	default:
		words = append(words, "--after", after)
	}
	resume := command.Quote(words)
	if n := len(q.order); n > 0 {
		s.Streams.Note("Not delivered yet: %s.", display.Plural(n, "event", "events"))
	}
	if s.IsTimeUp(cause) {
		f.shown -= len(q.order)
		return f.timeUp(s, resume)
	}
	return &command.Advised{Err: cause, Advice: "To resume:\n  " + resume, Retry: resume}
}
