package redeem

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/theme"
	"example.com/perks/tui/widget"
)

// eligibility is whether a user can redeem the perks. It is advice: only an unknown user prevents sending.
type eligibility struct {
	userID     string
	answers    []api.Eligibility // of the first perks
	redeemedAt time.Time         // when the user redeemed the only perk; zero if that is unknown
	unanswered bool              // asking again would give no answer either
}

// users are those whose ids begin as what was typed, and whether each can redeem the only perk.
type users struct {
	ids      []string
	answers  map[string]api.Eligibility
	unlisted bool // the service or the scope does not let this client list them

	unanswered bool // as in eligibility
}

// choices are the users to choose from: those that were used recently, and others, whose ids begin as what was typed.
type choices struct {
	typed string
	at    int // the one that was chosen; -1 while it is what was typed
}

const (
	findingPause       = 200 * time.Millisecond
	mostFound          = 10
	mostChoices        = 5
	typingPause        = 300 * time.Millisecond
	eligibilityTimeout = 5 * time.Second
	maxAnswers         = 10 // a service of an older version takes a request for each perk
)

// checkEligibility asks about the typed user, once nothing was typed for a while.
func (s *Screen) checkEligibility() tea.Cmd {
	s.eligibility.Cancel()
	userID := s.typedUser()
	if s.unanswered || userID == "" || len(s.perks) == 0 {
		return nil
	}
	perks := s.perks[:min(len(s.perks), maxAnswers)]
	return s.eligibility.LoadAfter(typingPause, func(ctx context.Context, c *client.Client) (eligibility, error) {
		return askEligibility(ctx, c, perks, userID)
	})
}

// typedUser is what is typed as the user if the service can be asked about it; "" otherwise.
func (s *Screen) typedUser() string {
	id := strings.TrimSpace(s.fields.Value(userField))
	if s.Form() == nil || api.AnyIDRule(id) != "" || s.shell.Account.Client == nil || s.whyOtherAccount() != "" {
		return ""
	}
	return id
}

// findUsers asks for users whose ids begin as the typed one, once nothing was typed for a while, and whether they and
// the recent ones can redeem the perk.
func (s *Screen) findUsers() tea.Cmd {
	s.users.Cancel()
	account := s.shell.Account.Client
	typed, unlisted := s.typedUser(), s.users.Value.unlisted || account.Lacks(api.ScopeRedemptionsReadAll)
	recent := s.recentFrom(s.choices.typed)
	if s.Form() == nil || account == nil || s.whyOtherAccount() != "" || typed == "" && len(recent) == 0 {
		return nil
	}
	var perk string
	// the first question shows whether the service answers any
	if len(s.perks) == 1 && !s.unanswered && (typed == "" || s.eligibility.Has) {
		perk = s.perks[0].ID
	}
	return s.users.LoadAfter(findingPause, func(ctx context.Context, c *client.Client) (found users, err error) {
		found.unlisted = unlisted
		if typed != "" && !unlisted {
			page, err := c.Users(ctx, api.UserFilter{Prefix: typed}, client.ListOptions{Page: 1, PerPage: mostFound})
			for _, user := range page.Data { // another service may ignore the prefix
				if strings.HasPrefix(user.ID, typed) && api.AnyIDRule(user.ID) == "" {
					found.ids = append(found.ids, user.ID)
				}
			}
			if err != nil && !errors.As(err, new(*client.Error)) {
				return found, err
			}
			found.unlisted = screen.IsLacking(err)
		}
		var pairs []api.Pair
		for _, id := range chosenFrom(recent, found.ids) {
			if id != typed && perk != "" { // about that one checkEligibility asks
				pairs = append(pairs, api.Pair{PerkID: perk, UserID: id})
			}
		}
		if len(pairs) == 0 {
			return found, nil
		}
		answers, err := c.Eligibilities(ctx, pairs)
		found.unanswered = screen.IsLacking(err) // other errors are no reason to lose the list
		found.answers = map[string]api.Eligibility{}
		for _, answer := range answers {
			found.answers[answer.UserID] = answer
		}
		return found, nil
	})
}

