package property

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"example.com/perks/api"
	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
)

// edit is one property on its way through an editor. The draft is the one place where the person's text is.
type edit struct {
	*editOptions
	editor     textEditor
	interrupts *Interrupts
	connection session.Connection

	base      base
	draft     *draftFile
	untouched string // the text as it was first laid out
	open      bool   // the editor has to open before the text is read
	refused   string // the text as it was opened again because something in it was wrong
	merges    int
}

// agreed is a change that was sent, or is to be rehearsed.
type agreed struct {
	patch  api.PropertyPatch
	answer string
}

const nothingChanged = "Nothing was changed."

// settleOn goes round, from the editor to the question to the service, until the property is as the text says or somebody
// gives up.
func (e *edit) settleOn(ctx context.Context) (agreed, error) {
	for {
		patch, err := e.edited(ctx)
		switch {
		case err != nil:
			return agreed{}, err
		case patch.IsEmpty():
			e.session.Streams.Note(nothingChanged)
			e.draft.Discard()
			return agreed{answer: nothingChanged}, nil
		}
		e.showChange()
		if e.dryRun {
			return agreed{patch: patch}, nil
		}
		if again, err := e.ask(ctx); err != nil {
			return agreed{}, err
		} else if again {
			e.open = true
			continue
		}
		answer, err := e.send(ctx, patch)
		if err == nil {
			e.draft.Discard()
			return agreed{patch, answer}, nil
		}
		if err := e.answerTo(ctx, err); err != nil {
			return agreed{}, err
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
		read := readSheet(text)
		if read.isEmpty() {
			e.untouched = withoutNotes(text) // there is nothing to keep
			return api.PropertyPatch{}, &command.Cancelled{Message: "Cancelled, because the text is empty; nothing was changed."}
		}
		patch, wrong := read.problems(e.base.sheet)
		if read.syntax == nil && len(wrong) == 0 {
			e.noteTakenOut(read.sheet)
			return patch, nil
		}
		if err := e.openAgain(notesAbout(read, wrong), wrongText(read, wrong)); err != nil {
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

func notesAbout(read reading, wrong api.FieldErrors) notes {
	if read.syntax != nil {
		return notes{top: []string{"This is not valid YAML: " + read.sentence(1) + "."}}
	}
	return notesOf(wrong)
}

func notesOf(wrong api.FieldErrors) notes {
	var n notes
	for field, messages := range wrong {
		for _, message := range messages {
			n.add(field, field+" "+message)
		}
	}
	return n
}

func wrongText(read reading, wrong api.FieldErrors) error {
	if read.syntax != nil {
		return command.Usagef("The property was not changed, because the text is not valid YAML: %s.", read.sentence(0))
	}
	return &command.UsageError{Message: "The property was not changed, because some values are not valid.", Fields: wrong}
}

func (e *edit) noteTakenOut(s sheet) {
	if names := s.takenOut(); len(names) > 0 {
		e.session.Streams.Note("Not in the text, so left as they are: %s.", strings.Join(names, ", "))
	}
}

// showChange shows what is about to change. Before a question it is not silenced.
func (e *edit) showChange() {
	s := e.session.Streams
	if s.Quiet && (e.yes || e.dryRun) {
		return
	}
	text, _ := e.draft.Read() // what could be read a moment ago
	s.Show(writeDiff(s, e.base.sheet, readSheet(text).sheet.changesTo(e.base.sheet)))
}

// ask lets a person decide; again is that the editor is to open once more.
func (e *edit) ask(ctx context.Context) (again bool, err error) {
	if e.yes {
		return false, nil
	}
	question := fmt.Sprintf("Change %s at %s? [y]es, [e]dit again, [n]o: ", name(e.id), e.connection)
	for {
		answer, err := e.session.Streams.Ask(ctx, question)
		isEnd := errors.Is(err, io.EOF)
		if err != nil && !isEnd {
			return false, err
		}
		answer = strings.ToLower(strings.TrimSpace(answer))
		switch {
		case slices.Contains([]string{"y", "yes"}, answer):
			return false, nil
		case slices.Contains([]string{"e", "edit"}, answer):
			return true, nil
		case isEnd || slices.Contains([]string{"n", "no"}, answer):
			return false, &command.Cancelled{Message: "Cancelled; nothing was changed."}
		}
	}
}
