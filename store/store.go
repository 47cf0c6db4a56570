// Package store defines what the server needs of a database: the Store interface, its queries and records, and the
// rules that drivers share (folding text, splitting words, the grid of positions).
//
// It also holds the statements that both databases understand. Dialect says where they differ. Connections,
// transactions, retries and the SQL of one database stay in its driver. Nothing here knows HTTP.
package store

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"example.com/perks/api"
)

// Store is one database. Every method is safe for use by many goroutines, and by many processes on one database.
//
// An error for the caller is an *api.Error, made by the constructors of this package. Any other error is a fault of the
// database. A write that returned nil is durable. If the outcome of a write is unknown, the error is always
// Unavailable. Times are stored in microseconds.
type Store interface {
	Catalog
	Perks
	Redemptions
	Properties
	Credentials
	Webhooks
	Importer
	Exporter
	Sandbox

	// Ready returns nil only if the database commits a write now.
	Ready(ctx context.Context) error
	// Position returns a position that includes all writes that have returned. It is "" if no standby is read.
	Position(ctx context.Context) (Position, error)
	// Stats returns the state of the connections and of the queue of writes. It does not block.
	Stats() Stats
	// Close waits for running writes, then closes the database.
	Close() error
}

// Catalog is what a partner browses.
type Catalog interface {
	// ListPerks returns one page of the matching perks. The error is UserNotFound if AvailableTo is unknown, unless
	// AnyUser is set.
	ListPerks(ctx context.Context, query PerkQuery) (List[api.Perk], error)
	// Perk returns one perk, whatever its dates and stock, or PerkNotFound.
	Perk(ctx context.Context, id string) (api.Perk, error)
	// ListUsers returns one page of the users with the prefix, in the order of their ids by code point. At most
	// MaxCounted are counted.
	ListUsers(ctx context.Context, query UserQuery) (List[User], error)
	// Categories returns all categories in the order of their folded names, then ids. Never nil.
	Categories(ctx context.Context) ([]api.Category, error)
}

// Perks is what changes single perks. Changes run one at a time, and not while an import is merged. Each has an entry
// in the audit log.
type Perks interface {
	// CreatePerk adds a perk, with an unknown category. It replays the first reply to the same idempotency key, or
	// returns IdempotencyKeyReused if its fingerprint differs. The error is PerkExists if the id is taken, also in
	// another spelling of a UUID.
	CreatePerk(ctx context.Context, creation PerkCreation) (CreatedPerk, error)
	// PerkRecord returns one perk or PerkNotFound.
	PerkRecord(ctx context.Context, id string) (PerkRecord, error)
	// UpdatePerk is UpdateProperty for a perk, and returns the perk as it is left. The id and the times of a perk
	// cannot be changed. The error is StockBelowHeld for a new stock that is less than is held.
	UpdatePerk(ctx context.Context, id string, by Actor, at time.Time, change func(*PerkRecord) error) (PerkRecord,
		error)
	// PerkStock returns the stock of a perk, or PerkNotFound.
	PerkStock(ctx context.Context, id string) (api.PerkStock, error)
	// ChangePerkStock changes the stock of a perk, once for each idempotency key, whatever is redeemed meanwhile.
	// Errors: PerkNotFound, IdempotencyKeyReused, StockBelowHeld, and those of api.StockChange. Nothing is written if
	// the stock is the same; then a replay of the key returns the stock of that time.
	ChangePerkStock(ctx context.Context, restock PerkRestock) (ChangedStock, error)
	// PerkHistory returns one page of the versions of a perk, newest first in the order of commits. They are those
	// that Perks has made: an import is noticed by the change after it. Errors: PerkNotFound, and ErrNoCursor if After
	// is not of this perk.
	PerkHistory(ctx context.Context, query PerkHistoryQuery) (List[PerkVersion], error)
	// PerkAsOf returns a perk as the last of the changes made at that time or earlier left it. The error has
	// CodeNotFound if there was no perk then, or if the audit log does not say what it was.
	PerkAsOf(ctx context.Context, id string, at time.Time) (PerkRecord, error)
}

