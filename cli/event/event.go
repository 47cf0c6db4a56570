// Package event is the command that shows what changes, and forwards it to a URL or a program.
package event

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/cli/command"
	"example.com/perks/cli/completion"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

var view = output.View{
	Columns: []string{"at", "type", "subject"},
	ID:      "id",
}

const tail = "tail"

// flags are those of the command.
type flags struct {
	after  string
	last   int
	limit  int
	follow bool
	types  []string

	forwarding

	kinds []api.EventType // the types
	shown int
	next  string // the position after the last page

	before string // a position before the first event, "" if none is known
}

// New makes the command.
func New(s *session.Session) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:     "events",
		Aliases: []string{"event", tail},
		Short:   "Show what changes: redemptions, properties, perks",
		Long: "Show the newest changes that your client may see, oldest first: redemptions made, approved, rejected\n" +
			"and voided, properties created, changed, deleted and restored, perks changed, and imports.\n\n" +
			"With --follow, or as 'perksctl tail', print each new change until you interrupt the command. If the\n" +
			"service restarts, it reconnects and misses nothing. Each event has a cursor. To resume after an event,\n" +
			"pass its cursor to --after.\n\n" +
			"With --type, --last and --limit count only events of these types.\n\n" + forwardHelp,
		Example: "  perksctl events --follow\n" +
			"  perksctl events --follow --type redemption.made --output jsonl\n" +
			"  perksctl events --after \"$(cat cursor)\" --output jsonl\n" +
			"  perksctl tail --forward-to http://localhost:3000/webhooks\n" +
			"  perksctl tail --state till.state --exec './print-receipt --copies 2'",
		Args: command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.follow = f.follow || cmd.CalledAs() == tail
			if err := f.check(cmd, s); err != nil {
				return err
			}
			if f.isGiven() {
				return f.forward(cmd, s)
			}
			return f.show(cmd, s)
		},
	}
	cmd.Flags().StringVar(&f.after, "after", "", "show the changes after the event with this `cursor`")
	cmd.Flags().IntVar(&f.last, "last", 10, "begin with the newest `N` changes, 0 to "+fmt.Sprint(api.MaxPerPage))
	cmd.Flags().IntVar(&f.limit, "limit", 0, "stop after `N` events")
	cmd.Flags().BoolVar(&f.follow, "follow", false, "wait for more")
	cmd.Flags().StringSliceVar(&f.types, "type", nil, "only events of this `type`; separate several by commas")
	completion.Flag(cmd, "type", completion.Fixed(api.Texts(api.EventTypes())...))
	f.bind(cmd)
	cmd.Flags().IntVar(&f.concurrency, "concurrency", 1, "with --forward-to or --exec, deliver `N` events at once")
	cmd.Flags().StringVar(&f.state, "state", "",
		"with --forward-to or --exec, keep the position in this `file`, and resume from it")
	cmd.AddCommand(newResend(s))
	return s.Writing(cmd, func() []string {
		if f.isGiven() {
			return output.FieldsOf(delivery{})
		}
		return output.FieldsOf(api.Event{})
	})
}

func (f *flags) check(cmd *cobra.Command, s *session.Session) error {
	changed := cmd.Flags().Changed
	switch {
	case f.last < 0 || f.last > api.MaxPerPage:
		return command.Usagef("--last must be between 0 and %d.", api.MaxPerPage)
	case changed("after") && f.after == "":
		return command.Usagef("--after must not be empty. Leave it out to begin with the newest changes.")
	case changed("after") && changed("last"):
		return command.Usagef("--after and --last both say where to begin. Leave one of them out.")
	case changed("limit") && f.limit < 1:
		return command.Usagef("--limit must be at least 1.")
	case f.last == 0 && !f.follow:
		return command.Usagef("--last 0 shows nothing. Add --follow.")
	case f.follow && slices.Contains([]string{output.JSON, output.YAML, output.CSV}, s.Output.Format):
		return command.Usagef("--follow never ends, so %s cannot be written. Use --output jsonl.", s.Output.Format)
	}
	known := api.Texts(api.EventTypes())
	for _, name := range f.types {
		if !slices.Contains(known, name) {
			return command.Usagef("--type %q is not a type of events.%s The types are %s.", name,
				command.DidYouMean(name, known), strings.Join(known, ", "))
		}
		f.kinds = append(f.kinds, api.EventType(name))
	}
	return f.checkForwarding(cmd)
}

