package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

const (
	feedInterval  = 500 * time.Millisecond // between two looks for new entries
	feedHeartbeat = 15 * time.Second       // at most so long a listener gets nothing: proxies close silent connections
	feedBatch     = 1000                   // entries that are read at once
	feedQueue     = 16                     // batches that a listener may be late
	feedReaders   = 4                      // listeners that read what they have missed, at once
	maxListeners  = 10_000                 // of one database
)

// eventCursor is a position in the audit log, or an entry between two.
type eventCursor struct {
	since store.AuditPosition
	until store.AuditPosition // "" after since
	read  int                 // entries between since and until that were read
}

func (c eventCursor) String() string {
	if c.until == "" {
		return string(c.since)
	}
	return fmt.Sprintf("%s~%s~%d", c.since, c.until, c.read)
}

func parseEventCursor(text string) (c eventCursor, err error) {
	parts := strings.Split(text, "~")
	c.since = store.AuditPosition(parts[0])
	if len(parts) == 1 && text != "" {
		return c, nil
	}
	if len(parts) == 3 {
		c.until = store.AuditPosition(parts[1])
		c.read, err = strconv.Atoi(parts[2])
	}
	if len(parts) != 3 || err != nil || c.read < 1 || c.until == "" {
		return c, store.AuditPositionUnknown()
	}
	return c, nil
}

// feedEvent is an event with who may see it.
type feedEvent struct {
	api.Event
	number int    // of its entry in the batch, from 1
	client string // that made the redemption, or owns the property
	frame  []byte // as a stream sends it
}

// feedPart is consecutive events.
type feedPart struct {
	events []feedEvent
	next   eventCursor
	isMore bool // something was committed after next, when it was read
}

// eventTypes maps the actions of the audit log that are events.
var eventTypes = map[string]api.EventType{
	store.ActionRedeem:           api.EventRedemptionMade,
	store.ActionApprove:          api.EventRedemptionApproved,
	store.ActionReject:           api.EventRedemptionRejected,
	store.ActionVoid:             api.EventRedemptionVoided,
	store.ActionCreateProperty:   api.EventPropertyCreated,
	store.ActionRestoreProperty:  api.EventPropertyCreated,
	store.ActionUpdateProperty:   api.EventPropertyChanged,
	store.ActionDeleteProperty:   api.EventPropertyDeleted,
	store.ActionImportProperties: api.EventPropertiesImported,
	store.ActionUpdatePerk:       api.EventPerkChanged,
	store.ActionImportPerks:      api.EventPerksImported,
}

// eventOf returns the event of an entry, unless the entry is only for the operator.
func eventOf(entry store.AuditEntry) (e feedEvent, isEvent bool, err error) {
	e.Type, isEvent = eventTypes[entry.Action]
	if !isEvent {
		return e, false, nil
	}
	e.ID, e.At, e.Subject = entry.Subject, entry.At, entry.Subject
	if entry.Number != 0 {
		e.ID = fmt.Sprintf("%s/%d", entry.Subject, entry.Number)
	}
	switch noun, _, _ := strings.Cut(entry.Action, "."); noun {
	case "redemption":
		e.Redemption = new(api.RedemptionRecord)
		err = json.Unmarshal(entry.After, e.Redemption)
		if entry.Action == store.ActionRedeem {
			e.Redemption.ClientID = strings.TrimPrefix(string(entry.Actor), string(store.ClientActor("")))
		}
		e.client = e.Redemption.ClientID
	case "property":
		var property store.PropertyRecord
		record := entry.After
		if entry.Action == store.ActionDeleteProperty {
			record = entry.Before
		}
		if string(record) == "null" { // it was deleted by hand, and nothing is known of it
			return e, false, nil
		}
		err = json.Unmarshal(record, &property)
		e.Property, e.client = &property.Property, property.Owner
	}
	if err != nil {
		err = fmt.Errorf("read the entry %s of the audit log: %w", e.ID, err)
	}
	return e, true, err
}

