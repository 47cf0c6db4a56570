package server

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"example.com/perks/api"
	"example.com/perks/api/webhook"
	"example.com/perks/store"
)

// How often a client may have something sent at once: in the long run per second, and at first.
const (
	webhookTestRate  = 1
	webhookTestBurst = 10
)

// webhookRoutes adds the addresses of the webhooks.
func (h perkHandlers) webhookRoutes(e *echo.Echo, path string) {
	allow, audited := h.authorize(api.ScopeWebhooksWrite, h.sandbox), h.limitAudit(h.sandbox)
	path += "/webhooks"
	get(e, path, h.listWebhooks, allow)
	e.POST(path, h.createWebhook, allow, audited)
	get(e, path+"/:webhookId", cacheable(h.getWebhook), allow)
	e.PATCH(path+"/:webhookId", h.updateWebhook, allow, audited)
	e.DELETE(path+"/:webhookId", h.deleteWebhook, allow, audited)
	e.POST(path+"/:webhookId/test", h.testWebhook, allow)
	get(e, path+"/:webhookId/deliveries", h.listWebhookDeliveries, allow)
	e.POST(path+"/:webhookId/redeliver", h.redeliverWebhook, allow)
	e.POST(path+"/:webhookId/rotate-secret", h.rotateWebhookSecret, allow, audited)
}

// webhook returns the webhook that the address names, if it is the caller's.
func (h perkHandlers) webhook(c echo.Context) (store.Webhook, error) {
	return h.store.Webhook(c.Request().Context(), callerOf(c).ClientID, api.LowerUUID(pathParameter(c, "webhookId")))
}

func (h perkHandlers) getWebhook(c echo.Context) (api.Webhook, error) {
	hook, err := h.webhook(c)
	return hook.Webhook, err
}

func (h perkHandlers) listWebhooks(c echo.Context) error {
	q := api.ParseParameters(c.Request().URL.RawQuery)
	window := windowOf(q)
	if err := q.Err(); err != nil {
		return err
	}
	list, err := h.store.ListWebhooks(c.Request().Context(), callerOf(c).ClientID, window)
	if err != nil {
		return err
	}
	page := store.List[api.Webhook]{Items: []api.Webhook{}, Total: list.Total}
	for _, hook := range list.Items {
		page.Items = append(page.Items, hook.Webhook)
	}
	return writePage(h.service, c, page, window, afterNumber(window, page.Total))
}

// auditEnd is where the audit log ends.
func (h perkHandlers) auditEnd(ctx context.Context) (store.AuditPlace, error) {
	batch, err := h.store.NextAudit(ctx, store.AuditPlace{}, "", feedBound)
	return batch.Next, err
}

func (h perkHandlers) createWebhook(c echo.Context) error {
	ctx, wanted, err := h.parseWebhook(c)
	if err != nil {
		return err
	}
	id, at := h.config.NewID(), h.now()
	place, err := h.auditEnd(ctx)
	if err != nil {
		return err
	}
	secrets := []webhookSecret{{Text: webhook.NewSecret(), Made: at}}
	sealed, err := h.hooks.keys.seal(ctx, id, secrets)
	if err != nil {
		return err
	}
	creation := store.WebhookCreation{By: callerOf(c).By(), Webhook: store.Webhook{
		Webhook:  api.Webhook{ID: id, URL: wanted.URL, Types: wanted.Types, Description: wanted.Description, CreatedAt: at},
		ClientID: callerOf(c).ClientID, Secrets: sealed, Position: place}}
	if creation.Key, err = idempotencyKey(c, fingerprint("webhook", wanted)); err != nil {
		return err
	}
	created, err := h.store.CreateWebhook(ctx, creation)
	if err != nil {
		return err
	}
	if created.Replayed {
		secrets, err = h.hooks.keys.open(ctx, created.Webhook)
		if err == nil && !secrets[0].Made.Equal(created.CreatedAt) {
			err = api.Errorf(api.CodeConflict, "The webhook %q, which this key has created, has another secret now.",
				created.ID)
		}
		if err != nil {
			return err
		}
	}
	h.hooks.poke()
	address := h.address(c.Request())
	address.Path, address.RawPath, address.RawQuery = address.Path+"/"+created.ID, "", ""
	c.Response().Header().Set("Location", address.String())
	setReplayed(c, created.Replayed)
	return writeSecret(c, http.StatusCreated, created.Webhook, secrets[0])
}

