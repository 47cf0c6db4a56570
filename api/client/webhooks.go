package client

import (
	"context"
	"net/http"
	"net/url"

	"example.com/perks/api"
)

const webhooks = "webhooks"

func (c *Client) webhookPath(id, verb string) (string, error) {
	segment, err := pathSegment("webhook", id)
	return c.partnersPath("/webhooks/" + segment + verb), err
}

// Webhooks returns one page of the client's webhooks.
func (c *Client) Webhooks(ctx context.Context, options ListOptions) (api.Page[api.Webhook], error) {
	return onePage(c.WebhookPages(ctx, options))
}

// WebhookPages returns the pages of the client's webhooks, from options.Page on.
func (c *Client) WebhookPages(ctx context.Context, options ListOptions) Pages[api.Webhook] {
	call, err := c.listCall(c.partnersPath("/webhooks"), url.Values{}, options)
	return orUnsupported(webhooks, walk[api.Webhook](ctx, c, call, err))
}

// Webhook returns one of the client's webhooks.
func (c *Client) Webhook(ctx context.Context, id string) (hook api.Webhook, err error) {
	path, err := c.webhookPath(id, "")
	if err != nil {
		return hook, err
	}
	err = c.fetchWebhook(ctx, get(path, nil), &hook, &hook.ID)
	return hook, err
}

// CreateWebhook has events sent to an address, once for each idempotency key, and returns the webhook with its secret,
// which the service does not show again. replay says that the server had processed the key before.
func (c *Client) CreateWebhook(
	ctx context.Context, hook api.NewWebhook, key string,
) (created api.WebhookSecret, replay bool, err error) {
	call, err := call{method: http.MethodPost, path: c.partnersPath("/webhooks")}.withJSON(hook)
	if err != nil {
		return created, false, err
	}
	isRecord := func() bool { return created.ID != "" && created.Secret != "" }
	res, err := c.fetchRecord(ctx, call.withHeader(idempotencyKey, key), &created, isRecord, "id", "secret")
	switch {
	case IsMissing(err):
		return api.WebhookSecret{}, false, unsupported(webhooks, err)
	case err != nil:
		return api.WebhookSecret{}, false, err
	}
	return created, isReplay(res), nil
}

// UpdateWebhook changes the fields of the patch, and returns the webhook as it is then.
func (c *Client) UpdateWebhook(
	ctx context.Context, id string, patch api.WebhookPatch,
) (hook api.Webhook, err error) {
	path, err := c.webhookPath(id, "")
	if err != nil {
		return hook, err
	}
	call, err := call{method: http.MethodPatch, path: path}.withJSON(patch)
	if err != nil {
		return hook, err
	}
	err = c.fetchWebhook(ctx, call, &hook, &hook.ID)
	return hook, err
}

// DeleteWebhook deletes a webhook.
func (c *Client) DeleteWebhook(ctx context.Context, id string) (api.Message, error) {
	path, err := c.webhookPath(id, "")
	if err != nil {
		return api.Message{}, err
	}
	message, err := c.confirm(ctx, call{method: http.MethodDelete, path: path})
	return message, c.orNoWebhooks(ctx, err)
}

// TestWebhook sends a test event to a webhook, and returns what came of it.
func (c *Client) TestWebhook(ctx context.Context, id string) (delivery api.WebhookDelivery, err error) {
	path, err := c.webhookPath(id, "/test")
	if err != nil {
		return delivery, err
	}
	err = c.fetchWebhook(ctx, call{method: http.MethodPost, path: path}, &delivery, &delivery.ID)
	return delivery, err
}

// WebhookDeliveries returns one page of what was sent to a webhook, the newest first.
func (c *Client) WebhookDeliveries(
	ctx context.Context, id string, options ListOptions,
) (api.Page[api.WebhookDelivery], error) {
	return onePage(c.WebhookDeliveryPages(ctx, id, options))
}

// WebhookDeliveryPages returns the pages of what was sent to a webhook, from options.Page on.
func (c *Client) WebhookDeliveryPages(ctx context.Context, id string, options ListOptions) Pages[api.WebhookDelivery] {
	path, err := c.webhookPath(id, "/deliveries")
	if err != nil {
		return walk[api.WebhookDelivery](ctx, c, call{}, err)
	}
	list, err := c.listCall(path, url.Values{}, options)
	return func(yield func(api.Page[api.WebhookDelivery], error) bool) {
		for page, err := range walk[api.WebhookDelivery](ctx, c, list, err) {
			if !yield(page, c.orNoWebhooks(ctx, err)) {
				return
			}
		}
	}
}

// RedeliverWebhook sends an event to a webhook again, and returns what came of it.
func (c *Client) RedeliverWebhook(
	ctx context.Context, id, eventID string,
) (delivery api.WebhookDelivery, err error) {
	path, err := c.webhookPath(id, "/redeliver")
	if err != nil {
		return delivery, err
	}
	call, err := call{method: http.MethodPost, path: path}.withJSON(api.WebhookRedelivery{EventID: eventID})
	if err != nil {
		return delivery, err
	}
	err = c.fetchWebhook(ctx, call, &delivery, &delivery.ID)
	return delivery, err
}

// RotateWebhookSecret makes a new secret, and returns the webhook with it. The old one signs too for
// api.WebhookSecretOverlap.
func (c *Client) RotateWebhookSecret(ctx context.Context, id string) (hook api.WebhookSecret, err error) {
	path, err := c.webhookPath(id, "/rotate-secret")
	if err != nil {
		return hook, err
	}
	err = c.fetchWebhook(ctx, call{method: http.MethodPost, path: path}, &hook, &hook.Secret)
	return hook, err
}

// fetchWebhook reads a record of which a member that must be there is not empty.
func (c *Client) fetchWebhook(ctx context.Context, call call, into any, member *string) error {
	_, err := c.fetchRecord(ctx, call, into, func() bool { return *member != "" }, "id")
	return c.orNoWebhooks(ctx, err)
}

// orNoWebhooks replaces a 404 if the service has no webhooks at all.
func (c *Client) orNoWebhooks(ctx context.Context, err error) error {
	if IsMissing(err) && !c.lists(ctx, c.partnersPath("/webhooks")) {
		return unsupported(webhooks, err)
	}
	return err
}