// Redemptions is the use of perks by users.
type Redemptions interface {
	// Redeem makes a redemption, or replays the first reply to the same idempotency key. It checks atomically, in this
	// order: the key (IdempotencyKeyReused if its fingerprint differs), the perk (PerkNotFound), the user
	// (UserNotFound, unless CreateUser), that the user has no live redemption of the perk (AlreadyRedeemed), the dates
	// (PerkNotStarted, PerkExpired) and the stock (SoldOut). A refusal changes nothing and does not use up its key.
	// Once begun, the work continues when ctx ends.
	Redeem(ctx context.Context, attempt RedeemAttempt) (RedeemResult, error)
	// Eligibility returns what Redeem would decide by, as it is at one instant, of each pair whose perk there is. Few
	// pairs cost one query.
	Eligibility(ctx context.Context, pairs []api.Pair) (map[api.Pair]Eligibility, error)
	// Redemption returns one redemption or RedemptionNotFound.
	Redemption(ctx context.Context, id string) (api.RedemptionRecord, error)
	// ListRedemptions returns one page of the matching redemptions, or UserNotFound if UserID is unknown, unless
	// AnyUser is set.
	ListRedemptions(ctx context.Context, query RedemptionQuery) (List[api.RedemptionRecord], error)
	// ReportRedemptions counts the redemptions that were made from Since until before Until, as they are at one
	// instant. It reads at most for Within; then the error is ReportTooLong.
	ReportRedemptions(ctx context.Context, query ReportQuery) (api.Report, error)
	// DecideRedemption approves or rejects a pending redemption, or voids an approved one. One that is rejected or
	// voided returns its unit to the stock, and the user can redeem again. The same decision again changes nothing.
	// Errors: RedemptionNotFound, RedemptionDecided, RedemptionExpired, and those of the decision's check.
	DecideRedemption(ctx context.Context, id string, decision Decision, by Actor, at time.Time) (api.RedemptionRecord,
		error)
	// ExpireRedemptions rejects the pending redemptions that nobody has decided by their ExpiresAt, as of that time,
	// and returns when the next one expires, or nil. Until then they are listed and counted as pending; Redeem and
	// DecideRedemption regard them as rejected.
	ExpireRedemptions(ctx context.Context, at time.Time) (expired int, next *time.Time, err error)
	// IndexMetadata indexes the metadata of some redemptions that cannot be found by the keys yet. It goes on where it
	// ended, in any process, and returns how much is indexed; 100 if no redemption is left.
	IndexMetadata(ctx context.Context, keys []string) (percent int, err error)
	// RecordRefused adds refused redemptions.
	RecordRefused(ctx context.Context, refused []Refused) error
	// ListRefused returns one page of the matching refused redemptions. At most MaxCounted are counted.
	ListRefused(ctx context.Context, query RefusedQuery) (List[Refused], error)
	// PurgeRefused deletes the redemptions that were refused before the instant and returns their number.
	PurgeRefused(ctx context.Context, before time.Time) (int64, error)
	// PurgeIdempotencyKeys deletes the keys first used before the instant and returns their number.
	PurgeIdempotencyKeys(ctx context.Context, before time.Time) (int64, error)
}

