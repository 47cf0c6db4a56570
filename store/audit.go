package store

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"example.com/perks/api"
)

// The subjects of audit entries, each the name of one record.

// PerkSubjectPrefix comes before a perk's id in its subject.
const PerkSubjectPrefix = "perk/"

// UserSubject is "user/" and the user's id.
func UserSubject(id string) string { return "user/" + id }

// PropertySubject is "property/" and the property's id.
func PropertySubject(id int64) string { return fmt.Sprintf("property/%d", id) }

const clientPrefix = "client/"

// ClientSubject is "client/" and the client's id.
func ClientSubject(id string) string { return clientPrefix + id }

// SigningKeySubject is "key/" and the signing key's id.
func SigningKeySubject(id string) string { return "key/" + id }

const redemptionPrefix = "redemption/"

// RedemptionSubject is "redemption/" and the redemption's id.
func RedemptionSubject(id string) string { return redemptionPrefix + id }

// SandboxSubject is the sandbox as a whole.
const SandboxSubject = "sandbox"

// DatabaseSubject is the database as a whole.
const DatabaseSubject = "database"

// CreatedUser is a user whom a redemption made, as the audit log shows it.
type CreatedUser struct {
	ID           string `json:"id"`
	RedemptionID string `json:"redemption_id"`
}

// Restored is what the audit log shows of a database that was restored from a backup.
type Restored struct {
	RevocationsKnown bool     `json:"revocations_known"` // whether the former database could be read
	CarriedOver      []string `json:"carried_over"`      // a sentence for each difference from the backup
}

// PublicClient is a client as the audit log shows it: without its secret's hash.
type PublicClient struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	Scopes      string    `json:"scopes"` // separated by spaces
	SandboxOnly bool      `json:"sandbox_only"`
	Disabled    bool      `json:"disabled"`
	CreatedAt   time.Time `json:"created_at"`
}

// Public returns what of the client may be shown.
func (c Client) Public() PublicClient {
	return PublicClient{c.ID, c.Name, c.Scopes.String(), c.SandboxOnly, c.Disabled, c.CreatedAt.UTC()}
}

// PublicSigningKey is a signing key as the audit log shows it: without its secret.
type PublicSigningKey struct {
	ID        string    `json:"id"`
	CreatedAt time.Time `json:"created_at"`
}

// Public returns what of the key may be shown.
func (k SigningKey) Public() PublicSigningKey { return PublicSigningKey{k.ID, k.CreatedAt.UTC()} }

// AuditRow is an entry of the audit log as a driver reads it: one that was kept, or a redemption as it was made.
type AuditRow struct {
	source, place                                  int64
	entry                                          AuditEntry
	before, after                                  *string
	id, perkID, userID, clientID, status, metadata *string
}

// Columns are what to scan into after the time: source (0 for a redemption made, or 1), place, actor, action, subject, before and
// after, and of a redemption its id, perk, user, client, first status and metadata. The others are null.
func (r *AuditRow) Columns() []any {
	return []any{&r.source, &r.place, &r.entry.Actor, &r.entry.Action, &r.entry.Subject, &r.before, &r.after,
		&r.id, &r.perkID, &r.userID, &r.clientID, &r.status, &r.metadata}
}

// Entry is the entry of the instant.
func (r *AuditRow) Entry(at time.Time) (AuditEntry, error) {
	entry := r.entry
	entry.At, entry.Before, entry.After = at.UTC(), auditedRecord(r.before), auditedRecord(r.after)
	if r.source != 0 {
		return entry, nil
	}
	entry.Actor, entry.Action, entry.Subject = ClientActor(*r.clientID), ActionRedeem, RedemptionSubject(*r.id)
	made, err := json.Marshal(api.Redemption{
		ID: *r.id, PerkID: *r.perkID, UserID: *r.userID, RedeemedAt: entry.At,
		Status: api.RedemptionStatus(*r.status), Metadata: json.RawMessage(*r.metadata),
	})
	entry.After = made
	return entry, err
}

// auditText is a record as drivers keep it in an audit entry: JSON, or nil when there is no record.
func auditText(record any) (*string, error) {
	if record == nil {
		return nil, nil
	}
	text, err := json.Marshal(record)
	if err != nil {
		return nil, fmt.Errorf("write a record for the audit log: %w", err)
	}
	kept := string(text)
	return &kept, nil
}

// auditedRecord is what auditText made, as an audit entry shows it: null when there was no record.
func auditedRecord(kept *string) json.RawMessage {
	if kept == nil {
		return json.RawMessage("null")
	}
	return json.RawMessage(*kept)
}

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

// AuditCondition is what an entry, or a redemption made, has to meet: a field of it compared with a text or an instant.
type AuditCondition struct {
	Field string // "subject", "actor", "action" and "at" of entries; "id", "client" and "at" of redemptions
	Is    string // "=", ">=" or "<"; texts are compared byte by byte
	Value any    // string or time.Time
}

// OfKept returns the conditions for entries beside the redemptions made, or false if none of them is wanted.
func (q AuditQuery) OfKept() ([]AuditCondition, bool) {
	conditions := q.within()
	if q.Subject != "" {
		conditions = append(conditions, AuditCondition{"subject", "=", q.Subject})
	}
	conditions = append(conditions, readPattern(q.Actor).conditions("actor")...)
	return append(conditions, readPattern(q.Action).conditions("action")...), q.Action != ActionRedeem
}

// OfMade returns the conditions for redemptions made, or false if none of them is wanted.
func (q AuditQuery) OfMade() ([]AuditCondition, bool) {
	if !readPattern(q.Action).matches(ActionRedeem) {
		return nil, false
	}
	conditions := q.within()
	if q.Subject != "" {
		id, isRedemption := strings.CutPrefix(q.Subject, redemptionPrefix)
		if !isRedemption || id == "" {
			return nil, false
		}
		conditions = append(conditions, AuditCondition{"id", "=", id})
	}
	actor := readPattern(q.Actor)
	client, isClient := strings.CutPrefix(actor.text, clientPrefix)
	switch {
	case isClient:
		return append(conditions, auditPattern{client, actor.isPrefix}.conditions("client")...), true
	case actor.isPrefix && strings.HasPrefix(clientPrefix, actor.text):
		return conditions, true
	}
	return nil, false
}

func (q AuditQuery) within() (conditions []AuditCondition) {
	if !q.Since.IsZero() {
		conditions = append(conditions, AuditCondition{"at", ">=", q.Since})
	}
	if !q.Until.IsZero() {
		conditions = append(conditions, AuditCondition{"at", "<", q.Until})
	}
	return conditions
}

// auditPattern is what an actor or an action has to be, or to begin with.
type auditPattern struct {
	text     string
	isPrefix bool
}

func readPattern(text string) auditPattern {
	if prefix, found := strings.CutSuffix(text, "*"); found || text == "" {
		return auditPattern{prefix, true}
	}
	return auditPattern{text, false}
}

func (p auditPattern) matches(text string) bool {
	return text == p.text || p.isPrefix && strings.HasPrefix(text, p.text)
}

func (p auditPattern) conditions(field string) []AuditCondition {
	switch {
	case !p.isPrefix:
		return []AuditCondition{{field, "=", p.text}}
	case p.text == "":
		return nil
	}
	return []AuditCondition{{field, ">=", p.text}, {field, "<", p.text + "\U0010ffff"}}
}