// parseWebhook reads a new webhook, and checks where its address leads.
func (h perkHandlers) parseWebhook(c echo.Context) (context.Context, api.NewWebhook, error) {
	ctx := c.Request().Context()
	wanted, err := parseBody(c, api.ParseNewWebhook)
	if err == nil {
		err = h.checkWebhookURL(ctx, wanted.URL)
	}
	return ctx, wanted, err
}

func (h perkHandlers) checkWebhookURL(ctx context.Context, address string) error {
	if problem := h.hooks.poster.check(ctx, address); problem != "" {
		return api.FieldErrorf("url", "%s", problem)
	}
	return nil
}

func writeSecret(c echo.Context, status int, hook store.Webhook, secret webhookSecret) error {
	c.Response().Header().Set("Cache-Control", noStore)
	return writeJSON(c, status, echo.MIMEApplicationJSON, api.WebhookSecret{Webhook: hook.Webhook, Secret: secret.Text})
}

func (h perkHandlers) updateWebhook(c echo.Context) error {
	ctx := c.Request().Context()
	patch, err := parseBody(c, api.ParseWebhookPatch)
	if err != nil {
		return err
	}
	hook, err := h.webhook(c)
	if err == nil && patch.URL.Set {
		err = h.checkWebhookURL(ctx, patch.URL.Value)
	}
	if err != nil {
		return err
	}
	enables := patch.Enabled.Set && patch.Enabled.Value
	var newest *store.AuditPlace // to begin at, if the position is gone
	if enables {
		_, err := h.store.NextAudit(ctx, hook.Position, "", store.AuditBound{Entries: 1, Bytes: 1})
		if isPositionLost(err) {
			var end store.AuditPlace
			end, err = h.auditEnd(ctx)
			newest = &end
		}
		if err != nil {
			return err
		}
	}
	changed, err := h.store.UpdateWebhook(ctx, hook.ClientID, hook.ID, callerOf(c).By(), h.now(),
		func(w *store.Webhook) (string, error) {
			if newest != nil && w.Position == hook.Position {
				w.Position = *newest
			}
			if !applyWebhook(patch, &w.Webhook) && !enables {
				return "", nil
			}
			return store.ActionUpdateWebhook, nil
		})
	if err != nil {
		return err
	}
	h.hooks.poke()
	return writeJSON(c, http.StatusOK, echo.MIMEApplicationJSON, changed.Webhook)
}

// applyWebhook changes the fields of the patch, and tells whether that is a change.
func applyWebhook(patch api.WebhookPatch, w *api.Webhook) (isChanged bool) {
	before := *w
	if patch.URL.Set {
		w.URL = patch.URL.Value
	}
	if patch.Types.Set {
		w.Types = patch.Types.Value
	}
	if patch.Description.Set {
		w.Description = patch.Description.Value
	}
	if patch.Enabled.Set {
		w.Enabled, w.Reason = patch.Enabled.Value, nil
	}
	return before.URL != w.URL || !slices.Equal(before.Types, w.Types) || before.Description != w.Description ||
		before.Enabled != w.Enabled || before.Reason != w.Reason
}

func (h perkHandlers) deleteWebhook(c echo.Context) error {
	id := api.LowerUUID(pathParameter(c, "webhookId"))
	err := h.store.DeleteWebhook(c.Request().Context(), callerOf(c).ClientID, id, callerOf(c).By(), h.now())
	if err != nil {
		return err
	}
	h.hooks.poke()
	return writeJSON(c, http.StatusOK, echo.MIMEApplicationJSON, api.Message{Message: api.MessageWebhookDeleted})
}

// errRotated is why a rotation begins again: another one came between.
var errRotated = errors.New("the secret was rotated at the same time")

