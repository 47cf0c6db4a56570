package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"example.com/perks/api"
	"example.com/perks/server/listen"
	"example.com/perks/store"
)

const (
	eventsPath        = "/events"
	mediaEventStream  = "text/event-stream"
	lastEventIDHeader = "Last-Event-ID"
	feedHeartbeat     = 15 * time.Second // a stream is silent at most this long: proxies close silent connections
	streamWriteTime   = 30 * time.Second // a caller that takes nothing for this long is cut off
	streamEndTime     = time.Second      // for the end of a stream that was replaced
	streamPiece       = 16 << 10         // bytes that are written before the system is asked whether it takes more
	maxSearchedParts  = 10               // parts that a page without wait searches for events that the caller may see
)

// streamKey has the context of a request without the limit on its time.
const streamKey = "stream"

// wantsStream tells whether the request is for Server-Sent Events, as the HTML standard defines them.
func wantsStream(c echo.Context) bool {
	return c.Request().Method == http.MethodGet && strings.HasSuffix(c.Path(), eventsPath) &&
		strings.Contains(c.Request().Header.Get("Accept"), mediaEventStream)
}

// events responds with a page of events, or a stream of them.
func (h perkHandlers) events(c echo.Context) error {
	q := api.ParseParameters(c.Request().URL.RawQuery)
	perPage := int(q.Integer("per_page", api.DefaultPerPage, 1, api.MaxPerPage))
	wait := time.Duration(q.Integer("wait", 0, 0, api.MaxEventWait)) * time.Second
	types := eventTypesOf(q)
	after, isGiven := q.Given("after")
	// a browser sends it with the address of its first request
	if last := c.Request().Header.Get(lastEventIDHeader); last != "" && wantsStream(c) {
		after, isGiven = last, true
	}
	if err := q.Err(); err != nil {
		return err
	}
	var place store.AuditPlace
	cursors, err := h.feed.cursors(c.Request().Context())
	if err == nil && isGiven {
		place, err = cursors.read(after)
	}
	if err != nil {
		return err
	}
	switch {
	case wantsStream(c):
		return h.streamEvents(c, cursors, place, types)
	case isGiven:
		return h.pageOfEvents(c, cursors, place, types, perPage, wait)
	}
	page, err := h.feed.recent(c.Request().Context(), callerOf(c), types, perPage)
	if err != nil {
		return err
	}
	return writeEvents(c, page)
}

// eventTypesOf returns the types that the caller asks for; nil is all.
func eventTypesOf(q *api.Parameters) (types []api.EventType) {
	text, given := q.Given("type")
	for name := range strings.SplitSeq(text, ",") {
		if given && !slices.Contains(api.EventTypes(), api.EventType(name)) {
			q.Fields.Add("type", "has %q, which is not a type of events", name)
		}
		types = append(types, api.EventType(name))
	}
	if !given {
		return nil
	}
	return types
}

// pageOfEvents responds as soon as there is an event that the caller may see.
func (h perkHandlers) pageOfEvents(
	c echo.Context, cursors cursors, after store.AuditPlace, types []api.EventType, perPage int, wait time.Duration,
) error {
	ctx := c.Request().Context()
	waiting := ctx
	if wait > 0 {
		following, end, err := h.listeners.begin(ctx, callerOf(c).ClientID)
		if err != nil {
			return err
		}
		defer end()
		limited, cancel := context.WithTimeoutCause(following, wait, errWaited)
		defer cancel()
		ctx, waiting = following, limited
	}
	page := api.EventPage{Data: []api.Event{}, Next: cursors.write(after)}
	reader := h.feed.follow(after, wait > 0)
	defer reader.leave()
	caller, searched := callerOf(c), 0
	for len(page.Data) == 0 && (wait > 0 || searched < maxSearchedParts) {
		part, err := reader.next(ctx)
		if cause := context.Cause(ctx); errors.Is(err, io.EOF) || err != nil &&
			(cause == errWaited || cause == errReplaced) {
			break
		}
		if err != nil {
			return err
		}
		ctx = waiting // only now: a short wait must not end before a slow database has told what was there
		searched++
		page.Next, page.More = cursors.write(part.next), part.isMore
		for _, e := range part.events {
			if !e.isFor(caller, types) {
				continue
			}
			if len(page.Data) == perPage {
				page.Next, page.More = page.Data[perPage-1].Cursor, true
				break
			}
			page.Data = append(page.Data, e.Event)
		}
	}
	return writeEvents(c, page)
}

// errWaited is why a wait ends without an event.
var errWaited = errors.New("the caller has waited for long enough")

func writeEvents(c echo.Context, page api.EventPage) error {
	c.Response().Header().Set("Cache-Control", "no-store")
	return writeJSON(c, http.StatusOK, echo.MIMEApplicationJSON, page)
}

