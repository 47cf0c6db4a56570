package property

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

// edit is an edit of a property in a text editor. Only the draft holds the text.
type edit struct {
	*operation.PropertyEdit
	session *session.Session
	id      api.PropertyID
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

func newEdit(s *session.Session) *cobra.Command {
	e := &edit{session: s, open: true}
	cmd := session.Writes[updated](s, &cobra.Command{
		Use:   "edit ID",
		Short: "Edit a property in your editor",
		Long: "Open the property as YAML in the editor named by VISUAL or EDITOR, show what you changed, ask, and\n" +
			"send only that. It is guarded: changes that somebody else makes meanwhile are kept; if you both\n" +
			"change a field, you decide. If it cannot be saved, your draft stays in a file, and --resume\n" +
			"continues with it.\n\n" +
			"An editor with its own window must wait until you close the file, such as EDITOR=\"code --wait\".\n" +
			"Without a terminal you need --yes. The time in the editor does not count for --timeout.",
		Example: "  perksctl property edit 42\n  EDITOR=\"code --wait\" perksctl property edit 42\n  perksctl " +
			"property edit 42 --dry-run",
		Args: command.Exactly("ID"),

		ValidArgsFunction: completion.InOrder(completion.Properties(s, true)),
		RunE: func(cmd *cobra.Command, args []string) error {
			ids, err := parseIDs(args)
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

func (e *edit) run(ctx context.Context) error {
	s := e.session
	printer, err := begin[updated](s)
	if err != nil {
		return err
	}
	if !e.yes && !e.dryRun && !s.Streams.CanAsk() {
		return command.Usagef("Without a terminal, perksctl cannot ask before it changes %s. Add --yes.", name(e.id))
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

func (e *edit) heading() string {
	return fmt.Sprintf("Property %s at %s", e.id, e.connection)
}

// begin reads the property, and writes a new draft or resumes one.
func (e *edit) begin(ctx context.Context) error {
	if e.resume != "" {
		return e.resumeDraft(ctx)
	}
	current, err := e.read(ctx)
	if err != nil {
		return err
	}
	e.PropertyEdit = operation.Properties.NewEdit(e.id, current)
	e.untouched = write(e.heading(), current.Record)
	if e.draft, err = editor.NewFile("property-"+url.PathEscape(string(e.id))+".yaml", e.untouched); err != nil {
		return err
	}
	return e.keepBase()
}

// resumeDraft continues with an earlier draft. It merges later changes of the property, or leaves that to the sending
// if the draft has mistakes. A draft that was moved has lost the version that it changes.
func (e *edit) resumeDraft(ctx context.Context) error {
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
	e.PropertyEdit = operation.Properties.NewEdit(e.id, current)
	var before base
	if err = command.ReadPrivateJSON(e.baseFile(), &before); os.IsNotExist(err) {
		return nil
	}
	version := operation.PropertyVersion{ETag: before.ETag}
	if err == nil {
		err = api.ReadProperty(before.Version, &version.Record)
	}
	if err != nil {
		return fmt.Errorf("the version that the draft changes cannot be read: %w", err)
	}
	if before.ID != e.id || before.APIURL != e.connection.APIURL {
		return command.Usagef("The draft in %s is of %s at %s.", e.resume, name(before.ID), before.APIURL)
	}
	e.PropertyEdit = operation.Properties.NewEdit(e.id, version)
	edited := readYAML(text)
	e.SetAll(edited.values, edited.wrong)
	if edited.syntax != nil || len(e.Problems()) > 0 || e.MeetDraft(current) != operation.FoundConflict {
		return nil
	}
	return e.merge()
}

func (e *edit) read(ctx context.Context) (operation.PropertyVersion, error) {
	c, connection, err := e.freshSession().Connect()
	if err != nil {
		return operation.PropertyVersion{}, err
	}
	e.connection = connection
	return operation.Properties.Read(ctx, c, e.id)
}

// base is the content of the file beside a draft: the version that the draft changes.
type base struct {
	APIURL  string          `json:"api_url"`
	ID      api.PropertyID  `json:"id"`
	ETag    string          `json:"etag"`
	Version json.RawMessage `json:"version"` // without its ETag
}

func (e *edit) baseFile() string {
	return strings.TrimSuffix(e.draft.Path, filepath.Ext(e.draft.Path)) + ".before.json"
}

// rewrite replaces the draft atomically.
func (e *edit) rewrite(text string) error {
	if err := command.WritePrivate(e.draft.Path, []byte(text)); err != nil {
		return fmt.Errorf("the text to edit cannot be written: %w", err)
	}
	return nil
}

// keepBase writes the version that the draft changes beside the draft.
func (e *edit) keepBase() error {
	version, err := api.EncodeJSON(e.Base.Record)
	if err != nil {
		return err
	}
	return command.WritePrivateJSON(e.baseFile(), base{e.connection.APIURL, e.id, e.Base.ETag, version})
}

// freshSession lets --timeout begin again, because the time in the editor does not count.
func (e *edit) freshSession() *session.Session {
	e.session.RestartTimeout()
	return e.session
}

// adviseResume adds to a failure how to continue with the draft. It discards an unchanged draft.
func (e *edit) adviseResume(err error) error {
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
func (e *edit) keepDraft() (advice string) {
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
	line := e.session.CommandLine("property", "edit", string(e.id), "--resume", e.draft.Path)
	return "Your draft is in " + e.draft.Path + ". Continue with it:\n  " + command.Quote(line)
}

const nothingChanged = "Nothing was changed."

// editAndSend repeats editing, asking and sending, until the change is made or somebody gives up. It returns the
// result. With --dry-run it leaves the change to be sent under review.
func (e *edit) editAndSend(ctx context.Context) (result updated, err error) {
	for {
		if found, err := e.edited(ctx); err != nil {
			return updated{}, err
		} else if found == operation.FoundNothing {
			e.session.Streams.Note(nothingChanged)
			e.draft.Discard()
			return updated{done{e.id, nothingChanged}, []operation.FieldChange{}}, nil
		}
		if s := e.session.Streams; !s.Quiet || !e.yes && !e.dryRun { // --quiet must not hide what the question is about
			s.Show(writeDiff(s, e.Patch, e.Base.Record))
		}
		if e.dryRun {
			return updated{}, nil
		}
		if again, err := e.ask(ctx); err != nil {
			return updated{}, err
		} else if again {
			e.Back()
			e.open = true
			continue
		}
		c, connection, err := e.freshSession().Connect()
		if err != nil {
			return updated{}, err
		}
		e.Confirm()
		sent := e.Saving().Send(ctx, c)
		event := e.Sent(sent)
		switch {
		case event == operation.FoundSaved && sent.Err != nil: // such as by our own attempt whose reply was lost
			e.session.Streams.Note("Nothing to change: %s is already as you want it.", name(e.id))
			e.draft.Discard()
			return updated{done: done{e.id, nothingChanged}}, nil
		case event == operation.FoundSaved:
			e.draft.Discard()
			return noteUpdate(e.session, connection, sent), nil
		}
		if err := e.afterFailure(event, sent); err != nil {
			return updated{}, err
		}
	}
}

// edited opens the editor if needed, until the draft changes nothing or can be reviewed.
func (e *edit) edited(ctx context.Context) (operation.EditEvent, error) {
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
		read := readYAML(text)
		if read.isEmpty() {
			e.untouched = withoutNotes(text) // so that it is discarded
			return operation.Ignored, command.Cancelled("Cancelled, because the draft is empty; nothing was changed.")
		}
		e.SetAll(read.values, read.wrong)
		n := notesOf(e.Problems())
		var problem error = &command.UsageError{
			Message: "The property was not changed, because some values are not valid.", Fields: e.Problems()}
		if read.syntax != nil {
			n[""] = []string{"This is not valid YAML: " + read.sentence(1) + "."}
			problem = command.Usagef("The property was not changed, because the draft is not valid YAML: %s.",
				read.sentence(0))
		} else if found := e.Submit(); found != operation.FoundInvalid {
			isThere := func(field string) bool { return read.lines[field] > 0 }
			if left := slices.DeleteFunc(api.PropertyPatchFields(), isThere); len(left) > 0 {
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
func (e *edit) reopen(n notes, problem error) error {
	if !e.session.Streams.CanAsk() {
		return problem
	}
	text, err := e.draft.Read()
	if err != nil {
		return err
	}
	e.open, e.refused = true, annotate(text, n)
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
func (e *edit) ask(ctx context.Context) (again bool, err error) {
	if e.yes {
		return false, nil
	}
	question := fmt.Sprintf("Change %s at %s? [y]es, [e]dit again, [n]o: ", name(e.id), e.connection)
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
