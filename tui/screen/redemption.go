package screen

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/tui/theme"
	"example.com/perks/tui/widget"
)

// Redeemed tells screens that a user redeemed a perk, which clears its mark.
type Redeemed struct{ PerkID, UserID string }

// Optional returns an optional text of the service in one line; "" if there is none.
func Optional(text *string) string {
	if text == nil {
		return ""
	}
	return display.Line(*text)
}

// StatusWord is what every screen calls the status of a redemption.
func StatusWord(status api.RedemptionStatus) string {
	return cmp.Or(display.Line(string(status)), notKnown)
}

// StatusMark says without colour and words what a status is: full is redeemed, and half waits.
func StatusMark(status api.RedemptionStatus) string {
	switch status {
	case api.StatusPending:
		return "◐"
	case api.StatusApproved:
		return "●"
	case api.StatusRejected:
		return "○"
	case api.StatusVoided:
		return "⊘"
	}
	return "?"
}

// StatusTone is how a status is meant.
func StatusTone(status api.RedemptionStatus) theme.Tone {
	switch status {
	case api.StatusPending:
		return theme.Warning
	case api.StatusApproved:
		return theme.Good
	}
	return theme.Quiet
}

// IsFree tells whether the user of a redemption can redeem the perk again.
func IsFree(status api.RedemptionStatus) bool {
	return status == api.StatusRejected || status == api.StatusVoided
}

// When says how long ago something was redeemed.
func (s *Shell) When(redeemed time.Time) string {
	if redeemed.IsZero() {
		return notKnown
	}
	return display.Age(s.Now().Sub(redeemed))
}

const notKnown = "not known" // of a time that the service does not tell

// RedemptionFacts is all that is known of a redemption. The title of its perk may be "".
func (s *Shell) RedemptionFacts(r *api.RedemptionRecord, title string) []widget.Pair {
	status, perk, redeemed := StatusWord(r.Status), display.Line(r.PerkID), notKnown
	switch {
	case IsFree(r.Status):
		status += ", can be redeemed again"
	case r.Status == api.StatusPending:
		status += ", waiting for approval"
	}
	if title != "" {
		perk = display.Line(title) + " (" + perk + ")"
	}
	if !r.RedeemedAt.IsZero() {
		redeemed = display.Instant(r.RedeemedAt, s.Now()) + ", " + s.When(r.RedeemedAt)
	}
	facts := []widget.Pair{
		{Label: "Status", Value: status}, {Label: "User", Value: display.Line(r.UserID)}, {Label: "Perk", Value: perk},
		{Label: "Redeemed", Value: redeemed},
	}
	if r.ExpiresAt != nil && r.Status == api.StatusPending {
		facts = append(facts, widget.Pair{Label: "Expires",
			Value: display.Instant(*r.ExpiresAt, s.Now()) + ", " + display.Distance(*r.ExpiresAt, s.Now())})
	}
	if r.DecidedAt != nil {
		decided := display.Instant(*r.DecidedAt, s.Now())
		if who := widget.Joined(" at ", Optional(r.DecidedActor), Optional(r.DecidedBy)); who != "" {
			decided += ", by " + who
		}
		facts = append(facts, widget.Pair{Label: "Decided", Value: decided})
	}
	if r.Reason != nil {
		facts = append(facts, widget.Pair{Label: "Reason", Value: display.Line(*r.Reason)})
	}
	if r.Actor != nil {
		facts = append(facts, widget.Pair{Label: "Actor", Value: display.Line(*r.Actor)})
	}
	if r.ClientID != "" {
		facts = append(facts, widget.Pair{Label: "Client", Value: display.Line(r.ClientID)})
	}
	return append(facts, widget.Pair{Label: "Metadata", Value: metadataIndented(r.Metadata),
		Spoken: metadataWords(r.Metadata, len(r.Metadata))}, widget.Pair{Label: "Id", Value: display.Line(r.ID)})
}

func metadataIndented(metadata json.RawMessage) string {
	if isEmpty(metadata) {
		return "none"
	}
	indented, err := display.IndentJSON(metadata, "")
	if err != nil {
		return display.Text(string(metadata))
	}
	return display.Text(strings.ReplaceAll(string(indented), "\t", " "))
}

func isEmpty(metadata json.RawMessage) bool {
	return slices.Contains([]string{"", "{}", "null"}, string(bytes.TrimSpace(metadata)))
}

// maxSummary is the greatest width of the metadata in a row.
const maxSummary = 160

// MetadataSummary writes metadata as "shop=Mitte till=4". Metadata that is not an object stays as it is.
func MetadataSummary(metadata json.RawMessage) string {
	return display.Cut(metadataWords(metadata, maxSummary), maxSummary)
}

// metadataWords writes no more members of metadata than reach a width.
func metadataWords(metadata json.RawMessage, width int) string {
	if isEmpty(metadata) {
		return ""
	}
	decoder := json.NewDecoder(bytes.NewReader(metadata))
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return display.Line(string(metadata))
	}
	var parts []string
	for length := 0; decoder.More() && length < width; {
		name, err := decoder.Token()
		var value json.RawMessage
		if err != nil || decoder.Decode(&value) != nil {
			break
		}
		var text string
		if json.Unmarshal(value, &text) != nil || string(value) == "null" {
			text = string(value)
		}
		part := name.(string) + "=" + text
		parts = append(parts, part)
		length += display.Width(part)
	}
	return display.Line(strings.Join(parts, " "))
}