// chosenFrom is the first of both, without what is there twice.
func chosenFrom(recent, others []string) (ids []string) {
	for _, id := range slices.Concat(recent, others) {
		if len(ids) < mostChoices && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// recentFrom is the recent users whose ids begin so.
func (s *Screen) recentFrom(typed string) []string {
	return slices.DeleteFunc(slices.Clone(s.recent), func(id string) bool { return !strings.HasPrefix(id, typed) })
}

// userTyped asks about the user that was typed.
func (s *Screen) userTyped() tea.Cmd {
	s.choices = choices{typed: strings.TrimSpace(s.fields.Value(userField)), at: -1}
	return tea.Batch(s.checkEligibility(), s.findUsers())
}

// toChoose is the users to choose from while the keyboard is at the user; nil if that is the only one.
func (s *Screen) toChoose() []string {
	if form := s.Form(); form == nil || form.Focus() != userField {
		return nil
	}
	ids := s.fitting()
	if len(ids) == 1 && ids[0] == s.fields.Value(userField) {
		return nil
	}
	return ids
}

// fitting is the users whose ids begin as what was typed.
func (s *Screen) fitting() []string {
	typed := s.choices.typed
	found := slices.DeleteFunc(slices.Clone(s.users.Value.ids), func(id string) bool {
		return typed == "" || !strings.HasPrefix(id, typed)
	})
	return slices.DeleteFunc(chosenFrom(s.recentFrom(typed), found), func(id string) bool {
		answer, known := s.users.Value.answers[id]
		return known && whyNotEligible(answer) == noSuchUser // a recent one that was deleted
	})
}

// Suggestions returns the users whose ids begin as what was typed, and whether each can redeem.
func (s *Screen) Suggestions(field string) (ids, about []string) {
	ids = s.fitting()
	if s.Form() == nil || field != userField || slices.Contains(ids, s.fields.Value(userField)) {
		return nil, nil
	}
	for _, id := range ids {
		words, _ := s.known(id)
		about = append(about, strings.TrimPrefix(words, mark))
	}
	return ids, about
}

// known says whether a user to choose from can redeem; "" if that is not known.
func (s *Screen) known(id string) (words string, tone theme.Tone) {
	if answer, known := s.users.Value.answers[id]; known {
		return standing(answer)
	}
	return "", theme.Good
}

// choose fills in the next user, or the one before; before the first is what was typed.
func (s *Screen) choose(step int) tea.Cmd {
	ids := s.toChoose()
	s.choices.at = (s.choices.at+1+step+len(ids)+1)%(len(ids)+1) - 1
	id := s.choices.typed
	if s.choices.at >= 0 {
		id = ids[s.choices.at]
	}
	s.fields.Set(userField, id)
	s.asking = false
	return s.checkEligibility()
}

// drawnChoices is a line for each user to choose from, with whether they can redeem.
func (s *Screen) drawnChoices() string {
	look, ids := s.shell.Theme, s.toChoose()
	widest := 0
	for _, id := range ids {
		widest = max(widest, min(display.Width(display.Line(id)), 40))
	}
	lines := make([]string, len(ids))
	for i, id := range ids {
		lead, style := "  ", look.Text
		if id == s.fields.Value(userField) {
			lead, style = "▸ ", look.Strong
		}
		lines[i] = style.Render(lead + display.Pad(display.Cut(display.Line(id), widest), widest))
		words, tone := s.known(id)
		if said, in := s.verdict(); id == s.fields.Value(userField) && said != "" {
			words, tone = said, in
		}
		lines[i] += "  " + look.In(tone).Render(words)
	}
	return strings.Join(lines, "\n")
}

// isUnknown tells whether the service has said that there is no such user.
func (s *Screen) isUnknown() bool {
	return slices.ContainsFunc(s.answers(), func(e api.Eligibility) bool { return whyNotEligible(e) == noSuchUser })
}

// refuseUnknown shows beside the user that there is none, and asks the service again: somebody may import it now.
func (s *Screen) refuseUnknown() tea.Cmd {
	s.fields.Refuse(unknownUser(s.typedUser()))
	return s.checkEligibility()
}

func unknownUser(id string) api.FieldErrors {
	return api.FieldErrors{userField: {fmt.Sprintf("No user %q. Check the id, or import it.", id)}}
}

// askEligibility returns an error only if the service cannot be reached. Others are not worth a message while text is
// typed.
func askEligibility(ctx context.Context, c *client.Client, perks []api.Perk, userID string) (eligibility, error) {
	ctx, cancel := context.WithTimeout(ctx, eligibilityTimeout)
	defer cancel()
	e := eligibility{userID: userID}
	pairs := make([]api.Pair, len(perks))
	for i, perk := range perks {
		pairs[i] = api.Pair{PerkID: perk.ID, UserID: userID}
	}
	var err error
	e.answers, err = c.Eligibilities(ctx, pairs)
	switch {
	case ctx.Err() != nil: // slow is not unreachable
		return e, context.Canceled
	case errors.As(err, new(*client.Error)):
		return eligibility{userID: userID, unanswered: screen.IsLacking(err)}, nil
	case err != nil:
		return e, err
	}
	if only := e.answers[0]; len(perks) == 1 && api.CodeOf(only.Refusal()) == api.CodeAlreadyRedeemed {
		if r, err := findExisting(ctx, c, perks[0].ID, userID); err == nil && r != nil {
			e.redeemedAt = r.RedeemedAt
		}
	}
	return e, nil
}

// answers returns what is known of the user in the form.
func (s *Screen) answers() []api.Eligibility {
	if known := s.eligibility.Value; s.Form() != nil && known.userID == strings.TrimSpace(s.fields.Value(userField)) {
		return known.answers
	}
	return nil
}

const (
	mark          = "✓ " // for the eye
	canRedeem     = mark + "can redeem"
	needsApproval = "needs approval"
)

// standing says in a few words whether a user can redeem a perk.
func standing(e api.Eligibility) (words string, tone theme.Tone) {
	switch why := whyNotEligible(e); {
	case why != "":
		return why, theme.Warning
	case e.NeedsApproval():
		return canRedeem + ", " + needsApproval, theme.Warning
	}
	return canRedeem, theme.Good
}

// needsApproval tells whether the service has said that an item would be pending.
func (s *Screen) needsApproval(i *item) bool {
	return slices.ContainsFunc(s.answers(), func(e api.Eligibility) bool {
		return e.NeedsApproval() && api.SameID(e.PerkID, i.perk.ID)
	})
}

// whyNotEligible says in a few words why a user cannot redeem; "" if they can.
func whyNotEligible(e api.Eligibility) string {
	refusal := e.Refusal()
	switch code := api.CodeOf(refusal); {
	case refusal == nil:
		return ""
	case code == api.CodeNotFound && isAboutUser(refusal, e.PerkID, e.UserID):
		return noSuchUser
	case code == api.CodeNotFound:
		return "no such perk"
	case slices.Contains([]api.Code{api.CodeAlreadyRedeemed, api.CodeSoldOut, api.CodePerkExpired,
		api.CodePerkNotStarted}, code):
		return strings.ReplaceAll(strings.TrimPrefix(string(code), "perk_"), "_", " ")
	}
	return "not possible"
}

// verdict says whether the typed user can redeem; "" if that is not known.
func (s *Screen) verdict() (words string, tone theme.Tone) {
	answers, able, pending := s.answers(), 0, 0
	var reasons []string
	counts := map[string]int{}
	for _, e := range answers {
		why := whyNotEligible(e)
		switch {
		case why == noSuchUser:
			return why, theme.Bad
		case why == "":
			able++
			if e.NeedsApproval() {
				pending++
			}
			continue
		case counts[why] == 0:
			reasons = append(reasons, why)
		}
		counts[why]++
	}
	tone, approvals := theme.Good, ""
	if pending > 0 {
		tone, approvals = theme.Warning, " ("+display.Plural(pending, "needs", "need")+" approval)"
	}
	switch all := len(answers); {
	case all == 0:
		return "", theme.Plain
	case all == able && all < len(s.perks):
		return fmt.Sprintf(canRedeem+" the first %d", all) + approvals, tone
	case all == 1 && !s.eligibility.Value.redeemedAt.IsZero():
		return reasons[0] + " on " + display.Day(s.eligibility.Value.redeemedAt, s.shell.Now()), theme.Warning
	case all == 1:
		return standing(answers[0])
	case all == able:
		return fmt.Sprintf(canRedeem+" all %d", all) + approvals, tone
	}
	for i, why := range reasons {
		reasons[i] = fmt.Sprint(counts[why], " ", why)
	}
	return fmt.Sprintf("can redeem %d of %d%s: %s", able, len(answers), approvals, strings.Join(reasons, ", ")),
		theme.Warning
}

// restOf is the rest of a user id that a text begins, of a recent one first; "" if there is none, or the text is an id.
func (s *Screen) restOf(typed string) string {
	if slices.Contains(s.users.Value.ids, typed) {
		return ""
	}
	for _, id := range slices.Concat(s.recent, s.users.Value.ids) {
		if rest, found := strings.CutPrefix(id, typed); typed != "" && found && rest != "" {
			return display.Line(rest)
		}
	}
	return ""
}

// advice is the verdict as it is drawn below the user, or the users to choose from.
func (s *Screen) advice() string {
	words, tone := s.verdict()
	choices := s.drawnChoices()
	if words == noSuchUser && (choices != "" || s.fields.Completion() != "") { // the id is half typed
		words = ""
	}
	if words = s.shell.Theme.In(tone).Render(words); choices != "" && len(s.perks) == 1 {
		return choices // which say it
	}
	return widget.Joined("\n", choices, words)
}

// handleRecent keeps the recent users, and lets one be chosen into the form if that was asked for.
func (s *Screen) handleRecent(recent screen.Recent) tea.Cmd {
	if recent.Of != s {
		return nil
	}
	picks := s.picking && s.Form() != nil
	s.recent, s.picking = recent.IDs, false
	switch {
	case !picks:
		return s.findUsers()
	case len(recent.IDs) == 0:
		return screen.Tell(screen.Note, "No recent users.")
	}
	return s.shell.Post(screen.Pick{Title: "Recent users", Options: recent.IDs, Then: func(index int) tea.Cmd {
		if s.Form() == nil {
			return nil
		}
		s.fields.Set(userField, recent.IDs[index])
		return s.userTyped()
	}})
}
