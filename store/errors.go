package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/perks/api"
)

// The errors that drivers return. Both drivers use the same text for the same failure.

// PerkNotFound says that there is no perk with that id.
func PerkNotFound(id string) error { return notFound("There is no perk %q.", id, api.ParamPerk) }

// UserNotFound says that there is no user with that id.
func UserNotFound(id string) error { return notFound("There is no user %q.", id, api.ParamUser) }

func notFound(format, id, param string) error {
	err := api.Errorf(api.CodeNotFound, format, id)
	err.Param = param
	return err
}

// IsUserNotFound distinguishes UserNotFound from other errors with CodeNotFound, such as PerkNotFound.
func IsUserNotFound(err error) bool {
	refusal, isRefusal := errors.AsType[*api.Error](err)
	return isRefusal && refusal.Param == api.ParamUser
}

// RefusalOf returns the error if it is one that Eligibility.Refusal returns.
func RefusalOf(err error) (refusal *api.Error, isRefusal bool) {
	switch code := api.CodeOf(err); {
	case code == api.CodeAlreadyRedeemed, code == api.CodePerkNotStarted, code == api.CodePerkExpired,
		code == api.CodeSoldOut, IsUserNotFound(err):
		isRefusal = errors.As(err, &refusal)
	}
	return refusal, isRefusal
}

// RedemptionNotFound says that there is no redemption with that id.
func RedemptionNotFound(id string) error {
	return api.Errorf(api.CodeNotFound, "There is no redemption %q.", id)
}

// PropertyNotFound says that there is no property with that id.
func PropertyNotFound(id int64) error {
	return api.Errorf(api.CodeNotFound, "There is no property %d.", id)
}

// ClientNotFound says that there is no client with that id.
func ClientNotFound(id string) error {
	return api.Errorf(api.CodeNotFound, "There is no client %q.", id)
}

// AlreadyRedeemed says that the user has a live redemption of the perk.
func AlreadyRedeemed(perkID, userID string) error {
	return api.Errorf(api.CodeAlreadyRedeemed, "User %q has already redeemed perk %q.", userID, perkID)
}

// PerkNotStarted says when the perk can first be redeemed.
func PerkNotStarted(id string, from time.Time) error {
	return api.Errorf(api.CodePerkNotStarted, "Perk %q cannot be redeemed before %s.", id,
		from.UTC().Format(time.RFC3339))
}

// PerkExpired says when the perk could last be redeemed.
func PerkExpired(id string, to time.Time) error {
	return api.Errorf(api.CodePerkExpired, "Perk %q could be redeemed until %s.", id, to.UTC().Format(time.RFC3339))
}

// SoldOut says that no unit of the perk is left.
func SoldOut(id string) error { return api.Errorf(api.CodeSoldOut, "Perk %q is sold out.", id) }

// IdempotencyKeyReused says that the key names another request.
func IdempotencyKeyReused(key string) error {
	return api.Errorf(api.CodeIdempotencyKeyReused,
		"The idempotency key %q was used before with another request. Use a new key for a new request.", key)
}

// RedemptionDecided says that the redemption's status does not allow the decision.
func RedemptionDecided(id string, status, wanted api.RedemptionStatus) error {
	switch {
	case wanted != api.StatusVoided:
		return api.Errorf(api.CodeConflict, "Redemption %q is %s already; only a pending one can be decided.", id,
			status)
	case status == api.StatusPending:
		return api.Errorf(api.CodeConflict, "Redemption %q is pending; reject it instead.", id)
	}
	return api.Errorf(api.CodeConflict, "Redemption %q is %s already; only an approved one can be voided.", id, status)
}

// RedemptionExpired says that nobody has decided the redemption in time.
func RedemptionExpired(id string, at time.Time) error {
	return api.Errorf(api.CodeConflict, "Redemption %q expired at %s; only a pending one can be decided.", id,
		moment(at))
}

// PropertyNotDeleted says that the property is there, and no version to restore was named.
func PropertyNotDeleted(id int64) error {
	return api.Errorf(api.CodeNotDeleted,
		"Property %d is not deleted. Only a version that is named can replace it.", id)
}

// NotThere says that there was no record of that name, such as property 42, at a time.
func NotThere(name string, at time.Time) error {
	return api.Errorf(api.CodeNotFound, "There was no %s at %s.", name, moment(at))
}