// Properties is the rental listings.
type Properties interface {
	// ListProperties returns one page of the matching listings.
	ListProperties(ctx context.Context, query PropertyQuery) (List[api.Property], error)
	// CreateProperty adds a listing under a new id, higher than that of every other listing, also of deleted ones. It
	// replays the first reply to the same idempotency key, or returns IdempotencyKeyReused if its fingerprint differs.
	CreateProperty(ctx context.Context, creation PropertyCreation) (CreatedProperty, error)
	// Property returns one listing or PropertyNotFound.
	Property(ctx context.Context, id int64) (PropertyRecord, error)
	// UpdateProperty locks the record, calls change with it, and stores the result with an audit entry. An error of
	// change is returned unchanged, and nothing is written; neither is a record that change left equal. change may be
	// called more than once, even after UpdateProperty has returned Unavailable. It must not call the store.
	UpdateProperty(ctx context.Context, id int64, by Actor, at time.Time, change func(*PropertyRecord) error) error
	// DeleteProperty deletes a listing if check returns nil for the current record, which stays complete in the audit
	// log.
	DeleteProperty(ctx context.Context, id int64, by Actor, at time.Time, check func(PropertyRecord) error) error
	// RestoreProperty takes a listing back to a version, or restores it as it was when it was deleted if none is named.
	// The id and the owner stay those of the listing, or of the deleted one. Nothing is written if it is equal already.
	// Errors: PropertyNotFound, those of Check, PropertyNotDeleted if no version is named and it is not deleted,
	// IdempotencyKeyReused, and those of a version that is not known, with CodeNotFound.
	RestoreProperty(ctx context.Context, restoration PropertyRestoration) (RestoredProperty, error)
	// PropertyHistory returns one page of the versions of a listing, deleted or not, newest first in the order of
	// commits. They are those that the audit log has. Errors: PropertyNotFound, those of Check, and ErrNoCursor if
	// After is not of this listing.
	PropertyHistory(ctx context.Context, query PropertyHistoryQuery) (List[PropertyVersion], error)
	// PropertyAsOf returns a listing as the last of the changes made at that time or earlier left it. check gets the
	// owner as it is now, or was when the listing was deleted, and refuses with its error. If there was no listing
	// then, or the audit log does not say what it was, the error has CodeNotFound.
	PropertyAsOf(ctx context.Context, id int64, at time.Time, check func(owner string) error) (PropertyRecord, error)
}

// Credentials is the clients of the service, and the keys that sign their tokens.
type Credentials interface {
	// CreateClient adds a client, or returns ClientExists.
	CreateClient(ctx context.Context, client Client, by Actor) error
	// Client returns one client, disabled or not, or ClientNotFound.
	Client(ctx context.Context, id string) (Client, error)
	// Clients returns all clients, ordered by creation, then id.
	Clients(ctx context.Context) ([]Client, error)
	// ChangeClient stores the client as change leaves it, with an entry of the action that it returns, or writes
	// nothing if that is "". It returns the changed client, or ClientNotFound. change may be called more than once, and
	// must not call the store.
	ChangeClient(ctx context.Context, id string, by Actor, at time.Time, change func(*Client) (action string)) (Client,
		error)
	// SetClientDisabled disables or enables a client, or returns ClientNotFound. Disabling ends its old secrets.
	SetClientDisabled(ctx context.Context, id string, disabled bool, by Actor, at time.Time) error
	// UpdateClient returns the changed client, or ClientNotFound.
	UpdateClient(ctx context.Context, id string, change ClientChange, by Actor, at time.Time) (Client, error)
	// NoteTokens notes when clients got tokens, of each at most once in TokenNoteInterval. Unknown ones are left out.
	NoteTokens(ctx context.Context, issued map[string]time.Time) error
	// SigningKeys returns the keys that have not expired at the instant, newest first.
	SigningKeys(ctx context.Context, at time.Time) ([]SigningKey, error)
	// EnsureSigningKey atomically adds the key if all others have expired: of several replicas that start at once, one
	// wins.
	EnsureSigningKey(ctx context.Context, key SigningKey) error
	// RotateSigningKey adds the key. All older ones expire at oldExpire, unless they expire before.
	RotateSigningKey(ctx context.Context, key SigningKey, oldExpire time.Time, by Actor) error
	// DropSigningKey deletes a key, or returns SigningKeyNotFound. If no key without expiry is left, it adds the
	// successor in the same transaction, and returns true.
	DropSigningKey(ctx context.Context, id string, successor SigningKey, by Actor) (succeeded bool, err error)
	// PurgeSigningKeys deletes the keys that expired before the instant and returns their number.
	PurgeSigningKeys(ctx context.Context, before time.Time) (int64, error)
	AuditLog
}

