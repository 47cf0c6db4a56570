package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-resty/resty/v2"

	"example.com/perks/api"
)

// Perks returns one page of the matching perks.
func (c *Client) Perks(
	ctx context.Context, filter api.PerkFilter, options ListOptions,
) (api.Page[api.Perk], error) {
	return onePage(c.PerkPages(ctx, filter, options))
}

// PerkPages returns the pages of matching perks, from options.Page on.
func (c *Client) PerkPages(ctx context.Context, filter api.PerkFilter, options ListOptions) Pages[api.Perk] {
	return c.near(ctx, filter, options, func(filter api.PerkFilter) Pages[api.Perk] {
		call, err := c.listCall(c.perksPath(""), filter.Values(), options)
		return walk[api.Perk](ctx, c, call, err)
	})
}

// Perk returns one perk.
func (c *Client) Perk(ctx context.Context, id string) (api.Perk, error) {
	var perk api.Perk
	_, err := c.perk(ctx, id, nil, &perk, &perk)
	return perk, err
}

// perk reads a perk into into, of which perk is a part.
func (c *Client) perk(
	ctx context.Context, id string, query url.Values, into any, perk *api.Perk,
) (*resty.Response, error) {
	path, err := c.perkPath(id)
	if err != nil {
		return nil, err
	}
	call := get(path, query)
	res, err := c.fetchRecord(ctx, call, into, func() bool { return perk.ID != "" || perk.Title != "" }, "id")
	// of a redirect
	if err == nil && !api.SameID(cmp.Or(perk.ID, id), id) &&
		!strings.HasSuffix(res.RawResponse.Request.URL.Path, "/"+perk.ID) {
		err = c.unreadable(call, res, fmt.Errorf("it is the perk %q", perk.ID))
	}
	if err != nil {
		*perk = api.Perk{}
		return res, err
	}
	perk.ID = cmp.Or(perk.ID, id)
	return res, nil
}

// Categories returns all categories.
func (c *Client) Categories(ctx context.Context) ([]api.Category, error) {
	call := get(c.perksPath("/categories"), nil)
	res, err := c.send(ctx, call)
	if err != nil {
		return nil, err
	}
	var outer bodyMembers
	body, isWrapped := res.Body(), false
	if json.Unmarshal(body, &outer) == nil && outer["data"] != nil {
		body, isWrapped = outer["data"], true
	}
	var all []api.Category
	if err := json.Unmarshal(body, &all); err != nil || all == nil {
		return nil, c.unreadable(call, res, misread(body, err))
	}
	if i := slices.Index(all, api.Category{}); i >= 0 {
		return nil, c.unreadable(call, res, fmt.Errorf("item %d of the list is not a category", i+1))
	}
	if isWrapped {
		c.unwrapped()
	}
	return all, nil
}

// UserPerks returns one page of the perks that the user can redeem now.
func (c *Client) UserPerks(
	ctx context.Context, userID string, filter api.PerkFilter, options ListOptions,
) (api.Page[api.Perk], error) {
	return onePage(c.UserPerkPages(ctx, userID, filter, options))
}

// UserPerkPages returns the pages of them, from options.Page on.
func (c *Client) UserPerkPages(
	ctx context.Context, userID string, filter api.PerkFilter, options ListOptions,
) Pages[api.Perk] {
	return c.near(ctx, filter, options, func(filter api.PerkFilter) Pages[api.Perk] {
		call, err := c.userCall(userID, "available", filter.Values(), options)
		return walk[api.Perk](ctx, c, call, err)
	})
}

// UserRedemptions returns one page of what the user has redeemed.
func (c *Client) UserRedemptions(
	ctx context.Context, userID string, options ListOptions,
) (api.Page[api.Redemption], error) {
	return onePage(c.UserRedemptionPages(ctx, userID, options))
}

// UserRedemptionPages returns the pages of it, from options.Page on.
func (c *Client) UserRedemptionPages(ctx context.Context, userID string, options ListOptions) Pages[api.Redemption] {
	call, err := c.userCall(userID, "redeemed", url.Values{}, options)
	return walk[api.Redemption](ctx, c, call, err)
}

// Redeem redeems a perk for a user under an idempotency key, which may be empty. replay says that the server had
// processed the key before. Retries of this same call do not count as that.
func (c *Client) Redeem(ctx context.Context, perkID string, request api.RedeemRequest,
	key string) (redemption api.Redemption, replay bool, err error) {
	path, err := c.perkPath(perkID)
	if err != nil {
		return api.Redemption{}, false, err
	}
	call, err := call{method: http.MethodPost, path: path + "/redeem"}.withJSON(request)
	if err != nil {
		return api.Redemption{}, false, err
	}
	isRecord := func() bool { return redemption.ID != "" }
	res, err := c.fetchRecord(ctx, call.withHeader(idempotencyKey, key), &redemption, isRecord, "id", "perk_id")
	if err != nil {
		return api.Redemption{}, false, err
	}
	if !api.SameID(cmp.Or(redemption.PerkID, perkID), perkID) ||
		!api.SameID(cmp.Or(redemption.UserID, request.UserID), request.UserID) {
		return api.Redemption{}, false,
			c.unreadable(call, res, errors.New("it is not the redemption that was asked for"))
	}
	return redemption, isReplay(res), nil
}