// maySee tells whether the caller may see the event: of redemptions and properties, what its lists of them show.
func (e feedEvent) maySee(caller Caller) bool {
	can := caller.Scopes.Has
	switch {
	case e.Redemption != nil:
		return can(api.ScopeRedemptionsRead) && (can(api.ScopeRedemptionsReadAll) || e.client == caller.ClientID)
	case e.Property != nil:
		return can(api.ScopePropertiesRead) || (can(api.ScopePropertiesWrite) || can(api.ScopePropertiesCreate)) && e.client == caller.ClientID
	case e.Type == api.EventPropertiesImported:
		return can(api.ScopePropertiesRead)
	}
	return can(api.ScopePerksRead)
}

func partOf(batch store.AuditBatch) (feedPart, error) {
	part := feedPart{next: eventCursor{since: batch.Until}, isMore: !batch.IsLast}
	for i, entry := range batch.Entries {
		e, isEvent, err := eventOf(entry)
		if err != nil {
			return part, err
		}
		if !isEvent {
			continue
		}
		cursor := part.next
		if e.number = i + 1; e.number < len(batch.Entries) {
			cursor = eventCursor{batch.Since, batch.Until, e.number}
		}
		e.Cursor = cursor.String()
		encoded, err := api.EncodeJSON(e.Event)
		if err != nil {
			return part, fmt.Errorf("encode an event: %w", err)
		}
		e.frame = fmt.Appendf(nil, "id: %s\nevent: %s\ndata: %s\n\n", e.Cursor, e.Type, encoded)
		part.events = append(part.events, e)
	}
	return part, nil
}

// eventFeed tells listeners what was committed to a database, by any server. One goroutine reads it for all of them, while there are any.
type eventFeed struct {
	store   store.Store
	log     *slog.Logger
	ended   chan struct{} // closed when the server ends
	wake    chan struct{} // a listener has come
	readers chan struct{} // one value for each listener that reads what it has missed

	mu        sync.Mutex
	isRunning bool
	hasFailed bool // the last time that it was read, which is logged once
	coming    []*listener
	listeners map[*listener]bool
	position  store.AuditPosition // all listeners have been sent what was committed until then
}

// listener receives the parts from a position on.
type listener struct {
	start store.AuditPosition
	parts chan feedPart // closed if the listener is late, or has to start anew
	ready chan error    // one value, after which start is valid if it is nil
}

func newEventFeed(s store.Store, log *slog.Logger) *eventFeed {
	return &eventFeed{store: s, log: log, ended: make(chan struct{}), wake: make(chan struct{}, 1),
		readers: make(chan struct{}, feedReaders), listeners: map[*listener]bool{}}
}

// listen returns a listener that starts at a position after all that is committed now.
func (f *eventFeed) listen(ctx context.Context) (*listener, error) {
	l := &listener{parts: make(chan feedPart, feedQueue), ready: make(chan error, 1)}
	f.mu.Lock()
	if len(f.listeners)+len(f.coming) >= maxListeners {
		f.mu.Unlock()
		return nil, api.Errorf(api.CodeUnavailable, "Too many callers listen to events here. Try again later, or read pages without wait.")
	}
	f.coming = append(f.coming, l)
	if !f.isRunning {
		f.isRunning = true
		go f.run()
	}
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default:
	}
	select {
	case err := <-l.ready:
		return l, err
	case <-ctx.Done():
		f.leave(l)
		return nil, ctx.Err()
	}
}

func (f *eventFeed) leave(l *listener) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.listeners, l)
	for i, other := range f.coming {
		if other == l {
			f.coming = append(f.coming[:i], f.coming[i+1:]...)
			return
		}
	}
}

// run reads the audit log until the last listener has left.
func (f *eventFeed) run() {
	ticker := time.NewTicker(feedInterval)
	defer ticker.Stop()
	for {
		f.mu.Lock()
		coming := f.coming
		f.coming = nil
		if len(coming)+len(f.listeners) == 0 {
			f.isRunning, f.position = false, ""
			f.mu.Unlock()
			return
		}
		f.mu.Unlock()
		err := f.poll() // begins after those in coming have come
		f.mu.Lock()
		for _, l := range coming {
			if l.start = f.position; err == nil {
				f.listeners[l] = true
			}
			l.ready <- err
		}
		f.mu.Unlock()
		select {
		case <-ticker.C:
		case <-f.wake:
		}
	}
}

