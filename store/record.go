package store

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"example.com/perks/api"
)

// Approval says whether a redemption of a perk must be approved.
type Approval = api.Approval

// A redemption is approved at once, or pending until somebody decides.
const (
	ApprovalAuto   = api.ApprovalAuto
	ApprovalManual = api.ApprovalManual
)

// PerkRecord is a perk with the fields that only the operator sees, and who may change perks.
type PerkRecord = api.PerkRecord

// User is someone who can redeem.
type User = api.User

// PropertyRecord is a listing with the client that may change it.
type PropertyRecord struct {
	api.Property
	Owner string `json:"owner"`
	Row   Row    `json:"-"`
}

// PerkCreation is one request to create a perk, which has its id.
type PerkCreation struct {
	Perk     PerkRecord
	By       Actor
	ClientID string // whose key it is
	At       time.Time
	Key      *IdempotencyKey // nil without one
}

// CreatedPerk is the perk as the first reply showed it, and whether this is a replay of that reply.
type CreatedPerk struct {
	PerkRecord
	Replayed bool
}

// PerkRestock is one request to change the stock of a perk.
type PerkRestock struct {
	ID       string
	Change   api.StockChange
	By       Actor
	ClientID string // whose key it is
	At       time.Time
	Key      *IdempotencyKey // nil without one
}

// ChangedStock is the stock as the first reply showed it, and whether this is a replay of that reply.
type ChangedStock struct {
	api.PerkStock
	Replayed bool
}

// PerkHistoryQuery says which page of a perk's versions.
type PerkHistoryQuery struct {
	ID     string
	Window Window
	After  *Cursor // as in PerkQuery
}

// PropertyCreation is one request to create a listing. The id of Property is ignored.
type PropertyCreation struct {
	Property api.Property
	Owner    string // a client
	Actor    string // who sits at it, as in RedeemAttempt
	At       time.Time
	Key      *IdempotencyKey // nil without one
}

// CreatedProperty is the listing as the first reply showed it, and whether this is a replay of that reply.
type CreatedProperty struct {
	Property api.Property
	Replayed bool
}

// Version is what one change made of a record.
type Version[R any] struct {
	At            time.Time
	Actor         Actor
	Action        string // as in the audit log
	Before, After *R     // the whole record; nil where there was or is none
}

// PropertyVersion is a version of a listing, PerkVersion one of a perk.
type (
	PropertyVersion = Version[PropertyRecord]
	PerkVersion     = Version[PerkRecord]
)

// PropertyHistoryQuery says which page of a listing's versions.
type PropertyHistoryQuery struct {
	ID     int64
	Window Window
	After  *Cursor // as in PerkQuery
	// Check refuses with its error. It gets the owner of the listing as it is, or was when it was deleted.
	Check func(owner string) error
}

// PropertyRestoration is one request to take a listing back to a version.
type PropertyRestoration struct {
	ID int64
	By Actor
	At time.Time
	// Is finds the version, of several the newest, unless it is nil. Otherwise AsOf says when the listing was as
	// wanted, unless it is zero. Without both it is the last version before the deletion.
	Is   func(api.Property) bool
	AsOf time.Time
	// Check refuses with its error, unless it is nil. It gets the listing as it is, or was when it was deleted, which
	// nobody else can change meanwhile. It may be called more than once, as the change of UpdateProperty may.
	Check func(PropertyRecord) error
	Key   *IdempotencyKey // nil without one
	// ClientID is whose key it is.
	ClientID string
}

// RestoredProperty is the listing as the first reply showed it, and whether this is a replay of that reply.
type RestoredProperty struct {
	PropertyRecord
	Replayed bool
}

// RedeemAttempt is one request to redeem. The caller chooses the id before the first try, so that a driver that retries
// after an unknown outcome recognizes its own row.
type RedeemAttempt struct {
	ID       string
	PerkID   string
	UserID   string
	ClientID string
	Actor    string          // who sits at the client, as it says; "" if it named nobody
	Metadata json.RawMessage // a compact JSON object
	At       time.Time
	Key      *IdempotencyKey // nil without one
	// CreateUser creates an unknown user. Otherwise an unknown user is refused.
	CreateUser bool
	Searched   []SearchedValue // by which the redemption is found, of its metadata
}

// IdempotencyKeyLife is how long a key is valid after its first use.
const IdempotencyKeyLife = 24 * time.Hour

// IdempotencyKey is a client's name for one request.
type IdempotencyKey struct {
	Key         string   // scoped to the attempt's client
	Fingerprint [32]byte // of the request
}

// Check returns IdempotencyKeyReused unless a stored fingerprint is that of the same request. One of another length was
// not written by this program.
func (k IdempotencyKey) Check(fingerprint []byte) error {
	switch {
	case len(fingerprint) != len(k.Fingerprint):
		return fmt.Errorf("the fingerprint of the idempotency key %q has %d bytes, not %d", k.Key,
			len(fingerprint), len(k.Fingerprint))
	case k.Fingerprint != [32]byte(fingerprint):
		return IdempotencyKeyReused(k.Key)
	}
	return nil
}

