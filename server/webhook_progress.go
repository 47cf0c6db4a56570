package server

import (
	"maps"
	"slices"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

// webhookProgress is what the next sync keeps.
type webhookProgress struct {
	position     store.AuditPlace
	kept         store.AuditPlace
	keptAt       time.Time
	isUrgent     bool // something was sent or failed since
	changed      map[int64]store.WebhookFailure
	ended        map[int64]bool
	saved        []int64 // of failures that the database has now
	failures     int
	failingSince *time.Time
	oldest       time.Time // when the oldest event happened that waits; zero without one
	disabled     string
	log          []api.WebhookDelivery
	logged       int // deliveries in the log that did not fail
}

// advance moves the position up to the first event that is not settled.
func (e *webhookEndpoint) advance() {
	settled := 0
	for settled < len(e.outstanding) && e.outstanding[settled].isSettled {
		e.progress.position = e.outstanding[settled].place
		settled++
	}
	if settled > 0 {
		e.outstanding = slices.Clone(e.outstanding[settled:]) // so that what was settled is not kept
		e.progress.isUrgent = true
	}
	if len(e.outstanding) == 0 {
		e.progress.position = e.read
	}
	e.count()
}

// count says how much waits. e.mu is locked.
func (e *webhookEndpoint) count() {
	p := &e.progress
	before := p.failures
	p.failures, p.oldest = 0, time.Time{}
	for _, chain := range e.failing {
		p.failures += len(chain)
		if p.oldest.IsZero() || chain[0].At.Before(p.oldest) {
			p.oldest = chain[0].At
		}
	}
	if len(e.outstanding) > 0 && (p.oldest.IsZero() || e.outstanding[0].At.Before(p.oldest)) {
		p.oldest = e.outstanding[0].At
	}
	switch {
	case p.failures == 0:
		p.failingSince = nil
	case p.failingSince == nil:
		now := e.sender.service.now()
		p.failingSince = &now
	}
	p.isUrgent = p.isUrgent || p.failures != before
}

// log notes a request for the list of deliveries, unless there are too many.
func (e *webhookEndpoint) log(r webhookResult, attempt int, next *time.Time) {
	d := r.posted.delivery(e.sender.service.config.NewID(), e.id, r.event, attempt, next)
	e.mu.Lock()
	defer e.mu.Unlock()
	p := &e.progress
	switch isFailure := d.Error != nil; {
	case !isFailure && p.logged < webhookMaxLogged:
		p.logged++
	case !isFailure || len(p.log)-p.logged >= 2*webhookMaxLogged:
		return
	}
	p.log = append(p.log, d)
}

// noteSaved makes those failures due that the database has: a retry reads the cursor there.
func (e *webhookEndpoint) noteSaved() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, number := range e.progress.saved {
		if w := e.unsaved[number]; w != nil {
			w.isSaved, w.Cursor = true, ""
			delete(e.unsaved, number)
		}
	}
	e.progress.saved = nil
}

// webhookSnapshot is what one sync keeps of a webhook.
type webhookSnapshot struct {
	endpoint *webhookEndpoint
	store.WebhookProgress
	log    []api.WebhookDelivery
	isDone bool // nothing comes after it
}

// snapshot returns what is to be kept, with a bounded number of deliveries. isDirty is false if there is nothing.
func (e *webhookEndpoint) snapshot(mostLogged int) (s webhookSnapshot, isDirty bool) {
	s = webhookSnapshot{endpoint: e, isDone: e.isDone()} // first: what came before is in it
	e.mu.Lock()
	defer e.mu.Unlock()
	p := &e.progress
	if !e.loaded {
		return s, false
	}
	s.WebhookProgress = store.WebhookProgress{ID: e.id, Position: p.position, FailingSince: p.failingSince,
		Disabled: p.disabled, Failures: slices.Collect(maps.Values(p.changed)),
		Ended: slices.Collect(maps.Keys(p.ended))}
	s.log = slices.Clone(p.log[:min(len(p.log), mostLogged)])
	moved := p.position != p.kept && (s.isDone || time.Since(p.keptAt) >= e.lazy)
	isDirty = p.isUrgent || moved || len(s.Failures)+len(s.Ended)+len(s.log) > 0
	p.isUrgent = false
	return s, isDirty
}

// keep notes that a snapshot was kept, or was not.
func (e *webhookEndpoint) keep(s webhookSnapshot, isKept bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := &e.progress
	if !isKept {
		p.isUrgent = true
		return
	}
	p.kept, p.keptAt = s.Position, time.Now()
	for _, failure := range s.Failures {
		if p.changed[failure.Number] == failure {
			delete(p.changed, failure.Number)
		}
		p.saved = append(p.saved, failure.Number)
	}
	for _, number := range s.Ended {
		delete(p.ended, number)
	}
	p.log = slices.Clone(p.log[len(s.log):])
	p.logged = 0
	for _, d := range p.log {
		if d.Error == nil {
			p.logged++
		}
	}
	select {
	case e.woken <- struct{}{}:
	default:
	}
}