// Webhooks is where events are sent, and how far they have been. Each belongs to one client, whose id the methods take:
// others do not find it. Changes have entries in the audit log.
type Webhooks interface {
	// CreateWebhook adds a webhook, which is enabled. It returns that of the same idempotency key as it is now, or
	// IdempotencyKeyReused if its fingerprint differs. The error has CodeConflict if the client has api.MaxWebhooks, or
	// if that of the key was deleted.
	CreateWebhook(ctx context.Context, creation WebhookCreation) (CreatedWebhook, error)
	// Webhook returns one webhook or WebhookNotFound.
	Webhook(ctx context.Context, clientID, id string) (Webhook, error)
	// ListWebhooks returns one page, the oldest first.
	ListWebhooks(ctx context.Context, clientID string, window Window) (List[Webhook], error)
	// UpdateWebhook stores the webhook as change leaves it, with an entry of the action that it returns, or writes
	// nothing if that is "". When it enables it, what failed is due at once, as if it had never failed. change may be
	// called more than once, and must not call the store. The error is WebhookNotFound, or that of change.
	UpdateWebhook(ctx context.Context, clientID, id string, by Actor, at time.Time,
		change func(*Webhook) (action string, err error)) (Webhook, error)
	// DeleteWebhook deletes a webhook with all that is known of it, or returns WebhookNotFound.
	DeleteWebhook(ctx context.Context, clientID, id string, by Actor, at time.Time) error

	// AddWebhookDeliveries keeps what was sent. Those whose id is known are left out.
	AddWebhookDeliveries(ctx context.Context, sent []api.WebhookDelivery) error
	// ListWebhookDeliveries returns one page of what was sent. At most MaxCounted are counted.
	ListWebhookDeliveries(ctx context.Context, query WebhookQuery) (List[api.WebhookDelivery], error)
	// PurgeWebhookDeliveries deletes what was sent before the instant, and of each webhook what is more than
	// api.MaxWebhookDeliveries, and returns their number.
	PurgeWebhookDeliveries(ctx context.Context, before time.Time) (int64, error)

	// HasWebhooks tells whether any webhook is enabled.
	HasWebhooks(ctx context.Context) (bool, error)
	// SyncWebhooks keeps what a server tells of its deliveries and takes webhooks for it, in one transaction. The
	// progress of a webhook that the server does not hold is dropped.
	SyncWebhooks(ctx context.Context, sync WebhookSync) (WebhookState, error)
	// HeldWebhook returns any client's webhook, and its failures in their order, without their cursors.
	HeldWebhook(ctx context.Context, id string) (Webhook, []WebhookFailure, error)
	// WebhookFailureCursor returns the cursor of a failure, by its number.
	WebhookFailureCursor(ctx context.Context, id string, number int64) (string, error)
	// AuditEntry returns one entry as NextAudit does, but without its place. found is false if it was archived, or if
	// its redemption was reset with the sandbox.
	AuditEntry(ctx context.Context, key AuditKey) (entry AuditEntry, found bool, err error)
}

// AuditLog is who did what. New redemptions are entries too, derived from the redemptions.
type AuditLog interface {
	// Audit returns the matching entries, oldest first. What an import made of each listing, with ActionImportProperty,
	// is part of a listing's entries, and otherwise returned only if the query has the action: the entry of the import
	// stands for it.
	Audit(ctx context.Context, query AuditQuery) iter.Seq2[AuditEntry, error]
	// AuditSince is Audit for a reader that polls. It returns the entries committed after the position, and advances
	// the position once the caller has read all of them without an error. Repeated calls return every entry exactly
	// once, however late it is committed. Entries of one call are oldest first. Last applies only at the position "".
	// After that, those of ActionImportProperty are returned only of one listing.
	AuditSince(ctx context.Context, query AuditQuery, position *AuditPosition) iter.Seq2[AuditEntry, error]
	// NextAudit returns the entries committed after a place and not after upTo, which is the current end if it is "".
	// Of more than most it returns the first ones, and the place after each is the same for everybody; only listings of
	// updates may have changed when they are read again. At the start it returns no entries, and where upTo is. The
	// error of a position that the database does not have is AuditPositionUnknown, and that of one before an archived
	// entry AuditPositionArchived.
	NextAudit(ctx context.Context, after AuditPlace, upTo AuditPosition, most AuditBound) (AuditBatch, error)
	// CursorKey returns 32 random bytes that belong to the database, and to its backups, for ever.
	CursorKey(ctx context.Context) ([]byte, error)
	// RecentAudit returns the newest entries that the query wants, oldest first, and where the log ends. It looks at a
	// thousand of its actions at most.
	RecentAudit(ctx context.Context, query RecentAudit) (AuditBatch, error)
	// MovableAudit returns the entries before the instant that can be moved to a file, oldest first: all but
	// redemptions, the last deletion of each listing that does not live, and what positions and archives follow from.
	MovableAudit(ctx context.Context, before time.Time) iter.Seq2[AuditEntry, error]
	// RecordArchive adds an entry for a file with entries, unless it has one.
	RecordArchive(ctx context.Context, archived Archived, by Actor, at time.Time) error
	// RemoveArchived removes entries that are in a file, some in each transaction, and returns how many were left. A
	// position before one of them is refused from then on. It fails if an entry is not as the file has it.
	RemoveArchived(ctx context.Context, entries []AuditEntry) (removed int64, err error)
	// AuditRestore adds an entry for a database that was restored from a backup.
	AuditRestore(ctx context.Context, restored Restored, by Actor, at time.Time) error
}