// RedeemResult is the redemption as the first reply showed it, and whether this is a replay of that reply.
type RedeemResult struct {
	Redemption api.Redemption
	Replayed   bool
}

// Replay is the reply that repeats an earlier one, which has the attempt's key, or its id: then its caller retries
// after an unknown outcome.
func (a RedeemAttempt) Replay(first api.Redemption) (RedeemResult, error) {
	isOwn := first.ID == a.ID
	if isOwn && (first.PerkID != a.PerkID || first.UserID != a.UserID) {
		return RedeemResult{}, fmt.Errorf("the id %q of a new redemption is already used", a.ID)
	}
	return RedeemResult{Redemption: first, Replayed: !isOwn}, nil
}

// SecretHash is the SHA-256 of a client's secret. Secrets are long and random, so a slow hash would protect nothing.
type SecretHash [32]byte

// Client is a program or a person that may obtain tokens.
type Client struct {
	ID          string
	Name        string
	Secret      SecretHash
	Scopes      api.Scopes
	SandboxOnly bool
	NamesActors bool // it may say who sits at it
	Disabled    bool
	CreatedAt   time.Time
	SecretAt    time.Time   // when the secret was made; zero if with the client
	OldSecrets  []OldSecret // that a rotation has kept, also those that have ended since
	ExpiresAt   time.Time   // no token is valid from then on; zero is never
	LastTokenAt time.Time   // up to TokenNoteInterval behind; zero is never
}

// OldSecret is a former secret of a client, which gets tokens until it ends.
type OldSecret struct {
	Secret SecretHash `json:"secret"`
	Until  time.Time  `json:"until"`
}

// TokenNoteInterval is how often it is noted, at most, that a client has got a token.
const TokenNoteInterval = time.Hour

// Rotation is a change of a client that replaces its secret. Unless keepOld is zero, the replaced one works until then,
// and those that were kept before work until their own ends. Otherwise, and for a disabled client, only the new one
// works.
func Rotation(secret SecretHash, keepOld, at time.Time) func(*Client) (action string) {
	return func(c *Client) string {
		var kept []OldSecret
		if !keepOld.IsZero() && !c.Disabled {
			for _, old := range c.OldSecrets {
				if at.Before(old.Until) {
					kept = append(kept, old)
				}
			}
			kept = append(kept, OldSecret{c.Secret, keepOld.UTC().Truncate(time.Microsecond)})
		}
		c.Secret, c.SecretAt, c.OldSecrets = secret, at, kept
		return ActionRotateSecret
	}
}

// DropOldSecrets is a change of a client that ends its old secrets.
func DropOldSecrets(c *Client) (action string) {
	if len(c.OldSecrets) == 0 {
		return ""
	}
	c.OldSecrets = nil
	return ActionDropOldSecret
}

// OldSecretUntil returns when the last of the old secrets ends, or ended; zero if there is none.
func (c Client) OldSecretUntil() (until time.Time) {
	for _, old := range c.OldSecrets {
		if old.Until.After(until) {
			until = old.Until
		}
	}
	return until
}

// Refusal says why the client gets no token and has no valid one at the time, such as "is disabled", or returns "".
func (c Client) Refusal(at time.Time) string {
	switch {
	case c.Disabled:
		return "is disabled"
	case !c.ExpiresAt.IsZero() && !at.Before(c.ExpiresAt):
		return "expired at " + c.ExpiresAt.UTC().Format(time.RFC3339)
	}
	return ""
}

// ClientChange is an update of a client. A nil field stays as it is.
type ClientChange struct {
	Name        *string
	Scopes      api.Scopes
	NamesActors *bool
	ExpiresAt   *time.Time // zero is never
}

// Apply returns the client with the change.
func (change ClientChange) Apply(c Client) Client {
	if change.Name != nil {
		c.Name = *change.Name
	}
	if change.Scopes != nil {
		c.Scopes = change.Scopes
	}
	if change.NamesActors != nil {
		c.NamesActors = *change.NamesActors
	}
	if change.ExpiresAt != nil {
		c.ExpiresAt = change.ExpiresAt.UTC().Truncate(time.Microsecond)
	}
	return c
}

// SigningKey signs tokens from CreatedAt until there is a newer key, and verifies them until ExpiresAt.
type SigningKey struct {
	ID        string
	Secret    []byte
	CreatedAt time.Time
	ExpiresAt time.Time // zero while there is no newer key
}

// Actor is who did something: the operator at the server's command line, or a client by its id, and perhaps who sat at
// that client.
type Actor string

// Operator is a person at the server's own command line whose account is unknown.
const Operator Actor = "operator"

// OperatorActor is a person at the server's own command line. If there are several accounts, each used su or sudo to
// become the one before.
func OperatorActor(accounts ...string) Actor {
	return Operator + Actor("/"+strings.Join(accounts, "/"))
}

// Service is the service itself, such as when a redemption expires.
const Service Actor = "service"

// ClientActor is a client that acts through the API: "client/ID", or "client/ID/NAME" if the client says who sits at
// it. A name may have slashes; an id has none.
func ClientActor(id, name string) Actor {
	if name == "" {
		return Actor(clientPrefix + id)
	}
	return Actor(clientPrefix + id + "/" + name)
}

