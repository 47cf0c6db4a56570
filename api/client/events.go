package client

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"example.com/perks/api"
)

// Events returns the events after a position, or the newest ones if it is "". It waits for one, for at most wait in
// whole seconds. A service that cannot choose by type also returns events of other types.
func (c *Client) Events(
	ctx context.Context, after string, perPage int, wait time.Duration, types ...api.EventType,
) (page api.EventPage, err error) {
	query := url.Values{"per_page": {strconv.Itoa(perPage)}}
	if after != "" {
		query.Set("after", after)
	}
	if wait >= time.Second {
		query.Set("wait", strconv.Itoa(int(wait.Seconds())))
	}
	if len(types) > 0 {
		query.Set("type", strings.Join(api.Texts(types), ","))
	}
	call := get(c.partnersPath("/events"), query)
	res, err := c.fetch(ctx, call, &page)
	switch {
	case IsMissing(err):
		err = unsupported("events", err)
	case err == nil && page.Next == "":
		err = c.unreadable(call, res, errors.New("the page has no position"))
	}
	return page, err
}

// FollowEvents returns the events after a position, or from now on if it is "", and first of all a page that may be
// empty; then each page of new ones as they are committed, until ctx or the client's deadline ends, or a request fails
// for good. While the service cannot be reached it tries again, and calls onOutage once. No event is missing or
// repeated. A service that cannot choose by type also returns events of other types.
func (c *Client) FollowEvents(
	ctx context.Context, after string, onOutage func(error), types ...api.EventType,
) iter.Seq2[api.EventPage, error] {
	return func(yield func(api.EventPage, error) bool) {
		ctx, cancel := c.limited(ctx)
		defer cancel()
		longest := min(api.MaxEventWait*time.Second, c.config.Timeout/2)
		outage, wait := firstLook, time.Duration(0)
		for isFirst := true; ; {
			page, err := c.Events(ctx, after, api.MaxPerPage, wait, types...)
			if after == "" {
				page.Data = nil
			}
			switch {
			case isOutage(err) && ctx.Err() == nil:
				if outage == firstLook {
					onOutage(err)
				}
				if err := c.config.Clock.Wait(ctx, outage); err != nil {
					yield(page, err)
					return
				}
				outage = min(2*outage, longestLook)
				continue
			case len(page.Data) > 0 || err != nil || isFirst:
				if !yield(page, err) || err != nil {
					return
				}
			}
			after, outage, wait, isFirst = page.Next, firstLook, longest, false
			if page.More {
				wait = 0
			}
		}
	}
}

// isOutage tells whether a read may succeed later.
func isOutage(err error) bool {
	if unreachable, ok := errors.AsType[*Unreachable](err); ok {
		return !unreachable.TimedOut()
	}
	refused, ok := errors.AsType[*Error](err)
	return ok && (refused.Status >= http.StatusInternalServerError || refused.Status == http.StatusTooManyRequests)
}
