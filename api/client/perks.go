package client

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"

	"example.com/perks/api"
)

// Perks returns one page of the perks that match.
func (c *Client) Perks(ctx context.Context, options PerkListOptions) (api.Page[api.Perk], error) {
	return onePage(c.PerkPages(ctx, options))
}

// PerkPages walks the perks that match, page by page from options.Page on.
func (c *Client) PerkPages(ctx context.Context, options PerkListOptions) iter.Seq2[api.Page[api.Perk], error] {
	return walk[api.Perk](ctx, c, get(c.perksPath(""), options.values()))
}

// Perk returns one perk.
func (c *Client) Perk(ctx context.Context, id string) (api.Perk, error) {
	path, err := c.perkPath(id)
	if err != nil {
		return api.Perk{}, err
	}
	var perk api.Perk
	_, err = c.fetch(ctx, get(path, nil), &perk)
	return perk, err
}

// Categories returns all categories.
func (c *Client) Categories(ctx context.Context) ([]api.Category, error) {
	categories := []api.Category{}
	_, err := c.fetch(ctx, get(c.perksPath("/categories"), nil), &categories)
	return categories, err
}

// UserPerks returns one page of the perks that the user can redeem now.
func (c *Client) UserPerks(ctx context.Context, userID string, options PerkListOptions) (api.Page[api.Perk], error) {
	return onePage(c.UserPerkPages(ctx, userID, options))
}

// UserPerkPages walks the perks that the user can redeem now.
func (c *Client) UserPerkPages(ctx context.Context, userID string, options PerkListOptions) iter.Seq2[api.Page[api.Perk], error] {
	call, err := c.userCall(userID, "available", options.values())
	if err != nil {
		return failed[api.Page[api.Perk]](err)
	}
	return walk[api.Perk](ctx, c, call)
}

// UserRedemptions returns one page of what the user has redeemed.
func (c *Client) UserRedemptions(ctx context.Context, userID string, options ListOptions) (api.Page[api.Redemption], error) {
	return onePage(c.UserRedemptionPages(ctx, userID, options))
}

// UserRedemptionPages walks what the user has redeemed.
func (c *Client) UserRedemptionPages(ctx context.Context, userID string, options ListOptions) iter.Seq2[api.Page[api.Redemption], error] {
	call, err := c.userCall(userID, "redeemed", options.values())
	if err != nil {
		return failed[api.Page[api.Redemption]](err)
	}
	return walk[api.Redemption](ctx, c, call)
}

// Redeem redeems a perk for a user under the key, which may be empty. It tells whether the answer is a replay: the server
// had seen the key with this request before and did nothing now. A replay of an attempt that was lost on the way, and made
// again by this call, is none.
func (c *Client) Redeem(ctx context.Context, perkID string, request api.RedeemRequest, key string) (redemption api.Redemption, replay bool, err error) {
	path, err := c.perkPath(perkID)
	if err != nil {
		return api.Redemption{}, false, err
	}
	call, err := call{method: http.MethodPost, path: path + "/redeem"}.withJSON(request)
	if err != nil {
		return api.Redemption{}, false, err
	}
	res, err := c.fetch(ctx, call.withHeader(idempotencyKey, key), &redemption)
	if err != nil {
		return api.Redemption{}, false, err
	}
	if redemption.ID == "" || !api.SameID(cmp.Or(redemption.PerkID, perkID), perkID) || !api.SameID(cmp.Or(redemption.UserID, request.UserID), request.UserID) {
		return api.Redemption{}, false, c.unreadable(call, res, errors.New("it is not the redemption that was asked for"))
	}
	return redemption, res.Header().Get(replayed) == "true" && !effortOf(res.Request.Context()).lost, nil
}

// perkPath refuses the two ids that are addresses of other endpoints.
func (c *Client) perkPath(id string) (string, error) {
	if id == "categories" || id == "users" {
		fields := api.FieldErrors{}
		fields.Add("perk_id", "%s", api.PerkIDRule(id))
		return "", fields.Err()
	}
	part, err := segment("perk_id", id)
	if err != nil {
		return "", err
	}
	return c.perksPath("/" + part), nil
}

func (c *Client) userCall(userID, kind string, query url.Values) (call, error) {
	part, err := segment("user_id", userID)
	if err != nil {
		return call{}, err
	}
	query.Set("type", kind)
	return get(c.perksPath("/users/"+part), query), nil
}
