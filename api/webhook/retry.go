package webhook

import (
	"net/http"
	"strconv"
	"time"
)

// waits are those of the specification. The first is after the first attempt.
func waits() []time.Duration {
	const minute, hour = time.Minute, time.Hour
	return []time.Duration{5 * time.Second, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour,
		24 * hour}
}

// MaxAttempts is how often a delivery is attempted.
const MaxAttempts = 10

// MaxRetryAfter is the longest time that a receiver can ask to be left alone.
const MaxRetryAfter = 24 * time.Hour

// Retry returns how long to wait after a failed attempt, counted from 1. answer is nil if there was none, and jitter
// returns numbers from 0 to 1. again is false after the last attempt, and if the receiver wants no more (410). Whoever
// gets a Retry-After waits at least that long.
func Retry(attempt int, answer *http.Response, jitter func() float64) (wait time.Duration, again bool) {
	if IsGone(answer) || attempt < 1 || attempt >= MaxAttempts {
		return 0, false
	}
	wait = waits()[attempt-1]
	wait += time.Duration((jitter() - 0.5) * 0.2 * float64(wait))
	return max(wait, retryAfter(answer)), true
}

// IsGone tells whether the receiver wants no more deliveries.
func IsGone(answer *http.Response) bool { return answer != nil && answer.StatusCode == http.StatusGone }

// IsDelivered tells whether the receiver has taken the delivery.
func IsDelivered(answer *http.Response) bool {
	return answer != nil && answer.StatusCode >= 200 && answer.StatusCode < 300
}

// retryAfter reads the header, which has seconds or a time (RFC 9110, section 10.2.3). The time is compared with that
// of the answer, if it has one: the receiver's clock may differ.
func retryAfter(answer *http.Response) time.Duration {
	if answer == nil {
		return 0
	}
	value := answer.Header.Get("Retry-After")
	seconds, err := strconv.Atoi(value)
	wait := time.Duration(min(seconds, int(MaxRetryAfter/time.Second))) * time.Second
	if err != nil {
		at, err := http.ParseTime(value)
		if err != nil {
			return 0
		}
		from, err := http.ParseTime(answer.Header.Get("Date"))
		if err != nil {
			from = time.Now()
		}
		wait = at.Sub(from)
	}
	return min(max(wait, 0), MaxRetryAfter)
}
