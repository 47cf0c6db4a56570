package screen

import (
	"cmp"
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
)

// scopes are what the actions need that change something at the service.
var scopes = map[actions.ID]api.Scope{
	actions.Redeem: api.ScopePerksRedeem, actions.Retry: api.ScopePerksRedeem,
	actions.Approve: api.ScopeRedemptionsDecide, actions.Reject: api.ScopeRedemptionsDecide,
	actions.Void:   api.ScopeRedemptionsVoid,
	actions.Create: api.ScopePropertiesCreate, actions.NewPerk: api.ScopePerksWrite, actions.Stock: api.ScopePerksWrite,
	actions.Edit: api.ScopePropertiesWrite, actions.EditField: api.ScopePropertiesWrite,
	actions.Delete: api.ScopePropertiesWrite, actions.Undo: api.ScopePropertiesWrite,
	actions.Restore: api.ScopePropertiesWrite,
}

// IsReadOnly tells whether nothing can be changed as this profile, or with this token.
func (s *Shell) IsReadOnly() bool {
	if s.Account.Profile.ReadOnly {
		return true
	}
	for _, scope := range scopes {
		if !s.Account.Client.Lacks(scope) {
			return false
		}
	}
	return true
}

// WhyNoChange says why nobody can do what is offered as this profile, with this token and at this service; "" if
// somebody can, and of an action that changes nothing.
func (s *Shell) WhyNoChange(offer actions.Offer) string {
	scope, changes := scopes[offer.ID]
	scope = cmp.Or(api.Scope(offer.Scope), scope)
	profile := s.Account.Profile
	switch {
	case !changes:
		return ""
	case profile.ReadOnly:
		return "Profile " + display.Line(profile.Name) + " is read-only. " + s.Switches()
	case s.Account.Client.Lacks(scope):
		return s.lacks(scope)
	case scope == api.ScopePerksWrite && s.isLacking(client.ChangesOfPerks):
		return "This service changes no perks. Ask its operator."
	case scope == api.ScopePropertiesCreate && s.isLacking(client.ListOfProperties):
		return "This service creates no properties. Ask its operator."
	case offer.ID == actions.Restore && s.isLacking(client.HistoryOfListings):
		return "This service keeps no history. Ask its operator."
	case offer.ID.Group() == actions.Approve.Group() && s.isLacking(client.ListOfRedemptions):
		return "This service decides no redemptions. Ask its operator."
	}
	return ""
}

// WhyNotOpen says why a screen could show nothing but a refusal to this token; "" if it shows more, or that is not
// known.
func (s *Shell) WhyNotOpen(to Route) string {
	var scopes []api.Scope // of which one is enough
	switch to.(type) {
	case ToPerks, ToPerk, ToUsers, ToUser:
		scopes = []api.Scope{api.ScopePerksRead}
	case ToProperties:
		if !s.Account.Profile.Sandbox {
			scopes = []api.Scope{api.ScopePropertiesRead, api.ScopePropertiesWrite, api.ScopePropertiesCreate}
		}
	case ToProperty:
		if s.Account.Profile.Sandbox {
			return "The sandbox has no properties. " + s.Switches()
		}
		scopes = []api.Scope{api.ScopePropertiesRead}
	case ToRedemptions, ToRedemption:
		if scopes = []api.Scope{api.ScopeRedemptionsRead}; s.isLacking(client.ListOfRedemptions) {
			return "This service lists no redemptions. " + s.Key(actions.User) + " finds a user with theirs."
		}
	}
	if scopes == nil || slices.ContainsFunc(scopes, func(one api.Scope) bool { return !s.Account.Client.Lacks(one) }) {
		return ""
	}
	return s.lacks(scopes[0])
}

func (s *Shell) lacks(scope api.Scope) string {
	return "This client lacks the scope " + string(scope) + ". " + s.Switches()
}

// Switches says which key switches the profile.
func (s *Shell) Switches() string { return s.Key(actions.Login) + " switches the profile." }

func (s *Shell) isLacking(extension string) bool { return slices.Contains(s.Lacking, extension) }

// toType is the name of a protected profile, to be typed before a change; "" if nothing has to be.
func (s *Shell) toType() string {
	if s.Account.Confirm == nil {
		return ""
	}
	return s.Account.Profile.Name
}

// confirm does then, on a protected profile once it accepts what was typed.
func (s *Shell) confirm(typed string, then func() tea.Cmd) tea.Cmd {
	if s.Account.Confirm != nil {
		if err := s.Account.Confirm(typed); err != nil {
			return Tell(Failure, "%s", Sentence("", err))
		}
		s.confirmed = typed
	}
	return then()
}