// perkPath refuses the two ids that are addresses of other endpoints.
func (c *Client) perkPath(id string) (string, error) {
	if id == "categories" || id == "users" {
		return "", api.FieldErrorf("perk_id", "%s", api.PerkIDRule(id))
	}
	part, err := pathSegment("perk_id", id)
	if err != nil {
		return "", err
	}
	return c.perksPath("/" + part), nil
}

func (c *Client) userCall(userID, kind string, query url.Values, options ListOptions) (call, error) {
	part, err := pathSegment("user_id", userID)
	if err != nil {
		return call{}, err
	}
	query.Set("type", kind)
	return c.listCall(c.perksPath("/users/"+part), query, options)
}

// Property returns a listing and its ETag, if the server gives one.
func (c *Client) Property(ctx context.Context, id api.PropertyID) (api.Property, string, error) {
	version, _, err := c.property(ctx, id, nil)
	return version.Record, version.ETag, err
}

func (c *Client) property(
	ctx context.Context, id api.PropertyID, query url.Values,
) (Version[api.Property], *resty.Response, error) {
	var property api.Property
	path, err := propertyPath("get", id)
	if err != nil {
		return Version[api.Property]{}, nil, err
	}
	call := get(path, query)
	isRecord := func() bool {
		read := property
		read.Odd = nil // without any member, too, the listing lacks numbers
		return property.PropertyID() != "" || !api.PropertyChanges(api.Property{}, read).IsEmpty()
	}
	res, err := c.fetchRecord(ctx, call, &property, isRecord, "propertyId")
	got := property.PropertyID()
	if err == nil && got != "" && got.Subject() != id.Subject() {
		err = c.unreadable(call, res, fmt.Errorf("it is the property %s", got))
	}
	if err != nil {
		return Version[api.Property]{}, res, err
	}
	if got == "" {
		property.SetPropertyID(id)
	}
	if property.Images == nil {
		property.Images = []string{}
	}
	etag := res.Header().Get("ETag")
	if etag != "" {
		c.config.GivesETags.Store(true)
	}
	return Version[api.Property]{Record: property, ETag: etag}, res, nil
}

// guard refuses an ETag at a server that gives none: it would guard nothing. read reads the record.
func (c *Client) guard(name, ifMatch string, read func() (etag string, err error)) error {
	_, isDry := c.config.Transport.(*DryRun)
	if isDry || ifMatch == "" || c.config.Unguarded || c.config.GivesETags.Load() {
		return nil
	}
	if etag, err := read(); err != nil || etag != "" {
		return err
	}
	return api.Errorf(CodeUnguarded, "This server gives no ETags, so that one of %s would guard nothing. "+
		"Nothing was sent. Leave it out, or say --unguarded.", name)
}

func (c *Client) guardProperty(ctx context.Context, id api.PropertyID, ifMatch string) error {
	return c.guard("property "+string(id), ifMatch, func() (string, error) {
		_, etag, err := c.Property(ctx, id)
		return etag, err
	})
}

// CodeUnguarded is of a change that would not be guarded by the ETag that it has.
const CodeUnguarded api.Code = "unguarded"

// IsWeak tells whether an ETag is weak. Proxies that compress make ETags weak. Our server accepts them in If-Match, but
// a server that compares strongly (RFC 9110, section 13.1.1) always refuses them.
func IsWeak(etag string) bool { return strings.HasPrefix(etag, "W/") }

// UpdateProperty changes the fields of the patch; with an ETag in ifMatch, only while that is the current version. The
// message has the ETag of the version that it left, but not a weak one: that is what frameworks give any body.
func (c *Client) UpdateProperty(
	ctx context.Context, id api.PropertyID, patch api.PropertyPatch, ifMatch string,
) (api.Message, error) {
	path, err := propertyPath("update", id)
	if err != nil {
		return api.Message{}, err
	}
	call, err := call{method: http.MethodPatch, path: path}.withJSON(patch)
	if err == nil {
		err = c.guardProperty(ctx, id, ifMatch)
	}
	if err != nil {
		return api.Message{}, err
	}
	return c.confirm(ctx, call.withHeader("If-Match", ifMatch))
}

// DeleteProperty deletes a listing; with an ETag in ifMatch, only while that is the current version.
func (c *Client) DeleteProperty(ctx context.Context, id api.PropertyID, ifMatch string) (api.Message, error) {
	path, err := propertyPath("delete", id)
	if err == nil {
		err = c.guardProperty(ctx, id, ifMatch)
	}
	if err != nil {
		return api.Message{}, err
	}
	return c.confirm(ctx, call{method: http.MethodDelete, path: path}.withHeader("If-Match", ifMatch))
}

func propertyPath(verb string, id api.PropertyID) (string, error) {
	part, err := pathSegment("propertyId", string(id))
	return "/" + verb + "-property/" + part, err
}

// ListOptions chooses the page and the order of a list. Zero values leave the choice to the server.
type ListOptions struct {
	Page    int64  // from 1
	PerPage int    // 1 to api.MaxPerPage
	Sort    string // comma-separated fields, a leading "-" for descending
	Next    string // an api.Page's Next, for the page there: filters and what is above don't count
}

func (o ListOptions) values() url.Values {
	query := url.Values{}
	if o.Page != 0 {
		query.Set("page", strconv.FormatInt(o.Page, 10))
	}
	if o.PerPage != 0 {
		query.Set("per_page", strconv.Itoa(o.PerPage))
	}
	if o.Sort != "" {
		query.Set("sort", o.Sort)
	}
	return query
}