// Client reverses ClientActor.
func (a Actor) Client() (id, name string, isClient bool) {
	rest, isClient := strings.CutPrefix(string(a), clientPrefix)
	if !isClient {
		return "", "", false
	}
	id, name, _ = strings.Cut(rest, "/")
	return id, name, true
}

// OrNull returns nil for an empty text, and otherwise the text.
func OrNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// AuditEntry is one thing that was done. Before and After are the record as JSON, null where there was or is none;
// they never hold a secret or a hash of one. Those of an update of a listing or a perk have only the fields that it
// changed, see audit_changes.go.
type AuditEntry struct {
	At      time.Time       `json:"at"`
	Actor   Actor           `json:"actor"`
	Action  string          `json:"action"`  // such as "property.update"
	Subject string          `json:"subject"` // such as "property/42"
	Before  json.RawMessage `json:"before"`
	After   json.RawMessage `json:"after"`
	// identifies it among the entries; 0 for a redemption made, which its subject identifies
	Number int64      `json:"-"`
	Place  AuditPlace `json:"-"` // after the entry; only AuditBatch has it
}

// The actions of the audit log.
const (
	ActionRedeem           = "redemption.create"
	ActionApprove          = "redemption.approve"
	ActionReject           = "redemption.reject"
	ActionVoid             = "redemption.void"
	ActionCreateUser       = "user.create"
	ActionCreatePerk       = "perk.create"
	ActionUpdatePerk       = "perk.update"
	ActionChangePerkStock  = "perk.stock"
	ActionCreateProperty   = "property.create"
	ActionUpdateProperty   = "property.update"
	ActionDeleteProperty   = "property.delete"
	ActionRestoreProperty  = "property.restore"
	ActionImportProperty   = "property.import" // one of those of ActionImportProperties
	ActionCreateClient     = "client.create"
	ActionRotateSecret     = "client.rotate-secret"
	ActionDropOldSecret    = "client.drop-old-secret"
	ActionDisableClient    = "client.disable"
	ActionEnableClient     = "client.enable"
	ActionUpdateClient     = "client.update"
	ActionRotateSigningKey = "key.rotate"
	ActionDropSigningKey   = "key.drop"
	ActionCreateWebhook    = "webhook.create"
	ActionUpdateWebhook    = "webhook.update"
	ActionRotateWebhook    = "webhook.rotate-secret"
	ActionDisableWebhook   = "webhook.disable" // by the service
	ActionDeleteWebhook    = "webhook.delete"
	ActionResetSandbox     = "sandbox.reset"
	ActionImportPerks      = "perks.import"
	ActionImportCategories = "categories.import"
	ActionImportUsers      = "users.import"
	ActionImportProperties = "properties.import"
	ActionRestoreDatabase  = "database.restore"
	ActionArchiveAudit     = "audit.archive"
)

// Eligibility is the state of a perk and a user that decides whether the user can redeem the perk.
type Eligibility struct {
	ValidFrom, ValidTo *time.Time
	Approval           Approval
	HoldFor            *api.Hold
	SoldOut            bool
	UserKnown          bool
	UserHasPerk        bool // in a live redemption
}

// Refusal returns why the attempt is refused, or nil. Times are compared in microseconds, as they are stored.
func (e Eligibility) Refusal(attempt RedeemAttempt) error {
	at := attempt.At.Truncate(time.Microsecond)
	switch {
	case !e.UserKnown && !attempt.CreateUser:
		return UserNotFound(attempt.UserID)
	case e.UserHasPerk:
		return AlreadyRedeemed(attempt.PerkID, attempt.UserID)
	case e.ValidFrom != nil && at.Before(*e.ValidFrom):
		return PerkNotStarted(attempt.PerkID, *e.ValidFrom)
	case e.ValidTo != nil && !at.Before(*e.ValidTo):
		return PerkExpired(attempt.PerkID, *e.ValidTo)
	case e.SoldOut:
		return SoldOut(attempt.PerkID)
	}
	return nil
}

// Status returns the status of a redemption that is not refused.
func (e Eligibility) Status() api.RedemptionStatus {
	if e.Approval == ApprovalManual {
		return api.StatusPending
	}
	return api.StatusApproved
}

// Redemption returns the redemption that an attempt makes if it is not refused.
func (e Eligibility) Redemption(attempt RedeemAttempt) api.Redemption {
	made := api.Redemption{
		ID: attempt.ID, PerkID: attempt.PerkID, UserID: attempt.UserID,
		RedeemedAt: attempt.At.UTC().Truncate(time.Microsecond),
		Status:     e.Status(), Metadata: attempt.Metadata,
	}
	if len(made.Metadata) == 0 {
		made.Metadata = json.RawMessage(`{}`)
	}
	return made
}

// ExpiresAt returns when the redemption that an attempt makes expires if nobody has decided it; nil for never.
func (e Eligibility) ExpiresAt(made api.Redemption) *time.Time {
	if e.HoldFor == nil || made.Status != api.StatusPending {
		return nil
	}
	at := made.RedeemedAt.Add(e.HoldFor.Duration())
	return &at
}