// Importer takes records in bulk. Each method is all or nothing: after an error from rows, or from the database,
// nothing has changed. A record with a known id updates that record, except in the fields that its Row marks as absent.
// Equal records are not written. If several records have the same id, the last one wins. Rows may arrive slowly without
// blocking other writes. The audit log gets one entry with the number of records, unless it is 0.
//
// The import fails with a *RowsRefused if a new record lacks required fields, or a record breaks a rule together with
// the fields that it keeps.
type Importer interface {
	// ImportPerks creates unknown categories. A record without an id gets one from newID. If a record lacks CreatedAt
	// or UpdatedAt, an update keeps the first and sets the second to at; a new perk gets at for both. A known perk
	// whose stock, approval or hold changes has its own entry in the audit log.
	ImportPerks(ctx context.Context, rows iter.Seq2[PerkRecord, error], newID func() string, by Actor,
		at time.Time) (Imported, error)
	ImportCategories(ctx context.Context, rows iter.Seq2[api.Category, error], by Actor, at time.Time) (Imported, error)
	ImportUsers(ctx context.Context, rows iter.Seq2[User, error], by Actor, at time.Time) (Imported, error)
	// ImportProperties returns ClientNotFound for an unknown owner. Each listing that it creates or changes has its own
	// entry in the audit log, which followers do not get.
	ImportProperties(ctx context.Context, rows iter.Seq2[PropertyRecord, error], by Actor, at time.Time) (Imported,
		error)
}

// Exporter streams whole tables ordered by id, each as a consistent snapshot.
type Exporter interface {
	ExportPerks(ctx context.Context) iter.Seq2[PerkRecord, error]
	ExportCategories(ctx context.Context) iter.Seq2[api.Category, error]
	ExportUsers(ctx context.Context) iter.Seq2[User, error]
	ExportProperties(ctx context.Context) iter.Seq2[PropertyRecord, error]
	// ExportRedemptions filters by status unless it is "".
	ExportRedemptions(ctx context.Context, status api.RedemptionStatus) iter.Seq2[api.RedemptionRecord, error]
}

// Sandbox is the operations of a sandbox database.
type Sandbox interface {
	// Reset atomically deletes all perks, categories, users, redemptions and idempotency keys, and returns how many
	// there were. The audit log stays, and gets an entry. A database with a client, a signing key or a property is not
	// a sandbox: the error is NotASandbox, and nothing changes.
	Reset(ctx context.Context, by Actor, at time.Time) (Emptied, error)
}

// Window is one page of a list.
type Window struct {
	Page    int64 // from 1
	PerPage int   // 1 to api.MaxPerPage
}

// Offset is the number of items before the window. It is capped at math.MaxInt64.
func (w Window) Offset() int64 {
	per := int64(w.PerPage)
	if w.Page-1 > math.MaxInt64/per {
		return math.MaxInt64
	}
	return (w.Page - 1) * per
}

// Fetch says how to read a window: skip some items, take some. From the end of the list they come in reverse.
type Fetch struct {
	FromEnd    bool
	Skip, Take int64
}

// Fetch returns how to read the window of a list of total items from its nearer end. It takes nothing if the window is
// past the end.
func (w Window) Fetch(total int64) Fetch {
	skip := w.Offset()
	if skip >= total {
		return Fetch{}
	}
	take := min(int64(w.PerPage), total-skip)
	if skip > total/2 {
		return Fetch{FromEnd: true, Skip: total - skip - take, Take: take}
	}
	return Fetch{Skip: skip, Take: take}
}