func (h perkHandlers) rotateWebhookSecret(c echo.Context) error {
	ctx, at := c.Request().Context(), h.now()
	hook, err := h.webhook(c)
	if err != nil {
		return err
	}
	rotated := []webhookSecret{{Text: webhook.NewSecret(), Made: at}}
	// Secrets that cannot be decrypted are replaced: nothing was signed with them here.
	if former, err := h.hooks.keys.open(ctx, hook); err == nil {
		former[0].Until = at.Add(api.WebhookSecretOverlap)
		rotated = append(rotated, former[0])
	}
	sealed, err := h.hooks.keys.seal(ctx, hook.ID, rotated)
	if err != nil {
		return err
	}
	changed, err := h.store.UpdateWebhook(ctx, hook.ClientID, hook.ID, callerOf(c).By(), at,
		func(w *store.Webhook) (string, error) {
			if !slices.Equal(w.Secrets, hook.Secrets) {
				return "", store.NotStarted(errRotated)
			}
			w.Secrets = sealed
			return store.ActionRotateWebhook, nil
		})
	if err != nil {
		return err
	}
	h.hooks.poke()
	return writeSecret(c, http.StatusOK, changed, rotated[0])
}

func (h perkHandlers) testWebhook(c echo.Context) error {
	hook, err := h.webhook(c)
	if err != nil {
		return err
	}
	subject := store.WebhookSubject(hook.ID)
	return h.sendNow(c, hook, api.Event{ID: subject + "/" + h.config.NewID(), Type: api.EventWebhookTest, At: h.now(),
		Subject: subject})
}

func (h perkHandlers) redeliverWebhook(c echo.Context) error {
	wanted, err := parseBody(c, api.ParseWebhookRedelivery)
	if err != nil {
		return err
	}
	hook, err := h.webhook(c)
	if err != nil {
		return err
	}
	event, found, err := h.feed.eventNamed(c.Request().Context(), wanted.EventID)
	if err != nil {
		return err
	}
	if !found || !event.maySee(callerOf(c)) {
		return api.Errorf(api.CodeNotFound, "There is no event %q that the client may see.", wanted.EventID)
	}
	return h.sendNow(c, hook, event.Event)
}

// sendNow posts an event and responds with what came of it. It changes nothing of what waits.
func (h perkHandlers) sendNow(c echo.Context, hook store.Webhook, event api.Event) error {
	ctx := c.Request().Context()
	if !h.webhookRate.take(rateKey{hook.ClientID, h.sandbox}) {
		return tooMany(time.Second/webhookTestRate, "The client %q has sent too many events at once.", hook.ClientID)
	}
	secrets, err := h.hooks.keys.open(ctx, hook)
	if err != nil {
		return err
	}
	keys, err := signing(secrets, h.now())
	if err != nil {
		return err
	}
	body, err := webhook.Body(event)
	if err != nil {
		return err
	}
	sent := h.hooks.poster.post(ctx, hook.URL, event.ID, body, h.now(), keys)
	delivery := sent.delivery(h.config.NewID(), hook.ID, event, 0, nil)
	if err := h.store.AddWebhookDeliveries(ctx, []api.WebhookDelivery{delivery}); err != nil {
		h.hooks.warn("what was sent to a webhook cannot be kept", "webhook", hook.ID, "error", sanitize(err.Error()))
	}
	return writeJSON(c, http.StatusOK, echo.MIMEApplicationJSON, delivery)
}

func (h perkHandlers) listWebhookDeliveries(c echo.Context) error {
	hook, err := h.webhook(c)
	if err != nil {
		return err
	}
	q := api.ParseParameters(c.Request().URL.RawQuery)
	query := store.WebhookQuery{ID: hook.ID, Window: windowOf(q), After: cursorOf(q, store.WebhookSort())}
	checkReach(q, query.Window, query.After, "deliveries", "")
	return writeList(h.service, c, h.sandbox, q, query.Window, store.WebhookSort(),
		func(ctx context.Context) (store.List[api.WebhookDelivery], error) {
			return h.store.ListWebhookDeliveries(ctx, query)
		})
}
