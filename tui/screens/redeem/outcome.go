package redeem

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
)

// verdict is what a failure means for the item, for those after it, and for the form.
type verdict struct {
	halts  bool            // it is not about this perk: what is left waits, and goes on under the same keys
	fields api.FieldErrors // of the form: what is left waits until they are right
}

// stops tells whether nothing more is sent for now.
func (v verdict) stops() bool { return v.halts || len(v.fields) > 0 }

// judge tells what an item's failure means. Nothing was redeemed by it.
func judge(i *item) verdict {
	var refused *client.Error
	if !errors.As(i.Err, &refused) {
		var fault *api.Error
		return verdict{halts: i.Err != nil && !errors.As(i.Err, &fault)} // the client itself refuses ids that lead elsewhere
	}
	switch {
	case refused.Stray, slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests}, refused.Status):
		return verdict{halts: true}
	case refused.Code == api.CodeNotFound && isAboutUser(i, refused.Message):
		return verdict{fields: api.FieldErrors{userField: {"is not known: " + refused.Message}}}
	case refused.Code == api.CodeValidationFailed:
		own := maps.Clone(refused.Fields)
		maps.DeleteFunc(own, func(name string, problems []string) bool {
			return name != userField && name != firstRow || len(problems) == 0
		})
		return verdict{fields: own} // of those that the form has
	}
	return verdict{}
}

// isAboutUser tells whose absence a message is about. The ids in it may hold any words.
func isAboutUser(i *item, message string) bool {
	for _, id := range []string{i.PerkID, i.Request.UserID} {
		message = strings.ReplaceAll(message, strconv.Quote(id), "")
	}
	message = strings.ToLower(message)
	return strings.Contains(message, "user") && !strings.Contains(message, "perk")
}

// outcome is how an item stands, in words.
type outcome struct {
	mark string // one word, the same for all that stand so
	role role
	text string // what has happened
	next string // what to do now; "" for nothing
	id   string // of the redemption; on a line of its own, where it can be selected whole
}

func (s *Screen) outcome(i *item) outcome {
	switch waited := s.shell.Now().Sub(i.sentAt).Truncate(time.Second); {
	case i.sending && s.looking:
		return outcome{mark: "checking", role: muted, text: fmt.Sprintf("Checking %s's list: %s ...", i.Request.UserID, waited)}
	case i.sending:
		return outcome{mark: "sending", role: muted, text: fmt.Sprintf("No answer yet: %s ...", waited)}
	case i.Known == client.Redeemed:
		o := s.redeemed(i)
		o.id = i.Redemption.ID
		return o
	case i.Known == client.Unknown:
		return s.unknown(i)
	case !i.told:
		return outcome{mark: "waiting", role: muted, text: "Not sent yet."}
	}
	return s.notRedeemed(i)
}

func (s *Screen) redeemed(i *item) outcome {
	stands := s.stands(i.Redemption)
	switch {
	case i.Replayed:
		return outcome{mark: "answered before", role: warn, text: "Nothing was redeemed now: the service had seen this key before, and gives its first answer again. " + stands}
	case i.Redemption.Status == api.StatusRejected:
		return outcome{mark: "rejected", role: bad, text: how(i, "The redemption was made, and rejected. ") + stands, next: "It cannot be used. Who decides about this perk knows why."}
	case i.Redemption.Status == api.StatusPending:
		return outcome{mark: "pending", role: warn, text: how(i, "Redeemed; it waits for somebody to approve it. ") + stands}
	}
	return outcome{mark: "redeemed", role: good, text: how(i, "Redeemed. ") + stands}
}

// how says how the outcome became known, if not by the first reply.
func how(i *item, text string) string {
	if i.Earlier {
		return text + "The reply was lost; the service confirmed it. "
	}
	return text
}

// stands says what a redemption is.
func (s *Screen) stands(r api.Redemption) string {
	status := string(r.Status)
	if status == "" {
		status = "not told"
	}
	if r.RedeemedAt.IsZero() {
		return "Status " + status + "."
	}
	return "Status " + status + ", " + display.Instant(r.RedeemedAt, s.shell.Now()) + "."
}

