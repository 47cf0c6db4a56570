package server

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"example.com/perks/api"
	"example.com/perks/store"
)

const (
	feedInterval = 500 * time.Millisecond // between two looks for new entries
	feedCheck    = 2 * time.Second        // a follower waits for a part at most this long, then its caller is checked
	feedQueue    = 16                     // parts that a listener may be late
	feedReaders  = 4                      // followers that read what they have missed, at once
	feedKept     = 8                      // parts that were read for one of them and may serve others
)

// How much is read at once, and how much a slow caller gets at once.
var (
	feedBound = store.AuditBound{Entries: 256, Bytes: 1 << 20}
	slowBound = store.AuditBound{Entries: 256, Bytes: 128 << 10}
)

// eventFeed tells listeners what any server commits to a database. While there are any, one goroutine reads for all.
type eventFeed struct {
	store   store.Store
	name    string // of the database, for people and cursors
	log     *slog.Logger
	known   atomic.Pointer[cursors]
	ended   chan struct{} // closed when the server ends
	wake    chan struct{} // a listener has come
	readers slots         // of followers that read what they have missed

	mu        sync.Mutex
	isRunning bool
	hasFailed bool // the last time that it was read, which is logged once
	coming    []*listener
	listeners map[*listener]bool
	place     store.AuditPlace // all listeners have been sent what was committed until then
	looks     int              // how often that has changed
	kept      *lru.Cache[keptKey, keptPart]
}

// keptKey is what a part begins with.
type keptKey struct {
	after store.AuditPlace
	most  store.AuditBound
}

// keptPart is a part that was read up to an end. It serves readers up to the same or a later one, unless it ends there.
type keptPart struct {
	feedPart
	end feedEnd
}

// feedEnd is a position that a feed has come to.
type feedEnd struct {
	position store.AuditPosition // "" is now
	looks    int                 // when the feed came there
}

func (k keptPart) serves(end feedEnd) bool {
	return k.end == end || k.isMore && (end.position == "" || end.looks >= k.end.looks)
}

// listener receives the parts from a position on.
type listener struct {
	start  feedEnd
	parts  chan feedPart // shared with others
	isLate atomic.Bool   // parts are missing, also between those that are there
	isLost atomic.Bool   // the feed had to start anew
	ready  chan error    // one value, after which start is valid if it is nil
}

func newEventFeed(s store.Store, name string, log *slog.Logger) *eventFeed {
	return &eventFeed{store: s, name: name, log: log, ended: make(chan struct{}), wake: make(chan struct{}, 1),
		readers: make(slots, feedReaders), listeners: map[*listener]bool{}, kept: newLRU[keptKey, keptPart](feedKept)}
}

