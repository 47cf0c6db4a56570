package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-resty/resty/v2"

	"example.com/perks/api"
)

// restoringOfListing is what a service lacks that keeps no versions of listings, besides HistoryOfListings.
const restoringOfListing = "way to restore a listing"

// PropertyHistory returns one page of the versions of a listing, the newest first.
func (c *Client) PropertyHistory(
	ctx context.Context, id api.PropertyID, options ListOptions,
) (api.Page[api.PropertyVersion], error) {
	return onePage(c.PropertyHistoryPages(ctx, id, options))
}

// PropertyHistoryPages returns the pages of the versions of a listing, from options.Page on.
func (c *Client) PropertyHistoryPages(
	ctx context.Context, id api.PropertyID, options ListOptions,
) Pages[api.PropertyVersion] {
	path, err := versionsPath(id, "/history")
	return c.versionPages(ctx, path, err, options,
		func(err error) error { return c.orNoHistory(ctx, id, HistoryOfListings, err) })
}

// versionPages returns the pages of a history at a path. explain replaces the error of a service that has none.
func (c *Client) versionPages(
	ctx context.Context, path string, err error, options ListOptions, explain func(error) error,
) Pages[api.PropertyVersion] {
	var first call
	if err == nil {
		first, err = c.listCall(path, url.Values{}, options)
	}
	return func(yield func(api.Page[api.PropertyVersion], error) bool) {
		for page, err := range walk[api.PropertyVersion](ctx, c, first, err) {
			if !yield(page, explain(err)) {
				return
			}
		}
	}
}

// PropertyVersionsSince returns the versions of a listing that were made since then (by this computer's clock; zero is
// any time), the newest first, and the one before them if there is one.
func (c *Client) PropertyVersionsSince(
	ctx context.Context, id api.PropertyID, since time.Time,
) ([]api.PropertyVersion, error) {
	path, err := versionsPath(id, "/history")
	return c.versionsSince(ctx, path, err, since,
		func(err error) error { return c.orNoHistory(ctx, id, HistoryOfListings, err) })
}

func (c *Client) versionsSince(
	ctx context.Context, path string, err error, since time.Time, explain func(error) error,
) (versions []api.PropertyVersion, _ error) {
	var first call
	if err == nil {
		first, err = c.listCall(path, url.Values{}, ListOptions{PerPage: 10})
	}
	first.seen = new(exchange)
	for page, err := range walk[api.PropertyVersion](ctx, c, first, err) {
		if err != nil {
			return nil, explain(err)
		}
		for _, version := range page.Data {
			if versions = append(versions, version); !since.IsZero() && version.At.Before(first.seen.earliest(since)) {
				return versions, nil
			}
		}
	}
	return versions, nil
}

// PropertyAsOf returns a listing as it was at a time, with its ETag.
func (c *Client) PropertyAsOf(ctx context.Context, id api.PropertyID, at time.Time) (api.Property, string, error) {
	query := url.Values{"as_of": {at.UTC().Format(time.RFC3339Nano)}}
	version, res, err := c.property(ctx, id, query)
	// Who does not know the parameter ignores it, and answers with the listing as it is now.
	if res != nil && res.Header().Get(api.HeaderAsOf) == "" && (err == nil || IsMissing(err)) {
		return api.Property{}, "", unsupported(HistoryOfListings, err)
	}
	return version.Record, version.ETag, err
}

// RestoreProperty brings a version of a listing back, once for each idempotency key, and returns it with its ETag. It
// takes an ETag in ifMatch for the current version, or for the last one before the deletion. replay says that the
// server had processed the key before.
func (c *Client) RestoreProperty(
	ctx context.Context, id api.PropertyID, restore api.PropertyRestore, ifMatch, key string,
) (property api.Property, etag string, replay bool, err error) {
	path, err := versionsPath(id, "/restore")
	if err != nil {
		return property, "", false, err
	}
	call, err := call{method: http.MethodPost, path: path}.withJSON(restore)
	if err != nil {
		return property, "", false, err
	}
	if err := c.guardProperty(ctx, id, ifMatch); err != nil && !IsMissing(err) { // a deleted listing cannot be read
		return property, "", false, err
	}
	call = call.withHeader(idempotencyKey, key).withHeader("If-Match", ifMatch)
	isRecord := func() bool { return property.PropertyID() != "" }
	res, err := c.fetchRecord(ctx, call, &property, isRecord, "propertyId")
	if got := property.PropertyID(); err == nil && got.Subject() != id.Subject() {
		err = c.unreadable(call, res, fmt.Errorf("it is the property %s", got))
	}
	if err != nil {
		return api.Property{}, "", false, c.orNoHistory(ctx, id, restoringOfListing, err)
	}
	if property.Images == nil {
		property.Images = []string{}
	}
	return property, res.Header().Get("ETag"), isReplay(res), nil
}

// isReplay tells whether the server had processed the key of a request before. Retries of the same call do not count.
func isReplay(res *resty.Response) bool {
	return res.Header().Get(replayed) == "true" && !stateOf(res.Request.Context()).lost
}

func versionsPath(id api.PropertyID, rest string) (string, error) {
	part, err := pathSegment("propertyId", string(id))
	return propertiesPath + "/" + part + rest, err
}

// orNoHistory replaces an error if the service lacks the address, which the 404 of a listing does not tell.
func (c *Client) orNoHistory(ctx context.Context, id api.PropertyID, what string, err error) error {
	path, invalid := versionsPath(id, "/history")
	if invalid != nil {
		return err
	}
	return c.orNone(ctx, path, what, err)
}

// orNone replaces an error if the service lacks what it has together with a history at the path.
func (c *Client) orNone(ctx context.Context, history, what string, err error) error {
	if !IsMissing(err) && !isPage(err) {
		return err
	}
	if c.lacks(ctx, history) {
		return unsupported(what, err)
	}
	return err
}

// lacks tells whether the service does not have the address of a history.
func (c *Client) lacks(ctx context.Context, history string) bool {
	// A service that has it refuses this page before it reads anything.
	_, _, probed := fetchPage[api.PropertyVersion](ctx, c, get(history, url.Values{"page": {"0"}}))
	return IsMissing(probed) || isPage(probed)
}

// SameVersion tells whether two ETags name one version, whatever its form: a server that compresses, or a proxy before
// it, makes another ETag for the compressed form.
func SameVersion(a, b string) bool { return versionOf(a) == versionOf(b) }

func versionOf(etag string) string {
	etag = strings.TrimSuffix(strings.TrimPrefix(etag, "W/"), `"`)
	for _, coding := range []string{"--gzip", "-gzip", "-br", "-zstd"} {
		if version, isCoded := strings.CutSuffix(etag, coding); isCoded {
			return version
		}
	}
	return etag
}
