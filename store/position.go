package store

import (
	"context"
	"time"
)

// Position says how far the writes of a database have come, as a text of 24 hexadecimal digits: of a database's writes, the later one has
// the higher text. It is "" before all of them.
type Position string

// AfterAll is above every position, for a reader whose last position is not known: only the primary certainly has all of its writes.
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

// MayBeBehind lets lists, reports and single perks under the context come from a standby that has everything up to the position, and that is
// at most MaxBehind behind.
func MayBeBehind(ctx context.Context, after Position) context.Context {
	return context.WithValue(ctx, behindKey{}, after)
}

// notBehind takes MayBeBehind back. Positions of the audit log are those of the primary.
func notBehind(ctx context.Context) context.Context { return context.WithValue(ctx, behindKey{}, nil) }

// Behind returns the position of MayBeBehind. Without one, only the latest data will do.
func Behind(ctx context.Context) (after Position, allowed bool) {
	after, allowed = ctx.Value(behindKey{}).(Position)
	return after, allowed
}
