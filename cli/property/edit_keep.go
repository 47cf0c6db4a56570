package property

import (
	"errors"
	"net/http"
	"os"
	"strconv"

	"example.com/perks/api/client"
	"example.com/perks/cli/command"
)

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