// NotKnown says that nothing is known of a record at a time. Its history begins at since, or is empty if that is zero.
func NotKnown(name string, at, since time.Time) error {
	begins := "has no entries"
	if !since.IsZero() {
		begins = "begins at " + moment(since)
	}
	return api.Errorf(api.CodeNotFound, "Nobody knows what %s was at %s: its history %s.", name, moment(at), begins)
}

// PerkExists says that the perk's id is taken.
func PerkExists(id string) error {
	return api.Errorf(api.CodePerkExists, "There is a perk %q already. Change it, or choose another id.", id)
}

// StockBelowHeld says that redemptions hold more units than a perk's stock would have.
func StockBelowHeld(id string, stock, held int64) error {
	return api.Errorf(api.CodeStockBelowHeld,
		"Perk %q cannot have a stock of %d: redemptions hold %d of its units. Set at least %d, or null for no limit.",
		id, stock, held, held)
}

// moment is a time as responses have it, in milliseconds.
func moment(at time.Time) string { return at.UTC().Truncate(time.Millisecond).Format(time.RFC3339Nano) }

// NoPropertyVersion says that the history of a property does not have a version.
func NoPropertyVersion(id int64) error {
	return api.Errorf(api.CodeNotFound, "The history of property %d has no such version.", id)
}

// NoPropertyID says that no listing can be added, because the highest id is taken.
func NoPropertyID() error {
	return api.Errorf(api.CodeConflict, "There is no id left for a new property: the highest one is taken.")
}

// SigningKeyNotFound says that no signing key has the id.
func SigningKeyNotFound(id string) error {
	return api.Errorf(api.CodeNotFound, "There is no signing key %q. List the keys: perksd keys list", id)
}

// ClientExists says that the client's id is taken.
func ClientExists(id string) error {
	return api.Errorf(api.CodeConflict, "There is a client %q already. Choose another id.", id)
}

// NotASandbox says that a database has what only a live one has.
func NotASandbox(found LiveRecords) error {
	return api.Errorf(api.CodeConflict, "This is not a sandbox: it has %s, which only a live database has.", found)
}

// Unavailable says that the database failed during a write, whose outcome is unknown. The cause is logged and not part
// of the message.
func Unavailable(cause error) error {
	public := api.Errorf(api.CodeUnavailable,
		"The outcome is unknown: the service could not finish this. Retry only with the same Idempotency-Key, or "+
			"read it back first.")
	return &unavailable{public: public, cause: cause}
}

// NotStarted says that the database cannot be used now, and that nothing was or will be changed. The cause is logged
// and not part of the message.
func NotStarted(cause error) error {
	public := api.Errorf(api.CodeUnavailable,
		"The service cannot do this now. Nothing was started, so it is safe to retry.")
	return &unavailable{public: public, cause: cause}
}

// PerksAreImported is the error of a change of a perk while an import merges many.
func PerksAreImported() error {
	return api.Errorf(api.CodeUnavailable,
		"Many perks are being imported, and none can be changed meanwhile. Nothing was changed; try again in a moment.")
}

type unavailable struct {
	public *api.Error
	cause  error
}

func (u *unavailable) Error() string   { return fmt.Sprintf("%s (%v)", u.public.Message, u.cause) }
func (u *unavailable) Unwrap() []error { return []error{u.public, u.cause} }

// OutcomeUnknownError is the failure of a commit that may have succeeded.
type OutcomeUnknownError struct{ Cause error }

func (e *OutcomeUnknownError) Error() string {
	return fmt.Sprintf("it is unknown whether the commit succeeded: %v", e.Cause)
}
func (e *OutcomeUnknownError) Unwrap() error { return e.Cause }

// Causes of NotStarted.
var (
	ErrClosed     = errors.New("the database is closed")
	ErrCallerGone = errors.New("the caller left before the write began")
)

// IsContextError reports whether a context was cancelled or timed out.
func IsContextError(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// Fault adds to a database's error what was being done. An unknown outcome becomes Unavailable, and a transient failure
// NotStarted. Errors that are not the database's own are returned unchanged.
func Fault(doing string, err error, transient, isDatabase bool) error {
	if err == nil {
		return nil
	}
	wrapped := fmt.Errorf("%s: %w", doing, err)
	switch {
	case errors.As(err, new(*OutcomeUnknownError)):
		return Unavailable(wrapped)
	case transient:
		return NotStarted(wrapped)
	case isDatabase, IsContextError(err):
		return wrapped
	}
	return err
}