func (s *Screen) unknown(i *item) outcome {
	user := i.Request.UserID
	o := outcome{mark: "unknown", role: bad, text: "We do not know yet if it went through. " + screen.Sentence("", i.Err)}
	switch {
	case i.LookErr != nil:
		o.text += " " + screen.Sentence("Looking for it failed: ", i.LookErr)
	case i.Candidate.ID == "":
		o.text += fmt.Sprintf(" At %s it was not in %s's list, but the service may still be at work.", i.at.Format("15:04:05"), user)
	}
	if r := i.Candidate; r.ID != "" {
		o.id = r.ID
		o.text += fmt.Sprintf(" %s has a redemption of %s: this one, or somebody else's.", user, display.Instant(r.RedeemedAt, s.shell.Now()))
	}
	if i.givenUp {
		o.mark, o.role = "given up", warn
		o.next = "The outcome is unknown. " + s.shell.Key(actions.ForUser) + " shows what " + user + " has redeemed."
		return o
	}
	retry := "retry safely"
	if !s.canRetrySafely(i) {
		retry = "retry (may redeem twice)"
	}
	o.next = fmt.Sprintf("%s check again, %s %s, %s stop checking", s.shell.Key(actions.Settle), s.shell.Key(actions.Retry), retry, s.shell.Key(actions.GiveUp))
	return o
}

func (s *Screen) notRedeemed(i *item) outcome {
	var refused *client.Error
	var missing *screen.NotLoggedIn
	again := s.shell.Key(actions.Submit) + " sends it again under the same key."
	switch {
	case errors.As(i.Err, &refused):
		return s.refused(i, refused)
	case errors.As(i.Err, &missing):
		return outcome{mark: "not sent", role: warn, text: "Nothing was sent: nobody is logged in.", next: "Log in; then " + again}
	}
	var unreachable *client.Unreachable
	text := "Nothing was redeemed: "
	if errors.As(i.Err, &unreachable) && unreachable.NotSent {
		text = "Nothing was sent: "
	}
	return outcome{mark: "not sent", role: warn, text: text + screen.Sentence("", i.Err), next: again}
}

func (s *Screen) refused(i *item, e *client.Error) outcome {
	const nothing = " Nothing was redeemed."
	user, now := i.Request.UserID, s.shell.Now()
	expired, notStarted := "Expired. "+screen.Sentence("", e), "Not started. "+screen.Sentence("", e)
	switch screen.PhaseOf(&i.perk, now) {
	case screen.Ended:
		expired = "Expired: it could be redeemed until " + display.Instant(*i.perk.ValidTo, now) + "."
	case screen.NotStarted:
		notStarted = "Not started: it can be redeemed from " + display.Instant(*i.perk.ValidFrom, now) + " on."
	}
	again := s.shell.Key(actions.Submit) + " sends it again under the same key."
	switch {
	case e.Status == http.StatusUnauthorized:
		return outcome{mark: "not sent", role: warn, text: "The service does not accept the session any more." + nothing, next: "Log in; then " + again}
	case e.Status == http.StatusTooManyRequests:
		when := "a little later"
		if e.RetryAfter > 0 {
			when = "from " + i.at.Add(e.RetryAfter).Format("15:04:05") + " on"
		}
		return outcome{mark: "put off", role: warn, text: "The service takes no more requests for now." + nothing, next: "Try " + when + ": " + again}
	case e.Code == api.CodeInsufficientScope:
		return outcome{mark: "not allowed", role: bad, text: screen.Sentence("", e) + nothing, next: "Log in (" + s.shell.Key(actions.Login) + ") as a client that may redeem: it needs the scope " + string(api.ScopePerksRedeem) + "."}
	case e.Status == http.StatusForbidden:
		return outcome{mark: "not allowed", role: bad, text: screen.Sentence("", e) + nothing, next: "Log in (" + s.shell.Key(actions.Login) + ") with a profile that may redeem here, such as one of the sandbox."}
	case e.Code == api.CodeAlreadyRedeemed:
		return s.duplicate(i)
	case e.Code == api.CodeSoldOut:
		return outcome{mark: "sold out", role: bad, text: "Sold out: no unit is left." + nothing, next: "Another perk may do for " + user + "."}
	case e.Code == api.CodePerkExpired:
		return outcome{mark: "expired", role: bad, text: expired + nothing, next: "Another perk may do for " + user + "."}
	case e.Code == api.CodePerkNotStarted:
		return outcome{mark: "not started", role: bad, text: notStarted + nothing}
	case e.Code == api.CodeIdempotencyKeyReused:
		return outcome{mark: "refused", role: bad, text: "The service knows this key from another request, and so did nothing." + nothing, next: s.shell.Key(actions.Redeem) + " goes back to the form; it is sent under a new key then."}
	case e.Stray:
		return outcome{mark: "refused", role: bad, text: screen.Sentence("", e) + nothing, next: "The answer may not come from the service itself. " + again}
	case e.Code == api.CodeNotFound && isAboutUser(i, e.Message):
		return outcome{mark: "no such user", role: bad, text: screen.Sentence("", e) + nothing, next: "Correct the user."}
	case e.Code == api.CodeNotFound:
		return outcome{mark: "no such perk", role: bad, text: screen.Sentence("", e) + nothing, next: "It may have been taken away: load the list of perks again."}
	case judge(i).stops():
		return outcome{mark: "refused", role: bad, text: "Some values are not valid." + nothing, next: "Correct them."}
	}
	return outcome{mark: "refused", role: bad, text: screen.Sentence("", e) + nothing}
}

