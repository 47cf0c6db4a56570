package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/editor"
	"example.com/perks/api/operation"
	"example.com/perks/cli/command"
	"example.com/perks/cli/completion"
	"example.com/perks/cli/session"
)

// edit is an edit of a record in a text editor. Only the draft holds the text.
type edit[I ~string, R any, P operation.Patch[R, P]] struct {
	*operation.Edit[I, R, P]
	kind    *Kind[I, R, P]
	session *session.Session
	id      I
	resume  string
	yes     bool
	dryRun  bool

	program    textEditor
	interrupts *command.Interrupts
	connection session.Connection

	draft     *editor.File
	untouched string // the draft before the first edit
	open      bool   // open the editor before reading the draft
	refused   string // the draft when it was reopened because of a mistake
	merges    int
}

// NewEdit makes the command edit.
func (k *Kind[I, R, P]) NewEdit(s *session.Session) *cobra.Command {
	e := &edit[I, R, P]{kind: k, session: s, open: true}
	line := "  perksctl " + k.Name + " edit " + k.ExampleID
	cmd := session.Writes[updated[I]](s, &cobra.Command{
		Use:   "edit ID",
		Short: "Edit a " + k.Name + " in your editor",
		Long: "Open the " + k.Name + " as YAML in the editor named by VISUAL or EDITOR, show what you changed, " +
			"ask, and\n" +
			"send only that. It is guarded: changes that somebody else makes meanwhile are kept; if you both\n" +
			"change a field, you decide. If it cannot be saved, your draft stays in a file, and --resume\n" +
			"continues with it.\n\n" +
			"An editor with its own window must wait until you close the file, such as EDITOR=\"code --wait\".\n" +
			"Without a terminal you need --yes. The time in the editor does not count for --timeout.",
		Example: line + "\n  EDITOR=\"code --wait\"" + line[1:] + "\n" + line + " --dry-run",
		Args:    command.Exactly("ID"),

		ValidArgsFunction: completion.InOrder(k.IDs(s, true)),
		RunE: func(cmd *cobra.Command, args []string) error {
			ids, err := k.parseIDs(args)
			if err != nil {
				return err
			}
			e.id = ids[0]
			return e.run(cmd.Context())
		},
	})
	cmd.Flags().StringVar(&e.resume, "resume", "", "continue with the draft of an earlier edit in this `file`")
	cmd.Flags().BoolVarP(&e.yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVar(&e.dryRun, "dry-run", false, "show the request and send nothing")
	return cmd
}

func (e *edit[I, R, P]) run(ctx context.Context) error {
	s := e.session
	printer, err := begin[updated[I]](e.kind, s)
	if err != nil {
		return err
	}
	if !e.yes && !e.dryRun && !s.Streams.CanAsk() {
		return command.Usagef("Without a terminal, perksctl cannot ask before it changes %s. Add --yes.",
			e.kind.Named(e.id))
	}
	if !e.dryRun {
		if err := s.MayChange(ctx); err != nil { // before anybody edits in vain
			return err
		}
	}
	if e.program, err = findEditor(s.Env); err != nil {
		return err
	}
	ctx, interrupts, stop := command.HandleInterrupts(ctx)
	defer stop()
	e.interrupts = interrupts
	if err := e.begin(ctx); err != nil {
		return e.adviseResume(err)
	}
	result, err := e.editAndSend(ctx)
	switch {
	case err != nil:
		return e.adviseResume(err)
	case !e.dryRun:
		return printer.Done(ctx, result)
	}
	err = e.freshSession().DryRun(ctx, func(c *client.Client) error {
		if e.State() != operation.Reviewing {
			return nil // nothing was changed
		}
		return e.Saving().Try(ctx, c).Err
	})
	if err != nil {
		return e.adviseResume(err)
	}
	if advice := e.keepDraft(); advice != "" { // so that it can be sent later
		s.Streams.Note("%s", advice)
	}
	return nil
}

func (e *edit[I, R, P]) heading() string {
	return fmt.Sprintf("%s at %s", e.kind.Titled(e.id), e.connection)
}

// begin reads the record, and writes a new draft or resumes one.
func (e *edit[I, R, P]) begin(ctx context.Context) error {
	if e.resume != "" {
		return e.resumeDraft(ctx)
	}
	current, err := e.read(ctx)
	if err != nil {
		return err
	}
	e.Edit = e.kind.EditKind.NewEdit(e.id, current)
	e.untouched = e.kind.write(e.heading(), current.Record)
	if e.draft, err = editor.NewFile(e.kind.Name+"-"+url.PathEscape(string(e.id))+".yaml", e.untouched); err != nil {
		return err
	}
	return e.keepBase()
}

// resumeDraft continues with an earlier draft. It merges later changes of the record, or leaves that to the sending
// if the draft has mistakes. A draft that was moved has lost the version that it changes.
func (e *edit[I, R, P]) resumeDraft(ctx context.Context) error {
	path, err := filepath.Abs(e.resume)
	if err != nil {
		return err
	}
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		return command.Usagef("There is no draft in %s.", e.resume)
	}
	e.draft = &editor.File{Path: path}
	text, err := e.draft.Read()
	if err != nil {
		return err
	}
	current, err := e.read(ctx)
	if err != nil {
		return err
	}
	e.Edit = e.kind.EditKind.NewEdit(e.id, current)
	var before base[I]
	if err = command.ReadPrivateJSON(e.baseFile(), &before); os.IsNotExist(err) {
		return nil
	}
	version := client.Version[R]{ETag: before.ETag}
	if err == nil {
		err = e.kind.Decode(before.Version, &version.Record)
	}
	if err != nil {
		return fmt.Errorf("the version that the draft changes cannot be read: %w", err)
	}
	if before.ID != e.id || before.APIURL != e.connection.APIURL {
		return command.Usagef("The draft in %s is of %s at %s.", e.resume, e.kind.Named(before.ID), before.APIURL)
	}
	e.Edit = e.kind.EditKind.NewEdit(e.id, version)
	edited := e.kind.readYAML(text)
	e.SetAll(edited.values, edited.wrong)
	if edited.syntax != nil || len(e.Problems()) > 0 || e.MeetDraft(current) != operation.FoundConflict {
		return nil
	}
	return e.merge()
}

