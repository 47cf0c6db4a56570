package property

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
)

// edit is one property on its way through an editor. The draft is the one place where the person's text is.
type edit struct {
	session *session.Session
	id      int64
	resume  string
	yes     bool
	dryRun  bool

	editor     textEditor
	interrupts *Interrupts
	connection session.Connection

	base      client.Version // what the text is a change to
	draft     *draftFile
	untouched string // the text as it was first laid out
	open      bool   // the editor has to open before the text is read
	refused   string // the text as it was opened again because something in it was wrong
	merges    int
}

func newEdit(s *session.Session) *cobra.Command {
	e := &edit{session: s, open: true}
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
			e.id = ids[0]
			return e.run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&e.resume, "resume", "", "go on with the text that an earlier edit kept in this `file`")
	cmd.Flags().BoolVarP(&e.yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVar(&e.dryRun, "dry-run", false, "show the request and send nothing")
	return cmd
}

func (e *edit) run(ctx context.Context) error {
	s := e.session
	printer, err := begin(s)
	if err != nil {
		return err
	}
	if !e.yes && !e.dryRun && !s.Streams.CanAsk() {
		return command.Usagef("There is nobody here to ask whether the change to %s is right: add --yes.", name(e.id))
	}
	if e.editor, err = findEditor(s.Env); err != nil {
		return err
	}
	ctx, interrupts, stop := heedInterrupts(ctx)
	defer stop()
	e.interrupts = interrupts
	if err := e.begin(ctx); err != nil {
		return e.kept(err)
	}
	sent, err := e.settleOn(ctx)
	switch {
	case err != nil:
		return e.kept(err)
	case !e.dryRun:
		return printer.Done(ctx, done{e.id, sent.Message})
	}
	err = e.afresh().Rehearse(ctx, func(c *client.Client) error {
		if sent.Patch.IsEmpty() {
			return nil
		}
		return sent.Try(ctx, c).Err
	})
	if err != nil {
		return e.kept(err)
	}
	if advice := e.keep(); advice != "" { // for the time when it is meant
		s.Streams.Note("%s", advice)
	}
	return nil
}

func (e *edit) heading() string {
	return fmt.Sprintf("Property %d at %s", e.id, e.connection)
}

// begin reads the property and lays out the text: a new one, or one that was kept.
func (e *edit) begin(ctx context.Context) error {
	if e.resume != "" {
		return e.begunBefore(ctx)
	}
	current, err := e.read(ctx)
	if err != nil {
		return err
	}
	e.untouched = write(e.heading(), current.Property)
	if e.draft, err = newDraftFile(fmt.Sprintf("property-%d.yaml", e.id), e.untouched); err != nil {
		return err
	}
	return e.rebase(current)
}

// begunBefore takes up a text that was kept. What became of the property since is put into it if it can be read, and
// otherwise when it is sent. Of a text that has been moved nobody knows how it began.
func (e *edit) begunBefore(ctx context.Context) error {
	path, err := filepath.Abs(e.resume)
	if err != nil {
		return err
	}
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		return command.Usagef("There is no text to go on with in %s.", e.resume)
	}
	e.draft = &draftFile{Path: path}
	text, err := e.draft.Read()
	if err != nil {
		return err
	}
	current, err := e.read(ctx)
	if err != nil {
		return err
	}
	e.base = current
	known, err := os.ReadFile(e.draft.Beside(baseSuffix))
	if os.IsNotExist(err) {
		return nil
	}
	var before base
	if err == nil {
		err = json.Unmarshal(known, &before)
	}
	if err != nil {
		return fmt.Errorf("read what the text began with: %w", err)
	}
	if before.ID != e.id || before.APIURL != e.connection.APIURL {
		return command.Usagef("The text in %s belongs to %s at %s.", e.resume, name(before.ID), before.APIURL)
	}
	e.base = before.Version
	edited := readYAML(text)
	patch, wrong := edited.changes(e.base.Property)
	if edited.syntax != nil || len(wrong) > 0 || api.PropertyChanges(e.base.Property, current.Property).IsEmpty() {
		return nil
	}
	return e.catchUp(patch, current)
}

func (e *edit) read(ctx context.Context) (client.Version, error) {
	c, connection, err := e.afresh().Connect()
	if err != nil {
		return client.Version{}, err
	}
	e.connection = connection
	return c.Version(ctx, e.id)
}

// base says in the file beside a draft what the draft is a change to.
type base struct {
	APIURL string `json:"api_url"`
	ID     int64  `json:"id"`
	client.Version
}

const baseSuffix = ".before.json"

// rebase makes the text one of another version.
func (e *edit) rebase(on client.Version) error {
	e.base = on
	text, err := json.Marshal(base{e.connection.APIURL, e.id, on})
	if err != nil {
		return err
	}
	return command.WritePrivate(e.draft.Beside(baseSuffix), text)
}