// duplicate says what stands in the way, once that has been read.
func (s *Screen) duplicate(i *item) outcome {
	user := i.Request.UserID
	o := outcome{mark: "already redeemed", role: bad, next: s.shell.Key(actions.ForUser) + " shows what " + user + " has redeemed."}
	switch holder := i.holder; {
	case holder != nil && holder.Has && holder.Value.found:
		r := holder.Value.Redemption
		o.id = r.ID
		o.text = fmt.Sprintf("%s redeemed it on %s, status %s.", user, display.Instant(r.RedeemedAt, s.shell.Now()), r.Status)
	case holder != nil && holder.Busy():
		o.text = user + " has redeemed it already; looking up when ..."
	case holder != nil && holder.Err != nil:
		o.text = user + screen.Sentence(" has redeemed it already. When, could not be read: ", holder.Err)
	default:
		o.text = user + " has redeemed it already."
	}
	o.text += " Nothing was redeemed now."
	return o
}

// Longest lists within a question.
const (
	maxNames    = 8
	maxMetadata = 120
)

func named(perk api.Perk) string { return `"` + display.Line(perk.Title) + `"` }

// perksNamed lists perks in a sentence. Perks of the same title are told apart by their ids.
func perksNamed(perks []api.Perk) string {
	titles := map[string]int{}
	for _, perk := range perks {
		titles[perk.Title]++
	}
	var names []string
	for i, perk := range perks {
		if i == maxNames {
			names = append(names, fmt.Sprintf("%d more", len(perks)-i))
			break
		}
		name := named(perk)
		if titles[perk.Title] > 1 {
			name += " (" + display.Line(perk.ID) + ")"
		}
		names = append(names, name)
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// place says where a redemption takes effect, so that nobody takes the one for the other.
func place(profile screen.Profile) string {
	kind := "LIVE"
	if profile.Sandbox {
		kind = "SANDBOX"
	}
	return fmt.Sprintf("%s (%s), profile %s", profile.APIURL, kind, profile.Name)
}

// question says in one sentence what y does.
func (s *Screen) question(next *submission) screen.Confirm {
	perks := perksOf(next.open())
	user := display.Line(next.request.UserID)
	what, yes := perksNamed(perks), "redeem it"
	if len(perks) > 1 {
		what, yes = fmt.Sprintf("%d perks (%s)", len(perks), what), "redeem them"
	}
	with := ""
	if metadata := display.Line(string(next.request.Metadata)); metadata != "" {
		with = ", with the metadata " + display.Cut(metadata, maxMetadata)
	}
	var lines []string // the risks first: where there is little room, the end is cut off
	if again := s.doubtsBeside(next); len(again) > 0 {
		lines = append(lines, fmt.Sprintf("THIS CAN REDEEM TWICE: it is not known whether %s was redeemed for %s before, with other metadata.", perksNamed(again), user))
	}
	if open := s.doubtsElsewhere(next); len(open) > 0 {
		lines = append(lines, fmt.Sprintf("THIS CAN REDEEM TWICE: another screen has already sent %s for %s, and the outcome is unknown.", perksNamed(open), user))
	}
	for _, i := range next.open() {
		if i.givenUp {
			lines = append(lines, fmt.Sprintf("It is not known whether %s was redeemed before. It is sent under the same key, so that a service that heeds keys redeems it once.", named(i.perk)))
		}
	}
	lines = append(lines, fmt.Sprintf("Redeem %s for %s at %s%s.", what, user, place(s.home), with))
	text := strings.Join(lines, "\n")
	return screen.Confirm{Title: "Redeem for " + user + "?", Text: text, Yes: yes}
}

func perksOf(items []*item) []api.Perk {
	perks := make([]api.Perk, len(items))
	for i, it := range items {
		perks[i] = it.perk
	}
	return perks
}