func (f *flags) show(cmd *cobra.Command, s *session.Session) error {
	printer, c, err := session.Begin[api.Event](s, view)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	events := f.all(f.pages(ctx, s.Streams, c))
	if !f.follow {
		return printer.List(ctx, events)
	}
	write := func(e api.Event) error { return printer.List(ctx, output.Each([]api.Event{e})) }
	if s.Output.IsPlain() {
		write = func(e api.Event) error { return writeLine(s.Streams, e.At, e) }
	}
	for e, err := range events {
		if s.IsTimeUp(err) && f.next != "" {
			resume := s.CommandLine("events", "--follow", "--after", f.next)
			for _, name := range f.types {
				resume = append(resume, "--type", name)
			}
			return f.timeUp(s, command.Quote(resume))
		}
		if err == nil {
			err = write(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// timeUp is how following ends with --timeout: as it should, unless --limit says how many events to wait for.
func (f *flags) timeUp(s *session.Session, resume string) error {
	advice := "Resume after that: " + resume
	if f.limit == 0 {
		s.Streams.Note("Stopped after %s, as --timeout says. %s", s.Flags.Timeout, advice)
		return nil
	}
	late := command.TimeUp(fmt.Sprintf("Only %d of %d events came within %s.", f.shown, f.limit, s.Flags.Timeout))
	return &command.Advised{Err: late, Advice: advice, Retry: resume}
}

// all returns the events of pages, of the types and as many as the flags ask for.
func (f *flags) all(pages iter.Seq2[api.EventPage, error]) iter.Seq2[api.Event, error] {
	return func(yield func(api.Event, error) bool) {
		for page, err := range f.wanted(pages) {
			if err != nil {
				yield(api.Event{}, err)
				return
			}
			for _, e := range page.Data {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

// wanted returns pages with only the events of the types, and as many as the flags ask for.
func (f *flags) wanted(pages iter.Seq2[api.EventPage, error]) iter.Seq2[api.EventPage, error] {
	return func(yield func(api.EventPage, error) bool) {
		for page, err := range pages {
			if err != nil {
				yield(page, err)
				return
			}
			page.Data = slices.DeleteFunc(page.Data, func(e api.Event) bool { return !f.wants(e) })
			left := f.limit - f.shown
			isLast := f.limit > 0 && len(page.Data) >= left
			if isLast {
				page.Data = page.Data[:left]
				page.Next = page.Data[left-1].Cursor
			}
			f.shown += len(page.Data)
			f.next = page.Next
			if !yield(page, nil) || isLast {
				return
			}
		}
	}
}

func (f *flags) wants(e api.Event) bool {
	return len(f.kinds) == 0 || slices.Contains(f.kinds, e.Type)
}

// newest returns the last events of the types. A service that cannot choose by type is asked for all that it shows at
// once, because those of the types may be behind others.
func (f *flags) newest(ctx context.Context, s *command.Streams, c *client.Client) (api.EventPage, error) {
	page, err := c.Events(ctx, "", min(f.last+1, api.MaxPerPage), 0, f.kinds...)
	if isOther := func(e api.Event) bool { return !f.wants(e) }; slices.ContainsFunc(page.Data, isOther) {
		page, err = c.Events(ctx, "", api.MaxPerPage, 0, f.kinds...)
		all := len(page.Data)
		if page.Data = slices.DeleteFunc(page.Data, isOther); len(page.Data) < f.last && all == api.MaxPerPage {
			s.Warn("This service cannot choose events by type: only its newest %d were searched.", all)
		}
	}
	from := max(0, len(page.Data)-f.last)
	if from > 0 {
		f.before = page.Data[from-1].Cursor
	}
	page.Data = page.Data[from:]
	return page, err
}

// pages returns the pages of events until now, or with --follow without an end.
func (f *flags) pages(ctx context.Context, s *command.Streams, c *client.Client) iter.Seq2[api.EventPage, error] {
	return func(yield func(api.EventPage, error) bool) {
		after, more := f.after, true
		if after == "" {
			page, err := f.newest(ctx, s, c)
			if !yield(page, err) || err != nil {
				return
			}
			after, more = page.Next, false
		}
		if f.follow {
			onOutage := func(err error) {
				s.Warn("%s. The events resume without a gap when the service is back.",
					strings.TrimSuffix(err.Error(), "."))
			}
			c.FollowEvents(ctx, after, onOutage, f.kinds...)(yield)
			return
		}
		for more {
			page, err := c.Events(ctx, after, api.MaxPerPage, 0, f.kinds...)
			if !yield(page, err) || err != nil {
				return
			}
			after, more = page.Next, page.More
		}
	}
}

// writeLine has columns wide enough for every type, because future events are unknown. Programs get tabs.
func writeLine(s *command.Streams, at time.Time, e api.Event, more ...string) error {
	gap, cells := "\t", []string{at.UTC().Format(time.RFC3339), display.Line(string(e.Type))}
	if s.OutTTY {
		gap, cells = "  ", []string{at.Local().Format(time.TimeOnly), fmt.Sprintf("%-20s", cells[1])}
	}
	about := e.Subject
	if e.Redemption != nil {
		about = fmt.Sprintf("%s of %s by %s", e.Subject, e.Redemption.PerkID, e.Redemption.UserID)
	}
	cells = append(append(cells, display.Line(about)), more...)
	_, err := fmt.Fprintln(s.Out, strings.Join(cells, gap))
	return err
}
