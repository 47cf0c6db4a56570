package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"example.com/perks/api"
	"example.com/perks/store"
)

const (
	eventsPath        = "/events"
	mediaEventStream  = "text/event-stream"
	lastEventIDHeader = "Last-Event-ID"
	streamWriteTime   = 30 * time.Second // for one part of a stream
	maxRecent         = 1000             // entries that are searched for recent events
	maxSearchedParts  = 10               // parts that a page without wait searches for events that the caller may see
)

// streamKey has the context of a request without the limit on its time.
const streamKey = "stream"

// wantsStream tells whether the request is for Server-Sent Events, as the HTML standard defines them.
func wantsStream(c echo.Context) bool {
	return c.Request().Method == http.MethodGet && strings.HasSuffix(c.Path(), eventsPath) && strings.Contains(c.Request().Header.Get("Accept"), mediaEventStream)
}

// events responds with a page of events, or a stream of them.
func (h perkHandlers) events(c echo.Context) error {
	q := api.ParseParameters(c.Request().URL.RawQuery)
	perPage := int(q.Integer("per_page", api.DefaultPerPage, 1, api.MaxPerPage))
	wait := time.Duration(q.Integer("wait", 0, 0, api.MaxEventWait)) * time.Second
	after, isGiven := q.Given("after")
	if last := c.Request().Header.Get(lastEventIDHeader); last != "" && wantsStream(c) { // a browser sends it with the address of its first request
		after, isGiven = last, true
	}
	if err := q.Fields.Err(); err != nil {
		return err
	}
	var cursor eventCursor
	if isGiven {
		var err error
		if cursor, err = parseEventCursor(after); err != nil {
			return err
		}
	}
	switch {
	case wantsStream(c):
		return h.streamEvents(c, cursor)
	case isGiven:
		return h.pageOfEvents(c, cursor, perPage, wait)
	}
	return h.recentEvents(c, perPage)
}

// recentEvents responds with the newest events that the caller may see, so that somebody who looks for the first time sees something.
func (h perkHandlers) recentEvents(c echo.Context, perPage int) error {
	page := api.EventPage{Data: []api.Event{}}
	var now store.AuditPosition
	caller := callerOf(c)
	query := store.AuditQuery{Last: maxRecent, Complete: true}
	for entry, err := range h.store.AuditSince(c.Request().Context(), query, &now) {
		if err != nil {
			return err
		}
		e, isEvent, err := eventOf(entry)
		if err != nil {
			return err
		}
		if isEvent && e.maySee(caller) {
			page.Data = append(page.Data, e.Event)
		}
	}
	page.Data = page.Data[max(0, len(page.Data)-perPage):]
	page.Next = string(now)
	if last := len(page.Data) - 1; last >= 0 {
		page.Data[last].Cursor = page.Next
	}
	return writeEvents(c, page)
}

// pageOfEvents responds as soon as there is an event that the caller may see.
func (h perkHandlers) pageOfEvents(c echo.Context, after eventCursor, perPage int, wait time.Duration) error {
	ctx, cancel := c.Request().Context(), func() {}
	if wait > 0 {
		ctx, cancel = context.WithTimeout(ctx, wait)
	}
	defer cancel()
	page := api.EventPage{Data: []api.Event{}, Next: after.String()}
	caller, searched := callerOf(c), 0
	for part, err := range h.feed.follow(ctx, after, wait > 0) {
		if errors.Is(err, context.DeadlineExceeded) && wait > 0 {
			break
		}
		if err != nil {
			return err
		}
		page.Next, page.More = part.next.String(), part.isMore
		for _, e := range part.events {
			if !e.maySee(caller) {
				continue
			}
			if len(page.Data) == perPage {
				page.Next, page.More = page.Data[perPage-1].Cursor, true
				break
			}
			page.Data = append(page.Data, e.Event)
		}
		if searched++; len(page.Data) > 0 || wait == 0 && searched == maxSearchedParts {
			break
		}
	}
	return writeEvents(c, page)
}

func writeEvents(c echo.Context, page api.EventPage) error {
	c.Response().Header().Set("Cache-Control", "no-store")
	return writeJSON(c, http.StatusOK, echo.MIMEApplicationJSON, page)
}

// streamEvents responds with Server-Sent Events until the caller leaves or loses its access, or the server ends. The id of each is a position:
// a caller that comes back with the last one misses nothing.
func (h perkHandlers) streamEvents(c echo.Context, after eventCursor) error {
	response := c.Response()
	control := http.NewResponseController(response)
	caller, checked := callerOf(c), h.now()
	ctx, _ := c.Get(streamKey).(context.Context)
	for part, err := range h.feed.follow(ctx, after, true) {
		switch {
		case err != nil: // is logged; a caller whose stream has begun comes back, and is told then
			return err
		case !response.Committed:
			header := response.Header()
			header.Set(echo.HeaderContentType, mediaEventStream)
			header.Set("Cache-Control", "no-store")
			header.Set("X-Accel-Buffering", "no") // nginx
			if err := control.SetReadDeadline(time.Time{}); err != nil {
				return fmt.Errorf("begin a stream: %w", err)
			}
			response.WriteHeader(http.StatusOK)
		}
		if h.now().Sub(checked) >= feedHeartbeat {
			if caller, err = h.verifyAgain(ctx, c.Request()); err != nil {
				return nil
			}
			checked = h.now()
		}
		if control.SetWriteDeadline(time.Now().Add(streamWriteTime)) != nil {
			return nil
		}
		isSilent := true
		for _, e := range part.events {
			if e.maySee(caller) {
				isSilent = false
				if _, err := response.Write(e.frame); err != nil {
					return nil
				}
			}
		}
		if isSilent { // only the id, so that the caller need not read again what it may not see
			if _, err := fmt.Fprintf(response, "id: %s\n\n", part.next); err != nil {
				return nil
			}
		}
		if control.Flush() != nil {
			return nil
		}
	}
	return nil
}

// verifyAgain returns the caller as it is now. It must not wait for a database for long, because others wait for its look-up of the keys.
func (h perkHandlers) verifyAgain(ctx context.Context, r *http.Request) (Caller, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	token, _ := bearer(oneAuthorization(r))
	return h.verify(r.WithContext(ctx), token)
}
