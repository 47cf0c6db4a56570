// Package store is what the server needs of a database, said without a database: the Store interface, the queries and
// records that cross it, and the rules that every driver keeps in the same way (folding text, splitting words, placing
// points on the grid).
//
// It knows nothing of HTTP, and nothing in it is shaped by one database: SQL, connections, transactions and retries stay
// in the drivers.
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
// A failure that the caller should be told about is an *api.Error, built by the constructors of this package so that all
// drivers say the same; anything else is a fault of the database. A write that returned nil is durable. When a write's
// outcome cannot be known the error is Unavailable, never another one. Times are kept to the microsecond.
type Store interface {
	Catalog
	Redemptions
	Properties
	Credentials
	Importer
	Exporter
	Sandbox

	// Ready returns nil only if the database accepts and commits a write now.
	Ready(ctx context.Context) error
	// Stats returns how the database's connections and its queue of writes fare now. It waits for nothing.
	Stats() Stats
	// Close waits for writes under way and releases the database.
	Close() error
}

// Catalog is what a partner browses.
type Catalog interface {
	// ListPerks returns one page of the perks that match; PerkQuery says how. With AvailableTo set to a user that is not
	// known the error is UserNotFound, unless the query takes any user.
	ListPerks(ctx context.Context, query PerkQuery) (List[api.Perk], error)
	// Perk returns one perk, whatever its dates and stock, or PerkNotFound.
	Perk(ctx context.Context, id string) (api.Perk, error)
	// Categories returns all categories in the order of their folded names, then ids. Never nil.
	Categories(ctx context.Context) ([]api.Category, error)
}

// Redemptions is the use of perks by users.
type Redemptions interface {
	// Redeem makes a redemption, or replays the first answer to the same idempotency key. It checks, in this order and as
	// one atomic step: the key (IdempotencyKeyReused when its fingerprint differs), the perk (PerkNotFound), the user
	// (UserNotFound, or CreateUser makes it with the redemption), that the user has no live redemption of the perk (AlreadyRedeemed), the dates (PerkNotStarted,
	// PerkExpired) and the stock (SoldOut). A refusal leaves no trace: its key is free again, because it changed nothing
	// and a later attempt may rightly fare otherwise. The work goes on when ctx ends after it has begun.
	Redeem(ctx context.Context, attempt RedeemAttempt) (RedeemResult, error)
	// ListRedemptions returns one page of a user's redemptions in every status, or UserNotFound unless the query takes any
	// user.
	ListRedemptions(ctx context.Context, query RedemptionQuery) (List[api.Redemption], error)
	// DecideRedemption turns a pending redemption into approved or rejected; rejected gives stock and the user's place back.
	// Errors: RedemptionNotFound, RedemptionDecided.
	DecideRedemption(ctx context.Context, id string, status api.RedemptionStatus, by Actor, at time.Time) (api.Redemption, error)
	// PurgeIdempotencyKeys forgets the keys first used before the instant and returns how many there were.
	PurgeIdempotencyKeys(ctx context.Context, before time.Time) (int64, error)
}

// Properties is the rental listings.
type Properties interface {
	// Property returns one listing or PropertyNotFound.
	Property(ctx context.Context, id int64) (PropertyRecord, error)
	// UpdateProperty calls change with the current record while no one else can write it, and stores what change made of
	// it, with an audit entry. An error of change is returned as it is and leaves everything as it was; a record that
	// change left equal is not written. change may be called more than once, and still after a caller who got Unavailable
	// has gone; it must not call the store.
	UpdateProperty(ctx context.Context, id int64, by Actor, at time.Time, change func(*PropertyRecord) error) error
	// DeleteProperty removes a listing if check returns nil for the current record, and keeps it whole in the audit log.
	DeleteProperty(ctx context.Context, id int64, by Actor, at time.Time, check func(PropertyRecord) error) error
	// RestoreProperty brings the last deleted record of that id back. Errors: PropertyNotFound when it was never deleted,
	// PropertyExists when it is there.
	RestoreProperty(ctx context.Context, id int64, by Actor, at time.Time) (PropertyRecord, error)
}

