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
	"example.com/perks/api/operation"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/theme"
	"example.com/perks/tui/widget"
)

// classify tells whether an item's failure also stops the items after it, because it is not about this perk, or about
// fields of the form. They then wait, and keep their keys.
func classify(i *item) (stops bool, fields api.FieldErrors) {
	refused, isRefused := errors.AsType[*client.Error](i.Err)
	switch {
	case screen.MeetsAll(i.Err):
		return true, nil
	case !isRefused:
		return false, nil
	case refused.Code == api.CodeNotFound && isAboutUser(refused.Unwrap(), i.PerkID, i.Request.UserID):
		return true, api.FieldErrors{userField: {"No such user."}}
	case refused.Code == api.CodeValidationFailed:
		own := maps.Clone(refused.Fields)
		maps.DeleteFunc(own, func(name string, problems []string) bool {
			return name != userField && name != firstRow || len(problems) == 0
		})
		return len(own) > 0, own
	}
	return false, nil
}

// isAboutUser tells whether an error is about a missing user. Where the service does not say so, its message is all
// that is known, but for the ids in it, which may contain any words.
func isAboutUser(err error, ids ...string) bool {
	if refused, ok := errors.AsType[*api.Error](err); ok && refused.Param != "" {
		return refused.Param == api.ParamUser
	}
	message := err.Error()
	for _, id := range ids {
		message = strings.ReplaceAll(message, strconv.Quote(id), "")
	}
	message = strings.ToLower(message)
	return strings.Contains(message, "user") && !strings.Contains(message, "perk")
}

// counts says how many items have which outcome. One that waits for approval does not count as redeemed.
func (s *Screen) counts() string {
	user, counts := display.Line(s.sub.request.UserID), map[string]int{}
	marks := []string{"redeemed", waitingForApproval} // the good news first, then as they come
	all, none := len(s.sub.items), true
	for _, i := range s.sub.items {
		mark := s.outcome(i).mark
		if counts[mark]++; !slices.Contains(marks, mark) {
			marks = append(marks, mark)
		}
		none = none && i.State == operation.NotMade && !s.isSending(i)
	}
	var parts []string
	for _, mark := range marks {
		if counts[mark] > 0 {
			parts = append(parts, fmt.Sprint(counts[mark], " ", mark))
		}
	}
	text := strings.Join(parts, ", ") + "."
	switch {
	case none && counts[noSuchUser] > 0:
		return fmt.Sprintf("None of %d redeemed: no user %q. Correct the id, then %s.", all, user,
			s.shell.Key(actions.Submit))
	case none:
		text = fmt.Sprintf("none of %d redeemed: %s", all, text)
	}
	return user + ": " + text
}

// The marks of outcomes that are asked for elsewhere too.
const (
	noSuchUser         = "no such user"
	waitingForApproval = "waiting for approval"
)

// outcome is the state of an item in words.
type outcome struct {
	mark string // the state in a word or two
	tone theme.Tone
	text string // what has happened
	next string // what to do now; "" for nothing
	id   string // of the redemption; it has a line of its own, where it can be selected whole

	spinner string // before the text, for the eye only
}

func (s *Screen) outcome(i *item) outcome {
	waited := s.shell.Now().Sub(s.sentAt)
	passed := "."
	if waited >= widget.Beat {
		passed = ": " + waited.Truncate(time.Second).String() + " ..."
	}
	switch {
	case s.isSending(i) && s.checking:
		return outcome{mark: "checking", tone: theme.Info, text: "Checking " + i.Request.UserID + "'s list" + passed,
			spinner: widget.Spinner(waited)}
	case s.isSending(i):
		return outcome{mark: "sending", tone: theme.Info, text: "No reply yet" + passed,
			spinner: widget.Spinner(waited)}
	case i.State == operation.Made:
		return s.redeemed(i)
	case i.State.IsDoubtful():
		return s.unknown(i)
	case i.at.IsZero():
		return outcome{mark: "not sent", tone: theme.Quiet, text: "Not sent yet."}
	}
	return s.notRedeemed(i)
}

func (s *Screen) redeemed(i *item) outcome {
	r := i.Result
	o := outcome{mark: "redeemed", tone: theme.Good, text: "Redeemed.", id: r.ID}
	switch {
	case i.Replayed:
		o.mark, o.tone, o.text = "redeemed before", theme.Warning, "Redeemed earlier: the service repeats its reply."
	case screen.IsFree(r.Status):
		o.mark, o.tone = screen.StatusWord(r.Status), theme.Bad
		o.text, o.next = "Redeemed, then "+o.mark+".", "It cannot be used."
	case r.Status == api.StatusPending:
		o.mark, o.tone = waitingForApproval, theme.Warning
		o.text = "Waiting for approval" + s.at(" since ", r) + "."
	case r.Status != api.StatusApproved && r.Status != "":
		o.mark, o.tone = screen.StatusWord(r.Status), theme.Warning
		o.text, o.next = "Sent.", "Ask the operator whether it is redeemed."
	}
	if i.Earlier {
		o.text += " The reply was lost; the service confirmed it."
	}
	if o.mark != waitingForApproval {
		o.text += " Status " + i.status() + s.at(", ", r) + "."
	}
	return o
}

