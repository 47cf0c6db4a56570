package store

import (
	"strings"
	"time"
)

// AuditQuery says which entries of the audit log are wanted. What is left zero does not matter.
type AuditQuery struct {
	Subject string    // exactly
	Actor   string    // exactly; one that ends in "*" means all that begin with what is before it
	Action  string    // the same
	Since   time.Time // that instant or later
	Until   time.Time // before that instant
	Last    int       // no more than so many, the last ones
}

// AuditPosition is how far someone has read the audit log. Only the driver that gave it can read it; "" is before all.
type AuditPosition string

// AuditPattern is what an actor or an action has to be, or to begin with.
type AuditPattern struct {
	Text     string
	IsPrefix bool
}

// ReadAuditPattern reads an Actor or an Action of an AuditQuery.
func ReadAuditPattern(text string) AuditPattern {
	if prefix, found := strings.CutSuffix(text, "*"); found || text == "" {
		return AuditPattern{prefix, true}
	}
	return AuditPattern{text, false}
}

// MatchesAll holds for a pattern that leaves nothing out.
func (p AuditPattern) MatchesAll() bool { return p.IsPrefix && p.Text == "" }

// Matches tells whether the text is what the pattern wants.
func (p AuditPattern) Matches(text string) bool {
	return text == p.Text || p.IsPrefix && strings.HasPrefix(text, p.Text)
}

// End is what every text that begins with the pattern's comes before, byte by byte.
func (p AuditPattern) End() string { return p.Text + "\U0010ffff" }

// MadeRedemptions is which of the redemptions made are among the entries of an AuditQuery.
type MadeRedemptions struct {
	ID     string // exactly, unless it is empty
	Client AuditPattern
}

// Made returns false if no redemption is among the query's entries.
func (q AuditQuery) Made() (MadeRedemptions, bool) {
	made := MadeRedemptions{}
	if !ReadAuditPattern(q.Action).Matches(ActionRedeem) {
		return made, false
	}
	if q.Subject != "" {
		id, isRedemption := strings.CutPrefix(q.Subject, RedemptionSubjectPrefix)
		if !isRedemption || id == "" {
			return made, false
		}
		made.ID = id
	}
	actor := ReadAuditPattern(q.Actor)
	client, isClient := strings.CutPrefix(actor.Text, clientPrefix)
	switch {
	case isClient:
		made.Client = AuditPattern{client, actor.IsPrefix}
	case actor.IsPrefix && strings.HasPrefix(clientPrefix, actor.Text):
		made.Client = AuditPattern{IsPrefix: true}
	default:
		return made, false
	}
	return made, true
}

// Kept tells whether any entry beside the redemptions made can be among the query's.
func (q AuditQuery) Kept() bool { return q.Action != ActionRedeem }