// Credentials is who may call the service, and the keys that their tokens are signed with.
type Credentials interface {
	// CreateClient adds a client, or returns ClientExists.
	CreateClient(ctx context.Context, client Client, by Actor) error
	// Client returns one client, disabled or not, or ClientNotFound.
	Client(ctx context.Context, id string) (Client, error)
	// Clients returns all clients in the order of their creation, then ids.
	Clients(ctx context.Context) ([]Client, error)
	// SetClientSecret replaces the hash of a client's secret, or returns ClientNotFound.
	SetClientSecret(ctx context.Context, id string, hash SecretHash, by Actor, at time.Time) error
	// SetClientDisabled shuts a client out or lets it in again, or returns ClientNotFound.
	SetClientDisabled(ctx context.Context, id string, disabled bool, by Actor, at time.Time) error
	// UpdateClient changes what is named and returns the client as it is then, or ClientNotFound.
	UpdateClient(ctx context.Context, id string, change ClientChange, by Actor, at time.Time) (Client, error)
	// SigningKeys returns the keys that have not expired at the instant, newest first.
	SigningKeys(ctx context.Context, at time.Time) ([]SigningKey, error)
	// EnsureSigningKey adds the key if there is none that has not expired, as one atomic step: of several replicas that
	// start at once, one wins.
	EnsureSigningKey(ctx context.Context, key SigningKey) error
	// RotateSigningKey adds the key and lets all older ones expire at the instant, unless they expire before.
	RotateSigningKey(ctx context.Context, key SigningKey, oldExpire time.Time, by Actor) error
	// DropSigningKey forgets a key, or returns SigningKeyNotFound. If no key is left that does not expire, it adds the
	// successor as one step with that, and tells so.
	DropSigningKey(ctx context.Context, id string, successor SigningKey, by Actor) (succeeded bool, err error)
	// PurgeSigningKeys forgets the keys that expired before the instant and returns how many there were.
	PurgeSigningKeys(ctx context.Context, before time.Time) (int64, error)
	AuditLog
}

// AuditLog is who did what. Redemptions made are entries too, derived from the redemptions.
type AuditLog interface {
	// Audit returns the entries that the query wants, in the order in which they happened.
	Audit(ctx context.Context, query AuditQuery) iter.Seq2[AuditEntry, error]
	// AuditSince is Audit for who comes again and again. It returns the entries that were not there yet at the position, and
	// sets the position behind them when all of them were taken without an error. So read, nothing is left out and nothing
	// comes twice, however late it is committed; the entries of one turn are in the order in which they happened. Last counts
	// only before the position "".
	AuditSince(ctx context.Context, query AuditQuery, position *AuditPosition) iter.Seq2[AuditEntry, error]
	// AuditRestore adds the entry that says of the database that it was restored from a backup.
	AuditRestore(ctx context.Context, restored Restored, by Actor, at time.Time) error
}

// Importer takes records in bulk. Each method is all or nothing: an error from rows, or from the database, leaves
// everything as it was. A record whose id is known updates the one there, in the fields that its Row does not leave open;
// when that leaves the record equal it is not written. What the rows leave open is decided while no one else can change
// it. Rows may be slow to come, and no one else's write waits for them. Of several with one id the last counts. Each method
// returns how many records it took, and the audit log has one entry with that number, unless it is 0.
//
// A new record that lacks fields which it needs, or one that breaks a rule together with what it keeps, makes the import
// fail with a *RowsRefused.
type Importer interface {
	// ImportPerks makes categories that are not known yet. A record without an id gets one from newID; without CreatedAt
	// or UpdatedAt, an update keeps the first and sets the second to at, and a new perk has both at at. Each perk that is
	// known and whose stock or approval becomes another has an entry of its own in the audit log.
	ImportPerks(ctx context.Context, rows iter.Seq2[PerkRecord, error], newID func() string, by Actor, at time.Time) (Imported, error)
	ImportCategories(ctx context.Context, rows iter.Seq2[api.Category, error], by Actor, at time.Time) (Imported, error)
	ImportUsers(ctx context.Context, rows iter.Seq2[User, error], by Actor, at time.Time) (Imported, error)
	// ImportProperties returns ClientNotFound for an owner that is not known.
	ImportProperties(ctx context.Context, rows iter.Seq2[PropertyRecord, error], by Actor, at time.Time) (Imported, error)
}