// poll sends what is new to the listeners. After an error, the next poll continues.
func (f *eventFeed) poll() error {
	ctx, cancel := context.WithTimeout(context.Background(), requestTime)
	defer cancel()
	for {
		batch, err := f.store.NextAudit(ctx, f.position, "", feedBatch)
		var part feedPart
		if err == nil {
			part, err = partOf(batch)
		}
		f.mu.Lock()
		if err != nil && !f.hasFailed {
			f.log.Error("events cannot be read; this is tried again", "error", sanitize(err.Error()))
		}
		f.hasFailed = err != nil
		if err != nil && api.CodeOf(err) != api.CodeUnavailable && !errors.Is(err, context.DeadlineExceeded) {
			// The database was replaced by an older copy, or has an entry that cannot be read. Who comes back is told.
			f.position = ""
			for l := range f.listeners {
				f.drop(l)
			}
		}
		if err == nil {
			f.position = batch.Until
			for l := range f.listeners {
				if len(part.events) == 0 {
					break
				}
				select {
				case l.parts <- part:
				default:
					f.drop(l)
				}
			}
		}
		f.mu.Unlock()
		if err != nil || batch.IsLast {
			return err
		}
	}
}

func (f *eventFeed) drop(l *listener) {
	delete(f.listeners, l)
	close(l.parts)
}

// end ends all that follow the feed.
func (f *eventFeed) end() { close(f.ended) }

// follow yields what comes after the cursor, once and in order, then waits for more until ctx ends, or returns if isLive is false. A part
// without events says how far the caller has come. It ends early for a caller that is late, who continues with another request.
func (f *eventFeed) follow(ctx context.Context, after eventCursor, isLive bool) iter.Seq2[feedPart, error] {
	return func(yield func(feedPart, error) bool) {
		var l *listener
		var end store.AuditPosition
		if isLive {
			var err error
			if l, err = f.listen(ctx); err != nil {
				yield(feedPart{}, err)
				return
			}
			defer f.leave(l)
			end = l.start
		}
		if !f.catchUp(ctx, after, end, yield) || !isLive {
			return
		}
		heartbeat := time.NewTicker(feedHeartbeat)
		defer heartbeat.Stop()
		at := eventCursor{since: end}
		for {
			part := feedPart{next: at}
			isOpen := true
			select {
			case part, isOpen = <-l.parts:
			case <-heartbeat.C:
			case <-f.ended:
				return
			case <-ctx.Done():
				return
			}
			if !isOpen || !yield(part, nil) {
				return
			}
			at = part.next
		}
	}
}

// catchUp yields what is between the cursor and a position, or now if that is "". It returns whether the caller wants more.
func (f *eventFeed) catchUp(ctx context.Context, after eventCursor, end store.AuditPosition, yield func(feedPart, error) bool) bool {
	at := after.since
	if after.until != "" {
		part, err := f.read(ctx, func() (store.AuditBatch, error) {
			return f.store.AuditBetween(ctx, after.since, after.until, feedBatch)
		})
		part.events = slices.DeleteFunc(part.events, func(e feedEvent) bool { return e.number <= after.read })
		part.isMore = true // perhaps
		if !yield(part, err) || err != nil {
			return false
		}
		at = after.until
	}
	for {
		part, err := f.read(ctx, func() (store.AuditBatch, error) { return f.store.NextAudit(ctx, at, end, feedBatch) })
		if !yield(part, err) || err != nil {
			return false
		}
		if !part.isMore {
			return true
		}
		at = part.next.since
	}
}

// read reads one batch when it is the caller's turn.
func (f *eventFeed) read(ctx context.Context, read func() (store.AuditBatch, error)) (part feedPart, err error) {
	select {
	case f.readers <- struct{}{}:
		defer func() { <-f.readers }()
	case <-ctx.Done():
		return part, ctx.Err()
	}
	batch, err := read()
	if err != nil {
		return part, err
	}
	return partOf(batch)
}
