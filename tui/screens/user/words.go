package user

import (
	"errors"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// notice is what stands in the place of rows: what is the matter, and what to do next. The title is empty where there are
// rows to show.
type notice struct {
	mood          widget.Mood
	title, advice string
}

func (s *Screen) notice() notice {
	state := s.tab().state()
	switch {
	case s.id == "":
		return notice{widget.Empty, "No user is chosen.", "Press " + s.key(actions.ForUser) + " to choose one."}
	case s.isUnknown():
		return s.unknownUser()
	case !state.has && state.err != nil && !state.busy:
		title, advice := s.sentences(state.err)
		return notice{widget.Failure, title, advice}
	case !state.has && s.at == atAvailable:
		return s.loading("what "+display.Line(s.id)+" can redeem", state)
	case !state.has:
		return s.loading("what "+display.Line(s.id)+" has redeemed", state)
	case state.rows > 0:
		return notice{}
	case s.at == atAvailable:
		return notice{widget.Empty, display.Line(s.id) + " can redeem nothing now.",
			"What there is has ended, is sold out, or was redeemed already. Press " + s.key(actions.NextTab) + " for what was redeemed."}
	}
	return notice{widget.Empty, display.Line(s.id) + " has redeemed nothing yet.",
		"Press " + s.key(actions.NextTab) + " for what can be redeemed."}
}

func (s *Screen) loading(what string, state state) notice {
	return notice{widget.Loading, widget.LoadingTitle(what, s.shell.Now().Sub(state.since)), ""}
}

// isUnknown tells whether the service knows no such user.
func (s *Screen) isUnknown() bool {
	for _, t := range s.tabs() {
		if client.Missing(t.state().err) {
			return true
		}
	}
	return false
}

func (s *Screen) unknownUser() notice {
	title := "There is no live user " + display.Line(s.id) + "."
	if s.shell.Account.Profile.Sandbox {
		title = "There is no user " + display.Line(s.id) + " in the sandbox."
	}
	return notice{widget.Failure, title,
		"Ids are exact, capitals count too. Check this one, and press " + s.key(actions.ForUser) + " to look for another."}
}

// sentences says what went wrong, and what to do next.
func (s *Screen) sentences(err error) (title, advice string) {
	title = screen.Sentence("", err)
	var fields api.FieldErrors
	var refused *client.Error
	var local *api.Error
	switch {
	case errors.As(err, &refused):
		title, fields = display.Line(refused.Message), refused.Fields
	case errors.As(err, &local):
		fields = local.Fields
	}
	again := "Press " + s.key(actions.Refresh) + " to load again."
	switch {
	case len(fields["user_id"]) > 0:
		return "The user's id " + display.Line(fields["user_id"][0]) + ".", "Press " + s.key(actions.ForUser) + " to give another."
	case refused != nil && refused.Code == api.CodeForbidden:
		return title, "This client may not see users. Whoever runs the service can give it the right to."
	case refused != nil && refused.RequestID != "" && refused.Code == api.CodeInternal:
		return title, again + " If it stays so, tell whoever runs the service the request id " + display.Line(refused.RequestID) + "."
	}
	return title, again
}

// complaint says, beside rows that are old, why there are no newer ones.
func (s *Screen) complaint() string {
	state := s.tab().state()
	if s.id == "" || !state.has || state.err == nil || state.busy || s.isUnknown() {
		return ""
	}
	title, advice := s.sentences(state.err)
	return "These rows were loaded " + widget.Age(s.shell.Now().Sub(state.at)) + ". " + title + " " + advice
}

// foot says which rows are shown, and named of what.
func (s *Screen) foot(named bool) string {
	if s.id == "" || s.isUnknown() {
		return ""
	}
	foot := s.tab().place(named)
	if s.at == atAvailable {
		if foot != "" && s.order != screen.DefaultOrder() {
			foot = join(foot, screen.OrderWords(s.order))
		}
		foot = join(foot, s.marked.Say(s.available.loader.Value.Data))
	}
	if state := s.tab().state(); state.busy && state.has {
		foot = join(foot, "loading ...")
	}
	return foot
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + ", " + b
}

func (s *Screen) key(id actions.ID) string {
	if key := s.shell.Keys.Key(id); key != "" {
		return key
	}
	return "the key of " + s.shell.Keys.Action(id).Name
}