// Exporter streams whole tables in the order of their ids, each as one consistent snapshot.
type Exporter interface {
	ExportPerks(ctx context.Context) iter.Seq2[PerkRecord, error]
	ExportCategories(ctx context.Context) iter.Seq2[api.Category, error]
	ExportUsers(ctx context.Context) iter.Seq2[User, error]
	ExportProperties(ctx context.Context) iter.Seq2[PropertyRecord, error]
	// ExportRedemptions keeps to one status unless it is "".
	ExportRedemptions(ctx context.Context, status api.RedemptionStatus) iter.Seq2[RedemptionRecord, error]
}

// Sandbox is what a database for trials is asked for.
type Sandbox interface {
	// LiveRecords counts what only a live database has.
	LiveRecords(ctx context.Context) (LiveRecords, error)
	// Reset forgets all perks, categories, users, redemptions and idempotency keys as one atomic step, and tells how many
	// there were. The audit log stays, and says so too. What others do to these records goes before or after it as a whole.
	// A database that has a client, a signing key or a property is not a sandbox: the error is NotASandbox, and nothing is
	// changed.
	Reset(ctx context.Context, by Actor, at time.Time) (Emptied, error)
}

// Window is the part of a list that one page shows.
type Window struct {
	Page    int64 // from 1
	PerPage int   // 1 to api.MaxPerPage
}

// Offset is how many items lie before the window. It does not overflow: a page beyond every list stays beyond.
func (w Window) Offset() int64 {
	per := int64(w.PerPage)
	if w.Page-1 > math.MaxInt64/per {
		return math.MaxInt64
	}
	return (w.Page - 1) * per
}

// Reach is a way to the items of a window: skip some, take some. From the end of the list they come in reverse.
type Reach struct {
	FromEnd    bool
	Skip, Take int64
}

// Reach is the shorter way to the window in a list of that many items. It takes nothing if the window is past the end.
func (w Window) Reach(total int64) Reach {
	skip := w.Offset()
	if skip >= total {
		return Reach{}
	}
	take := min(int64(w.PerPage), total-skip)
	if skip > total/2 {
		return Reach{FromEnd: true, Skip: total - skip - take, Take: take}
	}
	return Reach{Skip: skip, Take: take}
}

// List is the items of one window, never nil, and how many there are in all.
type List[T any] struct {
	Items []T
	Total int64
}

// PerkQuery says which perks, in which order, and which page of them. The zero values of the filters let everything
// through, but for IncludeExpired.
type PerkQuery struct {
	api.PerkFilter        // expired is what has a valid_to that is not after At
	AvailableTo    string // a user: only perks in their dates, in stock, and not held by this user in a live redemption
	AnyUser        bool   // AvailableTo need not be known, and then holds no perk
	At             time.Time
	// Sort has fields of api.PerkSortFields; distance only with Near. Text is compared folded and by code point, nulls
	// come last in both directions, and the id, ascending, decides between equals.
	Sort   []api.SortKey
	Window Window
}

// OnlyValid tells whether perks that are over at At are left out.
func (q PerkQuery) OnlyValid() bool { return !q.IncludeExpired || q.AvailableTo != "" }

// OnlyBegun tells whether perks that have not begun at At are left out.
func (q PerkQuery) OnlyBegun() bool { return q.AvailableTo != "" }

// RedemptionQuery says which user's redemptions, in which order, and which page of them.
type RedemptionQuery struct {
	UserID  string
	AnyUser bool          // the user need not be known, and then has no redemptions
	Sort    []api.SortKey // fields of api.RedemptionSortFields; the id, ascending, decides between equals
	Window  Window
}

// Circle is an area on the earth, with a radius. Perks without a position are in no circle.
type Circle api.Circle

// Stats is how a database's connections and its queue of writes fare at one moment, for those who watch over it.
type Stats struct {
	Pools []PoolStats // always the same ones in the same order
	Queue QueueStats
}

