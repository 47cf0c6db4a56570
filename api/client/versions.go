package client

import (
	"context"
	"net/url"
	"strings"
	"time"

	"example.com/perks/api"
)

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

// PropertyVersionsSince returns the versions of a listing that were made since then (by this computer's clock; zero is
// any time), the newest first, and the one before them if there is one.
func (c *Client) PropertyVersionsSince(
	ctx context.Context, id api.PropertyID, since time.Time,
) (versions []api.PropertyVersion, err error) {
	path, err := versionsPath(id, "/history")
	var first call
	if err == nil {
		first, err = c.listCall(path, url.Values{}, ListOptions{PerPage: 10})
	}
	first.seen = new(exchange)
	for page, err := range walk[api.PropertyVersion](ctx, c, first, err) {
		if err != nil {
			return nil, c.orNoHistory(ctx, id, historyOfListings, err)
		}
		for _, version := range page.Data {
			if versions = append(versions, version); !since.IsZero() && version.At.Before(first.seen.earliest(since)) {
				return versions, nil
			}
		}
	}
	return versions, nil
}
