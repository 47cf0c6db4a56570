package store

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
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

// RedemptionSubjectPrefix comes before a redemption's id in its subject.
const RedemptionSubjectPrefix = "redemption/"

// RedemptionSubject is "redemption/" and the redemption's id.
func RedemptionSubject(id string) string { return RedemptionSubjectPrefix + id }

// SandboxSubject is the sandbox as a whole.
const SandboxSubject = "sandbox"

// DatabaseSubject is the database as a whole.
const DatabaseSubject = "database"

// The subjects of imports are all records of a kind.
const (
	PerksSubject      = "perks"
	CategoriesSubject = "categories"
	UsersSubject      = "users"
	PropertiesSubject = "properties"
)

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

// RedeemEntry is the audit entry that a redemption is by itself. The redemption must be as it was made, in its first
// status.
func RedeemEntry(made RedemptionRecord) (AuditEntry, error) {
	after, err := json.Marshal(made.Redemption)
	return AuditEntry{
		At: made.RedeemedAt, Actor: ClientActor(made.ClientID), Action: ActionRedeem, Subject: RedemptionSubject(made.ID),
		Before: AuditedRecord(nil), After: after,
	}, err
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

// AuditedRecord is what auditText made, as an audit entry shows it: null when there was no record.
func AuditedRecord(kept *string) json.RawMessage {
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