// at is when something was redeemed, behind a word; "" if the service does not tell.
func (s *Screen) at(word string, r api.Redemption) string {
	if r.RedeemedAt.IsZero() {
		return ""
	}
	return word + display.Instant(r.RedeemedAt, s.shell.Now())
}

// status is that of the redemption of an item, and why, if that was decided meanwhile: "voided (wrong perk)".
func (i *item) status() string {
	status := screen.StatusWord(i.made().Status)
	if i.reason != "" {
		status += " (" + i.reason + ")"
	}
	return status
}

func (s *Screen) unknown(i *item) outcome {
	user := i.Request.UserID
	o := outcome{mark: "unknown", tone: theme.Bad, text: "No reply yet."}
	unreachable := new(*client.Unreachable)
	if !errors.As(i.Err, unreachable) {
		o.text = "Unknown outcome. " + screen.Sentence("", i.Err)
	}
	switch {
	case errors.As(i.CheckErr, unreachable):
	case i.CheckErr != nil:
		o.text += " " + screen.Sentence("The check failed: ", i.CheckErr)
	case i.Candidate.ID == "":
		o.text += fmt.Sprintf(" At %s it was not in %s's list, but may still come.", i.at.Format("15:04:05"), user)
	}
	if r := i.Candidate; r.ID != "" {
		o.id = r.ID
		o.text += fmt.Sprintf(" %s has a redemption%s: this one or another.", user, s.at(" of ", r))
	}
	if pause := s.nextCheck(i); pause > 0 && i.State != operation.Abandoned {
		next := ""
		if left := s.shell.SecondsTo(s.checkAt); left > 0 && s.shell.Command == nil {
			next = fmt.Sprintf(", next in %d s", left)
		}
		o.text += fmt.Sprintf(" Checking every %d s%s. Don't redeem elsewhere.", int(pause.Seconds()), next)
	}
	if i.State == operation.Abandoned {
		o.mark, o.tone = "not checked", theme.Warning
		o.next = s.shell.Key(actions.ForUser) + " shows " + user + "'s redemptions."
		return o
	}
	retry := "retries safely"
	if !s.canRetrySafely(i) {
		retry = "retries (may redeem twice)"
	}
	o.next = fmt.Sprintf("%s checks again, %s %s, %s stops checking",
		s.shell.Key(actions.CheckAgain), s.shell.Key(actions.Retry), retry, s.shell.Key(actions.StopChecking))
	return o
}

func (s *Screen) notRedeemed(i *item) outcome {
	var refused *client.Error
	var unreachable *client.Unreachable
	why := screen.Sentence("", i.Err)
	o := outcome{mark: "failed", tone: theme.Warning, text: "Not redeemed: " + why, next: s.again()}
	switch {
	case errors.As(i.Err, &refused):
		return s.refused(i, refused)
	case errors.As(i.Err, new(*screen.NotLoggedIn)):
		o.mark, o.text, o.next = "not sent", "Not sent: nobody is logged in.", "Log in. Then "+s.again()
	case errors.As(i.Err, &unreachable) && unreachable.NotSent:
		o.mark, o.text = "not sent", "Not sent: "+why
	}
	return o
}

func (s *Screen) again() string {
	return s.shell.Key(actions.Submit) + " retries. It can't be redeemed twice."
}

func (s *Screen) refused(i *item, e *client.Error) outcome {
	user, now := i.Request.UserID, s.shell.Now()
	another := "Try another perk for " + user + "."
	stops, _ := classify(i)
	o := outcome{mark: "failed", tone: theme.Bad, text: screen.Sentence("", e)}
	switch {
	case e.LoginNeeded():
		o.mark, o.tone, o.text = "not sent", theme.Warning, "The service asks for a new login."
		o.next = "Log in. Then " + s.again()
	case e.Status == http.StatusTooManyRequests:
		o.mark, o.tone, o.text = "throttled", theme.Warning, "The service is receiving too many requests."
		o.next = "Wait a little. " + s.again()
		if e.RetryAfter > 0 {
			o.next = "Wait until " + i.at.Add(e.RetryAfter).Format("15:04:05") + ". " + s.again()
		}
	case e.Code == api.CodeInsufficientScope:
		o.mark, o.next = "not allowed", fmt.Sprintf("Log in (%s) as a client with the scope %s.",
			s.shell.Key(actions.Login), api.ScopePerksRedeem)
	case e.Status == http.StatusForbidden:
		o.mark, o.next = "not allowed", s.shell.Switches()
	case e.Code == api.CodeAlreadyRedeemed:
		return s.duplicate(i)
	case e.Code == api.CodeSoldOut:
		o.mark, o.text, o.next = "sold out", "Sold out.", another
	case e.Code == api.CodePerkExpired:
		o.mark, o.text, o.next = "expired", "Expired. "+o.text, another
		if screen.PhaseOf(&i.perk, now) == screen.Expired {
			o.text = "Expired: valid until " + display.End(*i.perk.ValidTo, now) + "."
		}
	case e.Code == api.CodePerkNotStarted:
		o.mark, o.text = "not started", "Not started. "+o.text
		if screen.PhaseOf(&i.perk, now) == screen.NotStarted {
			o.text = "Not started: valid from " + display.Instant(*i.perk.ValidFrom, now) + "."
		}
	case e.Code == api.CodeIdempotencyKeyReused:
		o.text = "Another request has used this idempotency key."
		o.next = s.shell.Key(actions.Redeem) + " opens the form, and uses a new idempotency key."
	case e.NotFromService:
		o.next = "The reply may not be from the service. " + s.again()
	case e.Code == api.CodeNotFound && isAboutUser(e.Unwrap(), i.PerkID, user):
		o.mark, o.text, o.next = noSuchUser, "", "Correct the user."
	case e.Code == api.CodeNotFound:
		o.mark, o.next = "no such perk", "Reload the list of perks."
	case stops:
		o.text, o.next = "Some values are not valid.", "Correct them."
	}
	o.text = strings.TrimSpace(o.text + " Nothing was redeemed.")
	return o
}