// streamEvents responds with Server-Sent Events until the caller leaves or loses its access, or the server ends. The id
// of each is a position: a caller that comes back with the last one misses nothing.
func (h perkHandlers) streamEvents(
	c echo.Context, cursors cursors, after store.AuditPlace, types []api.EventType,
) error {
	ctx, _ := c.Get(streamKey).(context.Context)
	ctx, end, err := h.listeners.begin(ctx, callerOf(c).ClientID)
	if err != nil {
		return err
	}
	defer end()
	s := &eventStream{
		perkHandlers: h, ctx: ctx, cursors: cursors, types: types,
		request: c.Request(), response: c.Response(), control: http.NewResponseController(c.Response()),
		conn: listen.ConnOf(ctx), reader: h.feed.follow(after, true), at: after,
	}
	defer s.reader.leave()
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { // a write that waits for the caller would not end
		defer close(ended)
		_ = s.control.SetWriteDeadline(time.Now().Add(streamEndTime)) // if the connection is closed, it has ended
	})
	defer func() {
		if !stop() {
			<-ended // after the handler, the response is that of another request
		}
	}()
	for {
		part, err := s.reader.next(ctx)
		if err != nil && !c.Response().Committed {
			return err
		}
		if err != nil { // is logged; the caller comes back, and is told then
			return nil
		}
		isOpen, err := s.send(part)
		part = feedPart{}
		for isOpen && s.isBlocked {
			isOpen = s.await()
		}
		if err != nil || !isOpen {
			return err
		}
	}
}

// eventStream is the response to one caller. While the caller takes nothing, it keeps only the rest of one event.
type eventStream struct {
	perkHandlers
	ctx      context.Context
	cursors  cursors
	types    []api.EventType // nil is all
	request  *http.Request
	response *echo.Response
	control  *http.ResponseController
	conn     *listen.Conn
	reader   *follower

	at        store.AuditPlace // after what was sent
	sent      time.Time        // the last time
	room      int              // bytes that may be written before the system is asked whether it takes more
	isBlocked bool             // it takes no more
	unsent    []byte           // then the rest of an event whose beginning was sent
}

// send returns false when the stream has ended, and an error if it could not begin.
func (s *eventStream) send(part feedPart) (bool, error) {
	if !s.response.Committed {
		header := s.response.Header()
		header.Set(echo.HeaderContentType, mediaEventStream)
		header.Set("Cache-Control", "no-store")
		header.Set("X-Accel-Buffering", "no") // nginx
		if err := s.control.SetReadDeadline(time.Time{}); err != nil {
			return false, fmt.Errorf("begin a stream: %w", err)
		}
		s.conn.LimitSendBuffer()
		s.response.WriteHeader(http.StatusOK)
	}
	caller, err := s.verifyAgain(s.ctx, s.request)
	if errors.Is(err, ErrToken) {
		return s.cutOff(listenerRevoked), nil
	}
	if err != nil && len(part.events) > 0 {
		return false, nil
	}
	if !s.begin() {
		return false, nil
	}
	isSilent := true
	for _, e := range part.events {
		if !e.isFor(caller, s.types) {
			continue
		}
		isSilent = false
		rest, err := s.write(e.frame)
		switch {
		case err != nil:
			return false, nil
		case len(rest) < len(e.frame):
			s.at, s.unsent = e.place, rest
		}
		if len(rest) > 0 {
			s.isBlocked = true
			s.reader.resume(s.at)
			return true, nil
		}
	}
	s.at = part.next
	if isSilent {
		if !part.isMore && time.Since(s.sent) < feedHeartbeat {
			return true, nil
		}
		// Only the id, so that the caller need not read again what it may not see.
		if _, err := fmt.Fprintf(s.response, "id: %s\n\n", s.cursors.write(part.next)); err != nil {
			return false, nil
		}
	}
	s.sent = time.Now()
	return s.control.Flush() == nil, nil
}

// begin gives the caller time for the next write.
func (s *eventStream) begin() bool {
	return s.control.SetWriteDeadline(time.Now().Add(streamWriteTime)) == nil && s.ctx.Err() == nil
}

// write returns what the system does not take at once.
func (s *eventStream) write(frame []byte) (rest []byte, err error) {
	for len(frame) > 0 {
		n := min(len(frame), streamPiece)
		if s.room < n {
			if err := s.control.Flush(); err != nil {
				return frame, err
			}
			if !s.conn.CanWrite() {
				return frame, nil
			}
			s.room = streamPiece
		}
		if _, err := s.response.Write(frame[:n]); err != nil {
			return frame, err
		}
		s.room -= n
		frame = frame[n:]
	}
	return nil, nil
}

// await waits until the caller has taken some of the response, while it has access, and sends the last event's rest.
func (s *eventStream) await() bool {
	done, ok := s.listeners.hold(len(s.unsent))
	if !ok {
		return s.cutOff(listenerSlow)
	}
	defer done()
	begun := time.Now()
	for err := s.conn.AwaitWrite(feedCheck); err != nil; err = s.conn.AwaitWrite(feedCheck) {
		if s.ctx.Err() != nil || !errors.Is(err, os.ErrDeadlineExceeded) {
			return false
		}
		if time.Since(begun) > streamWriteTime {
			return s.cutOff(listenerSlow)
		}
		if _, err := s.verifyAgain(s.ctx, s.request); errors.Is(err, ErrToken) {
			return s.cutOff(listenerRevoked)
		}
	}
	if !s.begin() {
		return false
	}
	rest, err := s.write(s.unsent)
	s.unsent, s.isBlocked, s.sent = rest, len(rest) > 0, time.Now()
	return err == nil && s.control.Flush() == nil
}

func (s *eventStream) cutOff(reason string) bool {
	s.listeners.ended.WithLabelValues(reason).Inc()
	return false
}

// verifyAgain returns the caller as it is now. Others wait for its look-up of the keys, so it must not wait for long.
func (h perkHandlers) verifyAgain(ctx context.Context, r *http.Request) (Caller, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	token, _ := bearer(oneAuthorization(r))
	return h.verify(r.WithContext(ctx), token)
}
