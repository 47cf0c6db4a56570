package client

import (
	"context"
	"net/http"
	"time"
)

// clockSlack is how far the server's clock may be from what its Date header says of it. The header has whole seconds.
const clockSlack = 2 * time.Second

// exchange is one attempt that was answered, by this computer's clock.
type exchange struct {
	began, ended time.Time
	header       http.Header // of the answer
}

type exchangeKey struct{}

// withExchange makes each attempt under the context leave what it saw. The attempts must follow one another.
func withExchange(ctx context.Context, seen *exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, seen)
}

func exchangeOf(ctx context.Context) *exchange {
	seen, _ := ctx.Value(exchangeKey{}).(*exchange)
	return seen
}

// earliest returns what the server's clock may have shown, at the earliest, at an instant by this computer's clock. The
// header was written at some moment of the exchange: its middle is taken, and how far that may be off is allowed for.
// A server that does not tell its time is taken to have ours.
func (x exchange) earliest(at time.Time) time.Time {
	took := x.ended.Sub(x.began)
	date, err := http.ParseTime(x.header.Get("Date"))
	if err != nil {
		return at.Add(-clockSlack)
	}
	return date.Add(time.Second/2 - passed(at, x.began.Add(took/2)) - took/2 - clockSlack)
}

// passed is the time from one instant to a later one. A clock may have been set back in between, or stood still while the
// computer slept: of its two readings the longer one is taken.
func passed(from, to time.Time) time.Duration {
	return max(0, to.Sub(from), to.Round(0).Sub(from.Round(0)))
}
