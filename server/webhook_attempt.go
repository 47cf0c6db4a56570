package server

import (
	"context"

	"example.com/perks/api"
	"example.com/perks/api/webhook"
	"example.com/perks/store"
)

// webhookResult is what came of an event.
type webhookResult struct {
	sent    *outgoing // either of these
	retried *waiting
	event   api.Event
	outcome webhookOutcome
	posted  posted
}

type webhookOutcome int

const (
	outcomeAborted   webhookOutcome = iota // nothing is known, because the server stops
	outcomeDelivered                       // or it may not be seen, or is gone
	outcomeFailed
	outcomeLater // the database could not be read
)

// retry reads an event again and sends it.
func (e *webhookEndpoint) retry(ctx context.Context, failure store.WebhookFailure) webhookResult {
	cursor, err := e.sender.store.WebhookFailureCursor(ctx, e.id, failure.Number)
	if err != nil {
		return e.later(ctx, err)
	}
	event, found, err := e.sender.feed.eventOf(ctx, failure.Key(), cursor)
	switch {
	case err != nil:
		return e.later(ctx, err)
	case !found:
		return webhookResult{outcome: outcomeDelivered}
	}
	return e.send(ctx, event)
}

// later returns in a moment.
func (e *webhookEndpoint) later(ctx context.Context, err error) webhookResult {
	if ctx.Err() == nil {
		e.sender.warn("an event for a webhook cannot be read or signed; this is tried again", "webhook", e.id, "error",
			sanitize(err.Error()))
	}
	wait(ctx, e.stopping, webhookPause)
	return webhookResult{outcome: outcomeLater}
}

// send posts an event once the client may get it.
func (e *webhookEndpoint) send(ctx context.Context, event feedEvent) (result webhookResult) {
	result.event = event.Event
	for isActive := false; !isActive; {
		caller, mayGet, err := e.sender.subscriber(ctx, e.hook.ClientID)
		switch isActive = err == nil && mayGet; {
		case e.mustStop(ctx):
			return result
		case !isActive: // its events wait until the client is back
			wait(ctx, e.stopping, webhookPause)
		case !event.maySee(caller):
			result.outcome = outcomeDelivered
			return result
		}
	}
	body, err := webhook.Body(event.Event)
	if err != nil {
		return e.later(ctx, err)
	}
	if e.yield(ctx); e.mustStop(ctx) || !e.sender.isLeased() {
		return result
	}
	now := e.sender.service.now()
	secrets, err := signing(e.secrets, now)
	if err != nil {
		return e.later(ctx, err)
	}
	result.posted = e.sender.poster.post(ctx, e.hook.URL, event.ID, body, now, secrets)
	switch {
	case result.posted.answer == nil && ctx.Err() != nil: // it may have arrived
	case webhook.IsDelivered(result.posted.answer):
		result.outcome = outcomeDelivered
	default:
		result.outcome = outcomeFailed
	}
	return result
}

// yield waits for its turn while redeeming keeps the server busy, or until no request may begin.
func (e *webhookEndpoint) yield(ctx context.Context) {
	if !e.sender.service.redeeming.isBusy() {
		return
	}
	turn := e.sender.slow.Reserve()
	wait(ctx, e.stopping, turn.Delay())
	if e.mustStop(ctx) {
		turn.Cancel()
	}
}

// mustStop tells whether no request may begin.
func (e *webhookEndpoint) mustStop(ctx context.Context) bool {
	select {
	case <-e.stopping:
		return true
	default:
		return ctx.Err() != nil
	}
}
