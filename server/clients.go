package server

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/perks/store"
)

// tokenNotes notes when clients last got a token, beside the requests: none waits for it, or fails with it. What is not
// written yet is lost in a crash. All replicas together write once an hour for each client, because a request for a
// token reads from the database when that was noted last.
type tokenNotes struct {
	ctx    context.Context // until the server stops
	config Config

	mu      sync.Mutex
	pending map[string]time.Time // by client
	writing bool
	resume  time.Time // nothing is noted before, after an attempt that failed
}

// noteTime bounds a write of notes, and is the pause after one that failed.
const noteTime = time.Minute

// maxNotes is how many clients one transaction notes, so that other writes don't wait for long.
const maxNotes = 100

// note notes that the client, as the database has it, got a token.
func (n *tokenNotes) note(client store.Client, at time.Time) {
	if at.Sub(client.LastTokenAt) < store.TokenNoteInterval {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if at.Before(n.resume) {
		return
	}
	n.pending[client.ID] = at
	if !n.writing {
		n.writing = true
		go n.write()
	}
}

// write writes what is pending until nothing is.
func (n *tokenNotes) write() {
	for issued := n.take(); issued != nil; issued = n.take() {
		ctx, cancel := context.WithTimeout(n.ctx, noteTime)
		err := n.config.Live.NoteTokens(ctx, issued)
		cancel()
		if err != nil && n.ctx.Err() == nil {
			n.pause()
			n.config.Logger.Warn("cannot note when clients got tokens; trying again in a minute", "error", err)
		}
	}
}

// take takes what to write next, or returns nil if nothing is pending, and then write ends.
func (n *tokenNotes) take() map[string]time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.writing = len(n.pending) > 0; !n.writing {
		return nil
	}
	issued := map[string]time.Time{}
	for id, at := range n.pending {
		if len(issued) < maxNotes {
			issued[id] = at
			delete(n.pending, id)
		}
	}
	return issued
}

// pause drops what is pending: later tokens of these clients are noted.
func (n *tokenNotes) pause() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.resume = n.config.Now().Add(noteTime)
	clear(n.pending)
}

// warnBefore is how long before its expiry a client is warned of, and warnInterval how often.
const (
	warnBefore   = 14 * 24 * time.Hour
	warnInterval = 24 * time.Hour
)

// expiryWatch warns of clients that expire soon. It only works while it runs.
type expiryWatch struct {
	config   Config
	expiring prometheus.Gauge
	warned   map[string]time.Time // by client
}

func (w *expiryWatch) run(ctx context.Context, ticks <-chan time.Time) {
	for {
		w.check(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticks:
		}
	}
}

func (w *expiryWatch) check(ctx context.Context) {
	clients, err := w.config.Live.Clients(ctx)
	if err != nil {
		if ctx.Err() == nil {
			w.config.Logger.Warn("cannot check which clients expire soon; trying again in an hour", "error", err)
		}
		return
	}
	now, expiring := w.config.Now(), 0
	for _, client := range clients {
		if client.ExpiresAt.IsZero() || client.Refusal(now) != "" || client.ExpiresAt.Sub(now) > warnBefore {
			continue
		}
		expiring++
		if now.Sub(w.warned[client.ID]) >= warnInterval {
			w.warned[client.ID] = now
			w.config.Logger.Warn("a client expires soon, and is refused then; to keep it, run perksd client update "+
				client.ID+" --expires DATE", "client", client.ID, "expires_at", client.ExpiresAt.UTC())
		}
	}
	w.expiring.Set(float64(expiring))
}
