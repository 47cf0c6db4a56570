package server

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"example.com/perks/api"
	"example.com/perks/store"
)

func windowOf(p *api.Parameters) store.Window {
	return store.Window{
		Page:    p.Integer("page", 1, 1, api.MaxPage),
		PerPage: int(p.Integer("per_page", api.DefaultPerPage, 1, api.MaxPerPage)),
	}
}

func perkQuery(p *api.Parameters, at time.Time) store.PerkQuery {
	query := store.PerkQuery{PerkFilter: p.PerkFilter(), At: at, Sort: p.Sort("-created_at", api.PerkSortFields()), Window: windowOf(p)}
	byDistance := func(key api.SortKey) bool { return key.Field == api.SortDistance }
	if query.Near == nil && slices.ContainsFunc(query.Sort, byDistance) {
		p.Fields.Add("sort", "by %s needs lat and lng", api.SortDistance)
	}
	return query
}

func redemptionQuery(p *api.Parameters, userID string) store.RedemptionQuery {
	for _, name := range api.PerkFilterParameters() {
		if p.Values.Has(name) {
			p.Fields.Add(name, "applies only to type=available")
		}
	}
	return store.RedemptionQuery{UserID: userID, Sort: p.Sort("-redeemed_at", api.RedemptionSortFields()), Window: windowOf(p)}
}

// writePage responds with one page of a list, with the total in X-Total-Count and the other pages in Link.
func writePage[T any](s *service, c echo.Context, list store.List[T], window store.Window) error {
	page := api.Page[T]{Data: list.Items, Meta: api.NewPageMeta(window.Page, window.PerPage, list.Total)}
	header := c.Response().Header()
	header.Set("X-Total-Count", strconv.FormatInt(list.Total, 10))
	if links := pageLinks(s.address(c.Request()), page.Meta); links != "" {
		header.Set("Link", links)
	}
	return writeCacheable(c, page)
}

// pageLinks returns the Link header (RFC 8288) of a page, or "" if there is only one. All parameters but page stay as requested. Past the
// end, prev leads to the last page.
func pageLinks(address url.URL, meta api.PageMeta) string {
	if meta.TotalPages <= 1 {
		return ""
	}
	var links []string
	add := func(relation string, page int64) {
		target := address
		parameters := target.Query()
		parameters.Set("page", strconv.FormatInt(page, 10))
		target.RawQuery = parameters.Encode()
		links = append(links, "<"+target.String()+`>; rel="`+relation+`"`)
	}
	add("first", 1)
	if meta.Page > 1 {
		add("prev", min(meta.Page-1, meta.TotalPages))
	}
	if meta.Page < meta.TotalPages {
		add("next", meta.Page+1)
	}
	add("last", meta.TotalPages)
	return strings.Join(links, ", ")
}

// address is the URL that the client requested. It is absolute unless the client sent an invalid host: then it is only the path, which
// clients resolve against the address they requested.
func (s *service) address(r *http.Request) url.URL {
	address := url.URL{Scheme: s.proxies.scheme(r), Host: r.Host, Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery}
	if host := r.Header.Get("X-Forwarded-Host"); s.proxies.mayForward(r) && plainHost.MatchString(host) {
		address.Host = host
	}
	if !plainHost.MatchString(address.Host) {
		address.Scheme, address.Host = "", ""
	}
	return address
}

// plainHost matches a host with an optional port. Clients send other text too, even in the request target; many proxies pass it on, and
// net/url doesn't escape characters such as > and ".
var plainHost = regexp.MustCompile(`^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?$`)
