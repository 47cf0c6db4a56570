package client

import (
	"context"
	"net/http"

	"example.com/perks/api"
)

// Version is a record as it was read, with its ETag if the server gave one.
type Version[R any] struct {
	Record R
	ETag   string
}

// propertiesPath is the same for a sandbox client: the sandbox has no properties.
const propertiesPath = "/partners/properties"

// Properties returns one page of the matching listings.
func (c *Client) Properties(
	ctx context.Context, filter api.PropertyFilter, options ListOptions,
) (api.Page[api.Property], error) {
	return onePage(c.PropertyPages(ctx, filter, options))
}

// PropertyPages returns the pages of matching listings, from options.Page on.
func (c *Client) PropertyPages(
	ctx context.Context, filter api.PropertyFilter, options ListOptions,
) Pages[api.Property] {
	call, err := c.listCall(propertiesPath, filter.Values(), options)
	return orUnsupported(ListOfProperties, walk[api.Property](ctx, c, call, err))
}

// CreateProperty creates a listing with the fields of the patch, once for each idempotency key, and returns it with its
// ETag. replay says that the server had processed the key before.
func (c *Client) CreateProperty(
	ctx context.Context, fields api.PropertyPatch, key string,
) (created Version[api.Property], replay bool, err error) {
	call, err := call{method: http.MethodPost, path: propertiesPath}.withJSON(fields)
	if err != nil {
		return created, false, err
	}
	call = call.withHeader(idempotencyKey, key)
	isRecord := func() bool { return created.Record.PropertyID() != "" }
	res, err := c.fetchRecord(ctx, call, &created.Record, isRecord, "propertyId")
	switch {
	case IsMissing(err):
		return Version[api.Property]{}, false, unsupported("creation of properties", err)
	case err != nil:
		return Version[api.Property]{}, false, err
	}
	if created.Record.Images == nil {
		created.Record.Images = []string{}
	}
	created.ETag = res.Header().Get("ETag")
	return created, isReplay(res), nil
}

// ProbeKeys finds out whether the server honours idempotency keys, if that is not known yet; see HonoursKeys.
func (c *Client) ProbeKeys(ctx context.Context) {
	if !c.HonoursKeys() {
		probe := get(propertiesPath, ListOptions{PerPage: 1}.values()).withHeader(idempotencyKey, ProbeKey)
		_, _ = c.send(ctx, probe)
	}
}