// PoolStats is a pool of connections.
type PoolStats struct {
	Name        string        // what it is for: "reads" or "writes"
	InUse, Idle int           // connections that are open
	Max         int           // how many there can be
	Waits       int64         // how often somebody had to wait for a connection, ever
	Waited      time.Duration // how long they waited in all
}

// QueueStats is the queue of writes that share a commit: all writes, or only redemptions where only these are queued.
type QueueStats struct {
	Waiting  int // writes that were not answered yet: in the queue, or in the transaction under way
	Capacity int // of the queue; more make their callers wait
	Batches  BatchStats
}

// BatchStats counts transactions by how many writes each answered, be it with a refusal.
type BatchStats struct {
	Ended  uint64   // transactions
	Writes uint64   // in all of them
	UpTo   []uint64 // transactions of at most BatchSizes()[i] writes
	Failed uint64   // transactions beside these that came to nothing, or whose outcome is not known
}

// batchSizes are the steps by which batches are told apart. Neither driver makes larger ones.
var batchSizes = [...]int{1, 2, 4, 8, 16, 32, 64, 128}

// BatchSizes returns the steps by which BatchStats tells batches apart.
func BatchSizes() []int { return slices.Clone(batchSizes[:]) }

// BatchMeter counts batches for BatchStats. The zero value is ready, and safe for use by many goroutines.
type BatchMeter struct {
	sizes  [len(batchSizes)]atomic.Uint64 // transactions by the step that they belong to
	writes atomic.Uint64
	failed atomic.Uint64
}

// Ended counts a transaction that answered so many writes.
func (m *BatchMeter) Ended(writes int) {
	step, _ := slices.BinarySearch(batchSizes[:], writes)
	m.sizes[min(step, len(batchSizes)-1)].Add(1)
	m.writes.Add(uint64(writes)) // #nosec G115 -- a number of writes is not negative
}

// Failed counts a transaction that came to nothing, or whose outcome is not known.
func (m *BatchMeter) Failed() { m.failed.Add(1) }

// Stats is what was counted until now.
func (m *BatchMeter) Stats() BatchStats {
	s := BatchStats{Writes: m.writes.Load(), Failed: m.failed.Load()}
	for i := range m.sizes {
		s.Ended += m.sizes[i].Load()
		s.UpTo = append(s.UpTo, s.Ended)
	}
	return s
}

type turnKey struct{}

// WithTurn returns a context whose write calls came when it has its connection or its place in a transaction: until then it
// waited for others. It may be called from another goroutine, once for each try, and still after the write was given up.
func WithTurn(ctx context.Context, came func()) context.Context {
	return context.WithValue(ctx, turnKey{}, came)
}

// TurnCame is what drivers call with the context of a write that waits no longer.
func TurnCame(ctx context.Context) {
	if came, ok := ctx.Value(turnKey{}).(func()); ok {
		came()
	}
}

// LiveRecords counts what a live database has and a sandbox never: who may call the service and the keys of their tokens
// are the live database's alone, and so are properties.
type LiveRecords struct{ Clients, SigningKeys, Properties int64 }

// AreThere tells whether there is any of them.
func (l LiveRecords) AreThere() bool { return l != LiveRecords{} }

// String is such as "1 client and 2 signing keys"; what there is none of is left out.
func (l LiveRecords) String() string {
	return listed([]counted{
		{l.Clients, "client", "clients"}, {l.SigningKeys, "signing key", "signing keys"}, {l.Properties, "property", "properties"},
	})
}

// Emptied is how many records of each kind a Reset forgot.
type Emptied struct {
	Perks           int64 `json:"perks"`
	Categories      int64 `json:"categories"`
	Users           int64 `json:"users"`
	Redemptions     int64 `json:"redemptions"`
	IdempotencyKeys int64 `json:"idempotency_keys"`
}

// All is how many they are together.
func (e Emptied) All() int64 {
	return e.Perks + e.Categories + e.Users + e.Redemptions + e.IdempotencyKeys
}

// String is such as "2 perks and 1 user", or "nothing".
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

// listed is what people say of several counts.
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
