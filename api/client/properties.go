package client

import (
	"context"
	"iter"
	"net/http"
	"time"

	"example.com/perks/api"
)

// PropertyListOptions also chooses listings. A zero filter matches all.
type PropertyListOptions struct {
	ListOptions
	api.PropertyFilter
}

// propertiesPath is the same for a sandbox client: the sandbox has no properties.
const propertiesPath = "/partners/properties"

// Properties returns one page of the matching listings.
func (c *Client) Properties(ctx context.Context, options PropertyListOptions) (api.Page[api.Property], error) {
	return onePage(c.PropertyPages(ctx, options))
}

// PropertyPages returns the pages of matching listings, from options.Page on.
func (c *Client) PropertyPages(ctx context.Context, options PropertyListOptions) iter.Seq2[api.Page[api.Property], error] {
	call, err := c.listCall(propertiesPath, options.PropertyFilter.Values(), options.ListOptions)
	return orUnsupported("list of properties", walk[api.Property](ctx, c, call, err))
}

// CreateProperty creates a listing with the fields of the patch, and returns it with its ETag. replay says that the server had processed the
// idempotency key before. If the reply is lost, and the server honours keys, the request is sent again, which does not count as that.
func (c *Client) CreateProperty(ctx context.Context, fields api.PropertyPatch, key string) (created Version, replay bool, err error) {
	call, err := call{method: http.MethodPost, path: propertiesPath}.withJSON(fields)
	if err != nil {
		return Version{}, false, err
	}
	call = call.withHeader(idempotencyKey, key)
	created, replay, err = c.createProperty(ctx, call)
	if !OutcomeUnknown(err) || key == "" || ctx.Err() != nil {
		return created, replay, err
	}
	soon := c.Until(time.Now().Add(checkTimeout))
	if !c.HonoursKeys() {
		probe := get(propertiesPath, ListOptions{PerPage: 1}.values()).withHeader(idempotencyKey, ProbeKey)
		_, _ = soon.send(ctx, probe)
	}
	if !c.HonoursKeys() {
		return created, false, err
	}
	again, _, failure := soon.createProperty(ctx, call)
	if failure == nil || KeyUnused(failure) {
		return again, false, failure
	}
	return created, false, err
}

func (c *Client) createProperty(ctx context.Context, call call) (created Version, replay bool, err error) {
	isRecord := func() bool { return created.Property.PropertyID() != "" }
	res, err := c.fetchRecord(ctx, call, &created.Property, isRecord, "propertyId")
	switch {
	case IsMissing(err):
		return Version{}, false, unsupported("creation of properties", err)
	case err != nil:
		return Version{}, false, err
	}
	if created.Property.Images == nil {
		created.Property.Images = []string{}
	}
	created.ETag = res.Header().Get("ETag")
	return created, res.Header().Get(replayed) == "true" && !stateOf(res.Request.Context()).lost, nil
}