// List is the items of one window, never nil, and the length of the whole list.
type List[T any] struct {
	Items  []T
	Total  int64
	IsMore bool    // than Total, at which counting ended
	Next   *Cursor // after the last item, if there are more

	DistancesKM []float64  // of perks from the query's position; nil without one
	Centre      *api.Point // the middle of the first api.MaxPerPage perks of a city; nil if none has a position
}

// PerkQuery says which perks, in which order, and which page of them. Zero filters match everything, except
// IncludeExpired.
type PerkQuery struct {
	api.PerkFilter        // a perk has expired unless its valid_to is after At
	AvailableTo    string // a user: only perks within their dates, in stock, and without a live redemption by this user
	AnyUser        bool   // AvailableTo may be an unknown user, who has no redemptions
	At             time.Time
	// Sort has fields of api.PerkSortFields; distance only with Near. Folded text is compared by code point, nulls are
	// last in both directions, and ties are ordered by id, in the direction of the last key.
	Sort   []api.SortKey
	Window Window
	After  *Cursor // of a list with the same Sort: the page begins there, and the number of Window's page only counts
}

// OnlyValid tells whether perks that have expired at At are excluded.
func (q PerkQuery) OnlyValid() bool { return !q.IncludeExpired || q.AvailableTo != "" }

// OnlyStarted tells whether perks that have not started at At are excluded.
func (q PerkQuery) OnlyStarted() bool { return q.AvailableTo != "" }

// MaxCounted is how many listings or users are counted, and how many redemptions unless they are one user's: to count a
// million takes longer than to read a page.
const MaxCounted = 200

// PropertyQuery says which listings, in which order, and which page of them.
type PropertyQuery struct {
	api.PropertyFilter        // Own is ignored
	Owner              string // only those of this client, unless it is ""
	// Sort has at most one field of api.PropertySortFields; none is propertyId. Ties are ordered by id, in the same
	// direction.
	Sort   []api.SortKey
	Window Window
	After  *Cursor // as in PerkQuery; CheckPropertyCursor has checked it
}

// RedemptionQuery says which redemptions, in which order, and which page of them.
type RedemptionQuery struct {
	api.RedemptionFilter        // Own is ignored
	ClientID             string // only those that this client made, unless it is ""
	AnyUser              bool   // UserID may be an unknown user, who has no redemptions
	// Sort has fields of api.RedemptionSortFields, and without UserID only redeemed_at: an index serves no other. Ties
	// are ordered by id, in the direction of the last key. A list that is sorted by fields of perks has no Next, and
	// takes no After.
	Sort   []api.SortKey
	Window Window
	After  *Cursor // as in PerkQuery
}

// Decision is a change of a redemption's status.
type Decision struct {
	Status api.RedemptionStatus // approved or rejected, of a pending one; or voided, of an approved one
	Reason string               // "" without one
	// Check refuses the decision with its error, unless it is nil. It gets the redemption as it is, which nobody else
	// can change meanwhile. It may be called more than once, as the change of UpdateProperty may.
	Check func(api.RedemptionRecord) error
}

// Circle is an area on the earth. Perks without a position are in no circle.
type Circle api.Circle

// Stats is the state of a database's connections and of its queue of writes, for monitoring.
type Stats struct {
	Pools    []PoolStats // always the same ones in the same order
	Standbys []StandbyStats
	Queue    QueueStats
	Commits  DurationStats // of writes
	// Waiting is a statement that has waited for long; nil without one, and on SQLite.
	Waiting *Wait
	// LogBytes is the size of SQLite's write-ahead log. It is 0 on PostgreSQL.
	LogBytes int64
	// Disk is the file system of a SQLite database; nil on PostgreSQL, and where it is not known.
	Disk *DiskStats
}

// ReadConnections is how many connections reads can have: those of the database, and of the standbys that are read.
func (s Stats) ReadConnections() (connections int) {
	isRead := map[string]bool{"reads": true}
	for _, one := range s.Standbys {
		isRead["standby "+one.Name] = one.IsRead
	}
	for _, pool := range s.Pools {
		if isRead[pool.Name] {
			connections += pool.Max
		}
	}
	return connections
}