// duplicate shows the user's existing redemption, once it was read.
func (s *Screen) duplicate(i *item) outcome {
	user := i.Request.UserID
	o := outcome{mark: "already redeemed", tone: theme.Bad, next: s.shell.Key(actions.ForUser) + " shows " + user +
		"'s redemptions."}
	switch existing := i.existing; {
	case existing != nil && existing.Value != nil:
		o.id = existing.Value.ID
		o.text = fmt.Sprintf("%s redeemed it%s, status %s.", user, s.at(" on ", *existing.Value), i.status())
	case existing != nil && existing.Busy():
		o.text = user + " has redeemed it already; loading the date ..."
	case existing != nil && existing.Err != nil:
		o.text = user + screen.Sentence(" has redeemed it already. The date was not loaded: ", existing.Err)
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

func quoted(perk api.Perk) string { return `"` + display.Line(perk.Title) + `"` }

// quotedList lists the perks of items in a sentence. Perks of the same title are told apart by their ids.
func quotedList(items []*item) string {
	titles := map[string]int{}
	for _, i := range items {
		titles[i.perk.Title]++
	}
	var names []string
	for n, i := range items {
		if n == maxNames {
			names = append(names, fmt.Sprintf("%d more", len(items)-n))
			break
		}
		name := quoted(i.perk)
		if titles[i.perk.Title] > 1 {
			name += " (" + display.Line(i.perk.ID) + ")"
		}
		names = append(names, name)
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// destination says where a redemption takes effect, so that nobody mistakes the live service for the sandbox.
func destination(profile screen.Profile) string {
	kind := "LIVE"
	if profile.Sandbox {
		kind = "SANDBOX"
	}
	return fmt.Sprintf("%s (%s), profile %s", profile.APIURL, kind, profile.Name)
}

// question asks to confirm a submission.
func (s *Screen) question(next *submission) screen.Confirm {
	user, items := display.Line(next.request.UserID), next.open()
	what, yes := quotedList(items), "redeem it"
	if len(items) > 1 {
		what, yes = fmt.Sprintf("%d perks (%s)", len(items), what), "redeem them"
	}
	with := ""
	if metadata := display.Line(string(next.request.Metadata)); metadata != "" {
		with = ", with the metadata " + display.Cut(metadata, maxMetadata)
	}
	var lines []string // the risks first: where there is little space, the end is cut off
	if s.profile.Sandbox {
		lines = append(lines, "SANDBOX: this is a test.")
	}
	if again := filter(next.open(), s.isAbandonedWithOtherMetadata); len(again) > 0 {
		lines = append(lines,
			fmt.Sprintf("THIS CAN REDEEM TWICE: the outcome of %s for %s with other metadata is unknown.",
				quotedList(again), user))
	}
	if open := filter(next.open(), s.isUnresolvedElsewhere); len(open) > 0 {
		lines = append(lines,
			fmt.Sprintf("THIS CAN REDEEM TWICE: another screen has already sent %s for %s, and the outcome is unknown.",
				quotedList(open), user))
	}
	for _, i := range items {
		if i.State == operation.Abandoned {
			lines = append(lines, fmt.Sprintf("The outcome of %s is unknown. "+
				"It keeps its idempotency key: a service that honours it redeems once.", quoted(i.perk)))
		}
	}
	lines = append(lines, fmt.Sprintf("Redeem %s for %s at %s%s.", what, user, destination(s.profile), with))
	if pending := filter(items, s.needsApproval); len(pending) > 0 {
		lines = append(lines, fmt.Sprintf("%s: %s.", display.Capital(needsApproval), quotedList(pending)))
	}
	return screen.Confirm{Title: "Redeem for " + user + "?", Text: strings.Join(lines, "\n"), Yes: yes}
}