// afresh is a session whose --timeout begins now: a person has been thinking.
func (e *edit) afresh() *session.Session {
	if e.session.Flags.Timeout == 0 {
		return e.session
	}
	s := session.New(e.session.Streams, e.session.Env, e.session.Version)
	s.Flags, s.Output = e.session.Flags, e.session.Output
	return s
}

// kept adds to a failure where the text is and how to go on with it. Without anything of the person's in it, it goes.
func (e *edit) kept(err error) error {
	advice := e.keep()
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

// keep says where the text is, or removes it if it is not worth keeping.
func (e *edit) keep() (advice string) {
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
	line := e.session.CommandLine("property", "edit", strconv.FormatInt(e.id, 10), "--resume", e.draft.Path)
	return "Your text is kept in " + e.draft.Path + ". Go on with it:\n  " + command.Quote(line)
}

const nothingChanged = "Nothing was changed."

// settleOn goes round, from the editor to the question to the service, until the property is as the text says or somebody
// gives up. It returns the change, with its answer unless it is to be rehearsed.
func (e *edit) settleOn(ctx context.Context) (client.Editing, error) {
	for {
		patch, err := e.edited(ctx)
		if err != nil {
			return client.Editing{}, err
		}
		if patch.IsEmpty() {
			e.session.Streams.Note(nothingChanged)
			e.draft.Discard()
			return client.Editing{Message: nothingChanged}, nil
		}
		if s := e.session.Streams; !s.Quiet || !e.yes && !e.dryRun { // before a question it is not silenced
			s.Show(writeDiff(s, patch, e.base.Property))
		}
		change := client.EditingOf(e.id, e.base, patch)
		if e.dryRun {
			return change, nil
		}
		if again, err := e.ask(ctx); err != nil {
			return client.Editing{}, err
		} else if again {
			e.open = true
			continue
		}
		c, connection, err := e.afresh().Connect()
		if err != nil {
			return client.Editing{}, err
		}
		change = carryOut(ctx, e.session, c, connection, change)
		if client.Changed(change.Err) && change.Holds() { // such as by an attempt of ours whose reply was lost
			e.session.Streams.Note("Nothing to change: %s is already as you want it.", name(e.id))
			change.Message, change.Err = nothingChanged, nil
		}
		if change.Err == nil {
			e.draft.Discard()
			return change, nil
		}
		if err := e.answerTo(change); err != nil {
			return client.Editing{}, err
		}
	}
}

// edited opens the editor, if it has to, until the text can be sent.
func (e *edit) edited(ctx context.Context) (api.PropertyPatch, error) {
	for {
		if e.open {
			err := e.editor.Open(ctx, e.session.Streams, e.interrupts, e.draft.Path)
			if err != nil {
				return api.PropertyPatch{}, err
			}
		}
		text, err := e.draft.Read()
		if err != nil {
			return api.PropertyPatch{}, err
		}
		if e.open && e.refused != "" && text == e.refused {
			return api.PropertyPatch{}, &command.Cancelled{Message: "Cancelled; nothing was changed. What was wrong with the text still is."}
		}
		e.open, e.refused = true, ""
		read := readYAML(text)
		if read.isEmpty() {
			e.untouched = withoutNotes(text) // there is nothing to keep
			return api.PropertyPatch{}, &command.Cancelled{Message: "Cancelled, because the text is empty; nothing was changed."}
		}
		patch, wrong := read.changes(e.base.Property)
		n, problem := notesOf(wrong), error(&command.UsageError{Message: "The property was not changed, because some values are not valid.", Fields: wrong})
		switch {
		case read.syntax != nil:
			n[""] = []string{"This is not valid YAML: " + read.sentence(1) + "."}
			problem = command.Usagef("The property was not changed, because the text is not valid YAML: %s.", read.sentence(0))
		case len(wrong) == 0:
			isThere := func(field string) bool { return read.lines[field] > 0 }
			if left := slices.DeleteFunc(api.PropertyPatchFields(), isThere); len(left) > 0 {
				e.session.Streams.Note("Not in the text, so left as they are: %s.", strings.Join(left, ", "))
			}
			return patch, nil
		}
		if err := e.openAgain(n, problem); err != nil {
			return api.PropertyPatch{}, err
		}
	}
}

// openAgain lets a person put right what is wrong; where there is none, that is the end.
func (e *edit) openAgain(n notes, otherwise error) error {
	if !e.session.Streams.CanAsk() {
		return otherwise
	}
	text, err := e.draft.Read()
	if err != nil {
		return err
	}
	e.open, e.refused = true, annotate(text, n)
	return e.draft.Write(e.refused)
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

// ask lets a person decide; again is that the editor is to open once more.
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
			return false, &command.Cancelled{Message: "Cancelled; nothing was changed."}
		}
	}
}