// MaxDiskForecast is the most that DiskStats.Lasts says.
const MaxDiskForecast = 100 * 365 * 24 * time.Hour

// DiskStats is the space for a database.
type DiskStats struct {
	Free  int64         // bytes
	Lasts time.Duration // until it is full, at the rate of the last hour; 0 if it is not filling
}

// StandbyStats is a server that lists may be read from.
type StandbyStats struct {
	Name   string        // HOST:PORT
	IsRead bool          // it is up, a standby, and close enough to the primary
	Behind time.Duration // it has all that was written before; meaningless unless it is read
}

// PoolStats is a pool of connections.
type PoolStats struct {
	Name        string        // what it is for: "reads", "writes", or "standby HOST:PORT"
	InUse, Idle int           // connections that are open
	Max         int           // how many there can be
	Waits       int64         // total number of times that a caller waited for a connection
	Waited      time.Duration // total time that callers waited
	// Statements is from the start of a statement, or of several sent together, to the end of the result; PostgreSQL
	// only.
	Statements DurationStats
}

// QueueStats is the queue of writes that share a commit: all writes, or only redemptions where only these are queued.
type QueueStats struct {
	Waiting  int // writes in the queue, or in the running transaction
	Capacity int // of the queue; further callers block
	Batches  BatchStats
}

// durationBounds are the upper bounds of DurationStats. The last is how long a request may take.
var durationBounds = [...]time.Duration{
	500 * time.Microsecond, time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond,
	25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond,
	500 * time.Millisecond, time.Second, 2500 * time.Millisecond, 5 * time.Second, 15 * time.Second,
}

// DurationBounds returns the upper bounds of DurationStats.UpTo.
func DurationBounds() []time.Duration { return slices.Clone(durationBounds[:]) }

// DurationStats counts pieces of work by how long each took.
type DurationStats struct {
	Count uint64
	Total time.Duration
	UpTo  []uint64 // those of at most DurationBounds()[i]
}

// DurationMeter counts for DurationStats. The zero value is ready to use. It is safe for concurrent use.
type DurationMeter struct {
	counts [len(durationBounds) + 1]atomic.Uint64
	total  atomic.Int64
}

// Observe counts one piece of work.
func (m *DurationMeter) Observe(took time.Duration) {
	step, _ := slices.BinarySearch(durationBounds[:], took)
	m.counts[step].Add(1)
	m.total.Add(int64(took))
}

// Stats returns the counts.
func (m *DurationMeter) Stats() DurationStats {
	s := DurationStats{Total: time.Duration(m.total.Load())}
	for i := range m.counts {
		s.Count += m.counts[i].Load()
		s.UpTo = append(s.UpTo, s.Count)
	}
	s.UpTo = s.UpTo[:len(durationBounds)]
	return s
}

// BatchStats counts transactions by how many writes each replied to, refusals included.
type BatchStats struct {
	Finished uint64   // transactions
	Writes   uint64   // in all of them
	UpTo     []uint64 // transactions of at most BatchSizes()[i] writes
	Failed   uint64   // further transactions, which failed or whose outcome is unknown
}

// batchSizes are the upper bounds of the histogram. Neither driver makes larger batches.
var batchSizes = [...]int{1, 2, 4, 8, 16, 32, 64, 128}

// BatchSizes returns the upper bounds of BatchStats.UpTo.
func BatchSizes() []int { return slices.Clone(batchSizes[:]) }

// BatchMeter counts batches for BatchStats. The zero value is ready to use. It is safe for concurrent use.
type BatchMeter struct {
	sizes  [len(batchSizes)]atomic.Uint64 // transactions by size
	writes atomic.Uint64
	failed atomic.Uint64
}

// Finished counts a transaction, with the number of its writes.
func (m *BatchMeter) Finished(writes int) {
	step, _ := slices.BinarySearch(batchSizes[:], writes)
	m.sizes[min(step, len(batchSizes)-1)].Add(1)
	m.writes.Add(uint64(writes)) // #nosec G115 -- a number of writes is not negative
}

// Failed counts a transaction that failed, or whose outcome is unknown.
func (m *BatchMeter) Failed() { m.failed.Add(1) }