// listen returns a listener that starts at a position after all that is committed now.
func (f *eventFeed) listen(ctx context.Context) (*listener, error) {
	l := &listener{parts: make(chan feedPart, feedQueue), ready: make(chan error, 1)}
	f.mu.Lock()
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
	f.coming = slices.DeleteFunc(f.coming, func(other *listener) bool { return other == l })
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
			f.isRunning, f.place = false, store.AuditPlace{}
			f.kept.Purge()
			f.mu.Unlock()
			return
		}
		f.mu.Unlock()
		err := f.poll() // begins after those in coming have come
		f.mu.Lock()
		for _, l := range coming {
			if l.start = (feedEnd{f.place.Since, f.looks}); err == nil {
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

// poll sends new events to the listeners. After an error, the next poll continues.
func (f *eventFeed) poll() error {
	ctx, cancel := context.WithTimeout(context.Background(), requestTime)
	defer cancel()
	for {
		batch, err := f.store.NextAudit(ctx, f.place, "", feedBound)
		var part feedPart
		if err == nil {
			part, err = f.partOf(ctx, batch)
		}
		f.mu.Lock()
		if err != nil && !f.hasFailed {
			f.log.Error("events cannot be read; this is tried again", "error", sanitize(err.Error()))
		}
		f.hasFailed = err != nil
		if err != nil && api.CodeOf(err) != api.CodeUnavailable && !errors.Is(err, context.DeadlineExceeded) {
			// The database was replaced by an older copy, or has an entry that cannot be read. Who comes back is told.
			f.place = store.AuditPlace{}
			f.kept.Purge()
			for l := range f.listeners {
				l.isLost.Store(true)
				f.drop(l)
			}
		}
		if err == nil {
			f.place = batch.Next
			f.looks++
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

// drop takes back what the listener has not taken yet, so that nothing is kept for it.
func (f *eventFeed) drop(l *listener) {
	delete(f.listeners, l)
	l.isLate.Store(true)
	for {
		select {
		case <-l.parts:
			continue
		default:
		}
		close(l.parts)
		return
	}
}

// end ends all that follow the feed.
func (f *eventFeed) end() { close(f.ended) }

// follower reads what comes after a place, once and in order.
type follower struct {
	feed     *eventFeed
	at       store.AuditPlace
	isLive   bool             // wait for more
	most     store.AuditBound // read at once
	live     *listener        // gets what comes after live.start; nil before the follower reads until there
	isHere   bool             // it has read until there, or all if it does not wait
	isBehind bool             // it was late: it reads all before it listens again, and nothing is read for it
}

func (f *eventFeed) follow(after store.AuditPlace, isLive bool) *follower {
	return &follower{feed: f, at: after, isLive: isLive, most: feedBound}
}

// next returns the next part, as soon as there is one. A part without events says how far the caller has come. The
// error is io.EOF at the end, and when the server ends.
func (r *follower) next(ctx context.Context) (feedPart, error) {
	for {
		part, err := r.try(ctx)
		if err == nil {
			r.at = part.next
		}
		if !errors.Is(err, errLate) {
			return part, err
		}
		r.leave()
		r.isBehind = true
	}
}

// errLate means that a follower has to read what it missed.
var errLate = errors.New("the listener is late")

func (r *follower) try(ctx context.Context) (part feedPart, err error) {
	if r.isLive && !r.isBehind && r.live == nil {
		if r.live, err = r.feed.listen(ctx); err != nil {
			return part, err
		}
	}
	if !r.isHere {
		var end feedEnd
		if r.live != nil {
			if end = r.live.start; r.live.isLate.Load() {
				return part, errLate
			}
		}
		part, err = r.feed.read(ctx, r.at, end, r.most)
		if err == nil && !part.isMore {
			r.isHere, r.isBehind = !r.isBehind, false
		}
		return part, err
	}
	if !r.isLive {
		return part, io.EOF
	}
	check := time.NewTimer(feedCheck)
	defer check.Stop()
	isOpen := true
	select {
	case part, isOpen = <-r.live.parts:
	case <-check.C:
		return feedPart{next: r.at}, nil
	case <-r.feed.ended:
		return part, io.EOF
	case <-ctx.Done():
		return part, ctx.Err()
	}
	switch {
	case r.live.isLost.Load():
		return feedPart{}, io.EOF
	case !isOpen || r.live.isLate.Load():
		return feedPart{}, errLate
	}
	return part, nil
}

// leave keeps nothing for the follower but its place, until next is called.
func (r *follower) leave() {
	if r.live != nil {
		r.feed.leave(r.live)
	}
	r.live, r.isHere = nil, false
}

// resume continues after another place than that of the last part, with little at once.
func (r *follower) resume(at store.AuditPlace) {
	r.leave()
	r.at, r.most = at, slowBound
}

// read reads one part when it is the caller's turn, unless another caller has just read it.
func (f *eventFeed) read(
	ctx context.Context, after store.AuditPlace, end feedEnd, most store.AuditBound,
) (part feedPart, err error) {
	done, err := f.readers.take(ctx)
	if err != nil {
		return part, err
	}
	defer done()
	key := keptKey{after, most}
	if known, ok := f.kept.Get(key); ok && known.serves(end) {
		return known.feedPart, nil
	}
	batch, err := f.store.NextAudit(ctx, after, end.position, most)
	if err != nil {
		return part, err
	}
	if part, err = f.partOf(ctx, batch); err == nil && end.position != "" {
		f.kept.Add(key, keptPart{part, end})
	}
	return part, err
}

// recent returns the newest events that the caller may see, so that a first look shows something.
func (f *eventFeed) recent(
	ctx context.Context, caller Caller, types []api.EventType, most int,
) (page api.EventPage, err error) {
	page.Data = []api.Event{}
	done, err := f.readers.take(ctx)
	if err != nil {
		return page, err
	}
	defer done()
	var unreadable error
	batch, err := f.store.RecentAudit(ctx, store.RecentAudit{
		Actions: actionsFor(caller, types),
		Most:    store.AuditBound{Entries: most, Bytes: feedBound.Bytes},
		Wants: func(entry store.AuditEntry) bool {
			e, isEvent, err := eventOf(entry)
			unreadable = errors.Join(unreadable, err)
			return isEvent && e.isFor(caller, types)
		},
	})
	if err = errors.Join(err, unreadable); err != nil {
		return page, err
	}
	part, err := f.partOf(ctx, batch)
	for _, e := range part.events {
		page.Data = append(page.Data, e.Event)
	}
	cursors, failed := f.cursors(ctx)
	if err = errors.Join(err, failed); err == nil {
		page.Next = cursors.write(part.next)
	}
	return page, err
}
