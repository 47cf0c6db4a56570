package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"example.com/perks/api"
)

// What a service lacks that changes no perks over its API.
const (
	historyOfPerks = "history of perks"
	stockOfPerks   = "stock of perks"
)

// PerkSeen returns a perk as this client sees it. Without the scope perks:write, that is what users see: it has neither
// an approval nor an ETag.
func (c *Client) PerkSeen(ctx context.Context, id string) (record api.PerkRecord, etag string, err error) {
	res, err := c.perk(ctx, id, nil, &record, &record.Perk)
	if err == nil && record.Approval != "" {
		etag = res.Header().Get("ETag")
	}
	return record, etag, err
}

// PerkRecord returns a perk with what can be changed of it, and its ETag. It needs the scope perks:write: other clients
// only see what users see.
func (c *Client) PerkRecord(ctx context.Context, id string) (api.PerkRecord, string, error) {
	record, etag, _, err := c.perkRecord(ctx, id, nil)
	return record, etag, err
}

func (c *Client) perkRecord(
	ctx context.Context, id string, query url.Values,
) (record api.PerkRecord, etag string, header http.Header, err error) {
	res, err := c.perk(ctx, id, query, &record, &record.Perk)
	if res != nil {
		header = res.Header()
	}
	if err == nil && record.Approval == "" {
		if path, invalid := c.perkPath(id); invalid == nil && c.lacks(ctx, path+"/history") {
			return api.PerkRecord{}, "", header, unsupported(ChangesOfPerks, nil)
		}
		err = &Error{Status: http.StatusForbidden, Code: api.CodeInsufficientScope, Message: fmt.Sprintf(
			"The service shows of perk %q only what users see. To read the rest and to change it, the client needs "+
				"the scope %s.", id, api.ScopePerksWrite)}
	}
	if err != nil {
		return api.PerkRecord{}, "", header, err
	}
	if etag = header.Get("ETag"); etag != "" {
		c.config.GivesETags.Store(true)
	}
	return record, etag, header, nil
}

// PerkAsOf returns a perk as it was at a time, with its ETag.
func (c *Client) PerkAsOf(ctx context.Context, id string, at time.Time) (api.PerkRecord, string, error) {
	record, etag, header, err := c.perkRecord(ctx, id, url.Values{"as_of": {at.UTC().Format(time.RFC3339Nano)}})
	// Who does not know the parameter ignores it, and answers with the perk as it is now.
	if header != nil && header.Get(api.HeaderAsOf) == "" && (err == nil || IsMissing(err)) {
		return api.PerkRecord{}, "", unsupported(historyOfPerks, err)
	}
	return record, etag, err
}

// CreatePerk creates a perk with the fields of the patch, once for each idempotency key, and returns it with its ETag.
// The service chooses the id if it is "". replay says that the server had processed the key before.
func (c *Client) CreatePerk(
	ctx context.Context, id string, fields api.PerkPatch, key string,
) (created Version[api.PerkRecord], replay bool, err error) {
	call, err := call{method: http.MethodPost, path: c.perksPath("")}.withJSON(struct {
		ID string `json:"id,omitempty"`
		api.PerkPatch
	}{id, fields})
	if err != nil {
		return created, false, err
	}
	isRecord := func() bool { return created.Record.ID != "" }
	res, err := c.fetchRecord(ctx, call.withHeader(idempotencyKey, key), &created.Record, isRecord, "id")
	if err == nil && id != "" && !api.SameID(created.Record.ID, id) {
		err = c.unreadable(call, res, fmt.Errorf("it is the perk %q", created.Record.ID))
	}
	switch {
	case IsMissing(err):
		return Version[api.PerkRecord]{}, false, unsupported(ChangesOfPerks, err)
	case err != nil:
		return Version[api.PerkRecord]{}, false, err
	}
	created.ETag = res.Header().Get("ETag")
	return created, isReplay(res), nil
}

// UpdatePerk changes the fields of the patch; with an ETag in ifMatch, only while that is the current version. The
// message has the ETags of the versions that it found and left.
func (c *Client) UpdatePerk(ctx context.Context, id string, patch api.PerkPatch, ifMatch string) (api.Message, error) {
	path, err := c.perkPath(id)
	if err != nil {
		return api.Message{}, err
	}
	call, err := call{method: http.MethodPatch, path: path}.withJSON(patch)
	if err == nil {
		err = c.guard(fmt.Sprintf("perk %q", id), ifMatch, func() (string, error) {
			_, etag, err := c.PerkRecord(ctx, id)
			return etag, err
		})
	}
	if err != nil {
		return api.Message{}, err
	}
	message, err := c.confirm(ctx, call.withHeader("If-Match", ifMatch))
	return message, c.orNoPerks(ctx, id, ChangesOfPerks, err)
}

// PerkStock returns how many units of a perk there are.
func (c *Client) PerkStock(ctx context.Context, id string) (api.PerkStock, error) {
	stock, _, err := c.stock(ctx, id, call{method: http.MethodGet})
	return stock, err
}

// ChangePerkStock changes the stock of a perk, once for each idempotency key, and returns what it left. replay says
// that the server had processed the key before.
func (c *Client) ChangePerkStock(
	ctx context.Context, id string, change api.StockChange, key string,
) (stock api.PerkStock, replay bool, err error) {
	call, err := call{method: http.MethodPost}.withJSON(change)
	if err != nil {
		return stock, false, err
	}
	return c.stock(ctx, id, call.withHeader(idempotencyKey, key))
}

func (c *Client) stock(ctx context.Context, id string, call call) (stock api.PerkStock, replay bool, err error) {
	path, err := c.perkPath(id)
	if err != nil {
		return stock, false, err
	}
	call.path = path + "/stock"
	isRecord := func() bool { return stock.Approval != "" }
	res, err := c.fetchRecord(ctx, call, &stock, isRecord, "held")
	if err != nil {
		return api.PerkStock{}, false, c.orNoPerks(ctx, id, stockOfPerks, err)
	}
	return stock, isReplay(res), nil
}

// PerkHistory returns one page of the versions of a perk, the newest first.
func (c *Client) PerkHistory(
	ctx context.Context, id string, options ListOptions,
) (api.Page[api.PerkVersion], error) {
	return onePage(c.PerkHistoryPages(ctx, id, options))
}

// PerkHistoryPages returns the pages of the versions of a perk, from options.Page on.
func (c *Client) PerkHistoryPages(ctx context.Context, id string, options ListOptions) Pages[api.PerkVersion] {
	path, err := c.perkPath(id)
	return c.versionPages(ctx, path+"/history", err, options,
		func(err error) error { return c.orNoPerks(ctx, id, historyOfPerks, err) })
}

// PerkVersionsSince is PropertyVersionsSince for a perk.
func (c *Client) PerkVersionsSince(ctx context.Context, id string, since time.Time) ([]api.PerkVersion, error) {
	path, err := c.perkPath(id)
	return c.versionsSince(ctx, path+"/history", err, since,
		func(err error) error { return c.orNoPerks(ctx, id, historyOfPerks, err) })
}

// orNoPerks replaces an error if the service lacks the address, which the 404 of a perk does not tell.
func (c *Client) orNoPerks(ctx context.Context, id, what string, err error) error {
	refused, isRefusal := errors.AsType[*Error](err)
	path, invalid := c.perkPath(id)
	if err == nil || invalid != nil || isRefusal && refused.Param == api.ParamPerk {
		return err
	}
	return c.orNone(ctx, path+"/history", what, err)
}