func (e *edit[I, R, P]) read(ctx context.Context) (client.Version[R], error) {
	c, connection, err := e.freshSession().Connect()
	if err != nil {
		return client.Version[R]{}, err
	}
	e.connection = connection
	return e.kind.Read(ctx, c, e.id)
}

// base is the content of the file beside a draft: the version that the draft changes.
type base[I ~string] struct {
	APIURL  string          `json:"api_url"`
	ID      I               `json:"id"`
	ETag    string          `json:"etag"`
	Version json.RawMessage `json:"version"` // without its ETag
}

func (e *edit[I, R, P]) baseFile() string {
	return strings.TrimSuffix(e.draft.Path, filepath.Ext(e.draft.Path)) + ".before.json"
}

// rewrite replaces the draft atomically.
func (e *edit[I, R, P]) rewrite(text string) error {
	if err := command.WritePrivate(e.draft.Path, []byte(text)); err != nil {
		return fmt.Errorf("the text to edit cannot be written: %w", err)
	}
	return nil
}

// keepBase writes the version that the draft changes beside the draft.
func (e *edit[I, R, P]) keepBase() error {
	version, err := api.EncodeJSON(e.Base.Record)
	if err != nil {
		return err
	}
	return command.WritePrivateJSON(e.baseFile(), base[I]{e.connection.APIURL, e.id, e.Base.ETag, version})
}

// freshSession lets --timeout begin again, because the time in the editor does not count.
func (e *edit[I, R, P]) freshSession() *session.Session {
	e.session.RestartTimeout()
	return e.session
}

// adviseResume adds to a failure how to continue with the draft. It discards an unchanged draft.
func (e *edit[I, R, P]) adviseResume(err error) error {
	advice := e.keepDraft()
	if advice == "" {
		return err
	}
	var advised *command.Advised
	var refused *client.Error
	switch {
	case errors.As(err, &advised):
		advice = advised.Advice + "\n" + advice
	case errors.As(err, &refused) && refused.Status == http.StatusForbidden:
		advice = "See which client you are: perksctl auth status\n" + advice
	}
	return &command.Advised{Err: err, Advice: advice}
}

// keepDraft says where the draft is, or discards an unchanged one.
func (e *edit[I, R, P]) keepDraft() (advice string) {
	if e.draft == nil {
		return ""
	}
	if text, err := e.draft.Read(); err == nil && withoutNotes(text) == e.untouched {
		e.draft.Discard()
		return ""
	}
	if _, err := os.Stat(e.draft.Path); os.IsNotExist(err) {
		return ""
	}
	line := e.session.CommandLine(e.kind.Name, "edit", string(e.id), "--resume", e.draft.Path)
	return "Your draft is in " + e.draft.Path + ". Continue with it:\n  " + command.Quote(line)
}

const nothingChanged = "Nothing was changed."

