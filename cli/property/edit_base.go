package property

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"example.com/perks/api"
	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
)

// baseSuffix names the file beside a draft that says what the draft is a change to.
const baseSuffix = ".before.json"

// base is the version of a property that an edit began with.
type base struct {
	APIURL   string       `json:"api_url"`
	ID       int64        `json:"id"`
	ETag     string       `json:"etag"`
	Property api.Property `json:"property"`

	sheet sheet
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
	e.base = current
	e.untouched = current.sheet.write(e.heading())
	if e.draft, err = newDraftFile(fmt.Sprintf("property-%d.yaml", e.id), e.untouched); err != nil {
		return err
	}
	return e.rememberBase()
}

// begunBefore takes up a text that was kept. What became of the property since is put into it if it can be read, and
// otherwise when it is sent.
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
	known, err := e.recallBase()
	if err != nil {
		return err
	}
	if e.base = current; known == nil {
		return nil
	}
	e.base = *known
	edited := readSheet(text)
	_, wrong := edited.problems(e.base.sheet)
	if edited.syntax != nil || len(wrong) > 0 || len(current.sheet.changesTo(e.base.sheet)) == 0 {
		return nil
	}
	return e.catchUp(edited.sheet, current)
}

// read asks for the property as it is now.
func (e *edit) read(ctx context.Context) (base, error) {
	c, connection, err := e.afresh().Connect()
	if err != nil {
		return base{}, err
	}
	e.connection = connection
	property, etag, err := c.Property(ctx, e.id)
	if err != nil {
		return base{}, err
	}
	fields, err := sheetOf(property)
	return base{connection.APIURL, e.id, etag, property, fields}, err
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

func (e *edit) rememberBase() error {
	text, err := json.Marshal(e.base)
	if err != nil {
		return err
	}
	return command.WritePrivate(e.draft.Beside(baseSuffix), text)
}

// recallBase returns nil if nothing is known of how the text began, as of one that has been moved.
func (e *edit) recallBase() (*base, error) {
	text, err := os.ReadFile(e.draft.Beside(baseSuffix))
	if os.IsNotExist(err) {
		return nil, nil
	}
	var b base
	if err == nil {
		err = json.Unmarshal(text, &b)
	}
	if err != nil {
		return nil, fmt.Errorf("read what the text began with: %w", err)
	}
	if b.ID != e.id || b.APIURL != e.connection.APIURL {
		return nil, command.Usagef("The text in %s belongs to %s at %s.", e.resume, name(b.ID), b.APIURL)
	}
	b.sheet, err = sheetOf(b.Property)
	return &b, err
}