// Stats returns the counts.
func (m *BatchMeter) Stats() BatchStats {
	s := BatchStats{Writes: m.writes.Load(), Failed: m.failed.Load()}
	for i := range m.sizes {
		s.Finished += m.sizes[i].Load()
		s.UpTo = append(s.UpTo, s.Finished)
	}
	return s
}

type dequeuedKey struct{}

// OnDequeued returns a context that makes a write call came when it leaves the queue: it has a connection, or is part
// of a transaction. came may be called from another goroutine, once per try, even after the write was abandoned.
func OnDequeued(ctx context.Context, came func()) context.Context {
	return context.WithValue(ctx, dequeuedKey{}, came)
}

// Dequeued is called by drivers when a write leaves the queue.
func Dequeued(ctx context.Context) {
	if came, ok := ctx.Value(dequeuedKey{}).(func()); ok {
		came()
	}
}

// LiveRecords counts the records that a live database has and a sandbox never: clients, signing keys and properties.
type LiveRecords struct{ Clients, SigningKeys, Properties int64 }

// Any tells whether there are any.
func (l LiveRecords) Any() bool { return l != LiveRecords{} }

// String is for example "1 client and 2 signing keys".
func (l LiveRecords) String() string {
	return listed([]counted{
		{l.Clients, "client", "clients"}, {l.SigningKeys, "signing key", "signing keys"},
		{l.Properties, "property", "properties"},
	})
}

// Emptied is how many records of each kind a Reset deleted.
type Emptied struct {
	Perks           int64 `json:"perks"`
	Categories      int64 `json:"categories"`
	Users           int64 `json:"users"`
	Redemptions     int64 `json:"redemptions"`
	IdempotencyKeys int64 `json:"idempotency_keys"`
}

// All is the sum.
func (e Emptied) All() int64 {
	return e.Perks + e.Categories + e.Users + e.Redemptions + e.IdempotencyKeys
}

// String is for example "2 perks and 1 user", or "nothing".
func (e Emptied) String() string {
	return listed([]counted{
		{e.Perks, "perk", "perks"}, {e.Categories, "category", "categories"}, {e.Users, "user", "users"},
		{e.Redemptions, "redemption", "redemptions"}, {e.IdempotencyKeys, "idempotency key", "idempotency keys"},
	})
}

type counted struct {
	n         int64
	one, many string
}

// listed joins the counts above zero as a person would.
func listed(counts []counted) string {
	var parts []string
	for _, c := range counts {
		switch {
		case c.n == 1:
			parts = append(parts, "1 "+c.one)
		case c.n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.many))
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	last := len(parts) - 1
	if last == 0 {
		return parts[0]
	}
	return strings.Join(parts[:last], ", ") + " and " + parts[last]
}

// Position says how far the writes of a database have come, as a text of 24 hexadecimal digits: of a database's writes,
// the later one has the higher text. It is "" before all of them.
type Position string

// AfterAll is above every position, for a reader whose last position is not known: only the primary certainly has all
// of its writes.
const AfterAll Position = "~"

// MaxBehind is how far behind a standby may be while it is read. It has every write that is older.
const MaxBehind = 5 * time.Second

const positionDigits = 24

// ParsePosition reports whether the text is one that Store.Position may have returned.
func ParsePosition(text string) (Position, bool) {
	for _, c := range []byte(text) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return "", false
		}
	}
	return Position(text), len(text) == positionDigits
}

type behindKey struct{}

// MayBeBehind lets lists, reports and single perks under the context come from a standby that has everything up to the
// position, and that is at most MaxBehind behind.
func MayBeBehind(ctx context.Context, after Position) context.Context {
	return context.WithValue(ctx, behindKey{}, after)
}

// notBehind takes MayBeBehind back. Positions of the audit log are those of the primary, and only that one knows what
// a listing was a moment ago.
func notBehind(ctx context.Context) context.Context { return context.WithValue(ctx, behindKey{}, nil) }

// Behind returns the position of MayBeBehind. Without one, only the latest data will do.
func Behind(ctx context.Context) (after Position, allowed bool) {
	after, allowed = ctx.Value(behindKey{}).(Position)
	return after, allowed
}
