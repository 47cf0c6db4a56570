package property

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"example.com/perks/api/client"
	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

type editOptions struct {
	session *session.Session
	id      int64
	resume  string
	yes     bool
	dryRun  bool
}

func newEdit(s *session.Session) *cobra.Command {
	o := &editOptions{session: s}
	cmd := &cobra.Command{
		Use:   "edit ID",
		Short: "Edit a property in your editor",
		Long: "Open the property as YAML in the editor that VISUAL or EDITOR names, show what you changed, ask, and send only that.\n" +
			"What somebody else changed meanwhile is kept; where you both changed a field, you decide. If it cannot be saved, your\n" +
			"text is kept in a file, and --resume goes on with it.\n\n" +
			"An editor with a window of its own must wait until you close the file, such as EDITOR=\"code --wait\". Off a terminal\n" +
			"nobody can be asked, and --yes is needed. The time in the editor does not count for --timeout.",
		Example: "  perksctl property edit 42\n  EDITOR=\"code --wait\" perksctl property edit 42\n  perksctl property edit 42 --dry-run",
		Args:    command.Exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ids, err := parseIDs(args)
			if err != nil {
				return err
			}
			o.id = ids[0]
			return runEdit(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.resume, "resume", "", "go on with the text that an earlier edit kept in this `file`")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "show the request and send nothing")
	return cmd
}

func runEdit(ctx context.Context, o *editOptions) error {
	s := o.session
	printer, err := output.New[done](s.Output, s.Streams, doneView)
	if err != nil {
		return err
	}
	if err := checkNotSandbox(s); err != nil {
		return err
	}
	if !o.yes && !o.dryRun && !s.Streams.CanAsk() {
		return command.Usagef("There is nobody here to ask whether the change to %s is right: add --yes.", name(o.id))
	}
	program, err := findEditor(s.Env)
	if err != nil {
		return err
	}
	ctx, interrupts, stop := heedInterrupts(ctx)
	defer stop()
	e := &edit{editOptions: o, editor: program, interrupts: interrupts, open: true}
	if err := e.begin(ctx); err != nil {
		return e.kept(err)
	}
	change, err := e.settleOn(ctx)
	if err != nil {
		return e.kept(err)
	}
	if o.dryRun {
		return e.rehearse(ctx, change)
	}
	return printer.Done(ctx, done{o.id, change.answer})
}

// rehearse shows the request, and keeps the text for the time when it is meant.
func (e *edit) rehearse(ctx context.Context, change agreed) error {
	err := e.afresh().Rehearse(ctx, func(c *client.Client) error {
		if change.patch.IsEmpty() {
			return nil
		}
		_, err := c.UpdateProperty(ctx, e.id, change.patch, e.base.ETag)
		return err
	})
	if err != nil {
		return e.kept(err)
	}
	if advice := e.keep(); advice != "" {
		e.session.Streams.Note("%s", advice)
	}
	return nil
}

// heading is what the text in the editor begins with.
func (e *edit) heading() string {
	return fmt.Sprintf("Property %d at %s", e.id, e.connection)
}
