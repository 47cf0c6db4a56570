package client

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"example.com/perks/api"
)

// Property returns one listing and its ETag, empty if the server gives none.
func (c *Client) Property(ctx context.Context, id int64) (api.Property, string, error) {
	var property api.Property
	res, err := c.fetch(ctx, get(propertyPath("get", id), nil), &property)
	if err != nil {
		return api.Property{}, "", err
	}
	if property.Images == nil {
		property.Images = []string{}
	}
	return property, res.Header().Get("ETag"), nil
}

// IsWeak tells whether an ETag is weak. A proxy that compresses makes ETags weak; our server takes such a one in If-Match,
// but one that compares strongly (RFC 9110, section 13.1.1) refuses it whatever the listing is like.
func IsWeak(etag string) bool { return strings.HasPrefix(etag, "W/") }

// UpdateProperty changes the fields that the patch holds. With an ETag in ifMatch it changes them only while that is the
// current version.
func (c *Client) UpdateProperty(ctx context.Context, id int64, patch api.PropertyPatch, ifMatch string) (api.Message, error) {
	call, err := call{method: http.MethodPatch, path: propertyPath("update", id)}.withJSON(patch)
	if err != nil {
		return api.Message{}, err
	}
	return c.confirm(ctx, call.withHeader("If-Match", ifMatch))
}

// DeleteProperty deletes a listing. With an ETag in ifMatch it does so only while that is the current version.
func (c *Client) DeleteProperty(ctx context.Context, id int64, ifMatch string) (api.Message, error) {
	call := call{method: http.MethodDelete, path: propertyPath("delete", id)}
	return c.confirm(ctx, call.withHeader("If-Match", ifMatch))
}

func propertyPath(verb string, id int64) string {
	return "/" + verb + "-property/" + strconv.FormatInt(id, 10)
}