// editAndSend repeats editing, asking and sending, until the change is made or somebody gives up. It returns the
// result. With --dry-run it leaves the change to be sent under review.
func (e *edit[I, R, P]) editAndSend(ctx context.Context) (result updated[I], err error) {
	for {
		if found, err := e.edited(ctx); err != nil {
			return updated[I]{}, err
		} else if found == operation.FoundNothing {
			e.session.Streams.Note(nothingChanged)
			e.draft.Discard()
			return updated[I]{done[I]{e.id, nothingChanged}, []operation.FieldChange{}}, nil
		}
		if s := e.session.Streams; !s.Quiet || !e.yes && !e.dryRun { // --quiet must not hide what the question is about
			s.Show(e.kind.writeDiff(s, e.Patch, e.Base.Record))
		}
		if e.dryRun {
			return updated[I]{}, nil
		}
		if again, err := e.ask(ctx); err != nil {
			return updated[I]{}, err
		} else if again {
			e.Back()
			e.open = true
			continue
		}
		c, connection, err := e.freshSession().Connect()
		if err != nil {
			return updated[I]{}, err
		}
		e.Confirm()
		sent := e.Saving().Send(ctx, c)
		event := e.Sent(sent)
		switch {
		case event == operation.FoundSaved && sent.Err != nil: // such as by our own attempt whose reply was lost
			e.session.Streams.Note("Nothing to change: %s is already as you want it.", e.kind.Named(e.id))
			e.draft.Discard()
			return updated[I]{done: done[I]{e.id, nothingChanged}}, nil
		case event == operation.FoundSaved:
			e.draft.Discard()
			return e.kind.noteUpdate(e.session, connection, sent), nil
		}
		if err := e.afterFailure(event, sent); err != nil {
			return updated[I]{}, err
		}
	}
}

// edited opens the editor if needed, until the draft changes nothing or can be reviewed.
func (e *edit[I, R, P]) edited(ctx context.Context) (operation.EditEvent, error) {
	for {
		if e.open {
			err := e.program.Open(ctx, e.session.Streams, e.interrupts, e.draft.Path)
			if err != nil {
				return operation.Ignored, err
			}
		}
		text, err := e.draft.Read()
		if err != nil {
			return operation.Ignored, err
		}
		if e.open && e.refused != "" && text == e.refused {
			return operation.Ignored, command.Cancelled("Cancelled; nothing was changed. The draft still has mistakes.")
		}
		e.open, e.refused = true, ""
		read := e.kind.readYAML(text)
		if read.isEmpty() {
			e.untouched = withoutNotes(text) // so that it is discarded
			return operation.Ignored, command.Cancelled("Cancelled, because the draft is empty; nothing was changed.")
		}
		e.SetAll(read.values, read.wrong)
		n := notesOf(e.Problems())
		var problem error = &command.UsageError{
			Message: "The " + e.kind.Name + " was not changed, because some values are not valid.",
			Fields:  e.Problems()}
		if read.syntax != nil {
			n[""] = []string{"This is not valid YAML: " + read.sentence(1) + "."}
			problem = command.Usagef("The %s was not changed, because the draft is not valid YAML: %s.",
				e.kind.Name, read.sentence(0))
		} else if found := e.Submit(); found != operation.FoundInvalid {
			isThere := func(field string) bool { return read.lines[field] > 0 }
			if left := slices.DeleteFunc(e.kind.names(), isThere); len(left) > 0 {
				e.session.Streams.Note("Not in the draft, so left as they are: %s.", strings.Join(left, ", "))
			}
			return found, nil
		}
		if err := e.reopen(n, problem); err != nil {
			return operation.Ignored, err
		}
	}
}

// reopen makes the editor open again with notes about its mistakes. Without a terminal it returns the problem.
func (e *edit[I, R, P]) reopen(n notes, problem error) error {
	if !e.session.Streams.CanAsk() {
		return problem
	}
	text, err := e.draft.Read()
	if err != nil {
		return err
	}
	e.open, e.refused = true, e.kind.annotate(text, n)
	return e.rewrite(e.refused)
}

func notesOf(wrong api.FieldErrors) notes {
	n := notes{}
	for field, messages := range wrong {
		for _, message := range messages {
			n[field] = append(n[field], field+" "+message)
		}
	}
	return n
}

// ask asks before sending; again means to open the editor once more.
func (e *edit[I, R, P]) ask(ctx context.Context) (again bool, err error) {
	if e.yes {
		return false, nil
	}
	question := fmt.Sprintf("Change %s at %s? [y]es, [e]dit again, [n]o: ", e.kind.Named(e.id), e.connection)
	for {
		answer, err := e.session.Streams.Ask(ctx, question)
		if err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		switch strings.ToLower(strings.TrimSpace(answer)) {
		case "y", "yes":
			return false, nil
		case "e", "edit":
			return true, nil
		case "n", "no":
			err = io.EOF
		}
		if err != nil {
			return false, command.Cancelled("Cancelled; nothing was changed.")
		}
	}
}
