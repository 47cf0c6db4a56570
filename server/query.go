package server

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
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
	query := store.PerkQuery{PerkFilter: p.PerkFilter(), At: at, Sort: p.Sort("-created_at", api.PerkSortFields()),
		Window: windowOf(p)}
	for _, key := range query.Sort {
		if !query.CanSortBy(key.Field) {
			p.Fields.Add("sort", "by %s needs %s", key.Field,
				map[string]string{api.SortDistance: "lat and lng", api.SortRelevance: "words in q"}[key.Field])
		}
	}
	query.After = cursorOf(p, query.Sort)
	return query
}

func cursorOf(p *api.Parameters, sort []api.SortKey) *store.Cursor {
	text, given := p.Given("after")
	if !given {
		return nil
	}
	cursor, err := store.ParseCursor(text, sort)
	if err != nil {
		p.Fields.Add("after", "%s", err)
	}
	return cursor
}

// redemptionQuery is for the redemptions that the caller may read.
func redemptionQuery(p *api.Parameters, caller Caller, searched []string) store.RedemptionQuery {
	query := store.RedemptionQuery{RedemptionFilter: p.RedemptionFilter(searched), AnyUser: true, Window: windowOf(p),
		Sort: p.Sort("-redeemed_at", api.RedemptionRecordSortFields())}
	query.ClientID = clientToRead(caller, query.Own)
	query.After = cursorOf(p, query.Sort)
	if query.UserID == "" {
		checkReach(p, query.Window, query.After, "redemptions", "since and until")
	}
	return query
}

// propertyQuery is for the listings that the caller may list.
func propertyQuery(p *api.Parameters, caller Caller) store.PropertyQuery {
	query := store.PropertyQuery{PropertyFilter: p.PropertyFilter(), Window: windowOf(p),
		Sort: p.SortByOne("-propertyId", api.PropertySortFields())}
	if query.Own || !caller.Scopes.Has(api.ScopePropertiesRead) {
		query.Owner = caller.ClientID
	}
	query.After = cursorOf(p, query.Sort)
	checkReach(p, query.Window, query.After, "properties", "filters")
	if query.After == nil {
		return query
	}
	if err := store.CheckPropertyCursor(query.After); err != nil {
		p.Fields.Add("after", "%s", err)
	}
	return query
}

func userQuery(p *api.Parameters) store.UserQuery {
	query := store.UserQuery{UserFilter: p.UserFilter(), Window: windowOf(p), After: cursorOf(p, nil)}
	checkReach(p, query.Window, query.After, "users", "prefix")
	return query
}

// checkReach refuses the number of a page behind the counted part of a list, because high numbers take long to read.
// filters may be "".
func checkReach(p *api.Parameters, window store.Window, after *store.Cursor, records, filters string) {
	if after == nil && window.Offset() >= store.MaxCounted {
		problem := fmt.Sprintf("begins after the first %d %s; follow the Link header there", store.MaxCounted, records)
		if filters != "" {
			problem += ", or narrow the list with " + filters
		}
		p.Fields.Add("page", "%s", problem)
	}
}

// clientToRead is the client whose redemptions the caller asks for, and may read; "" is all clients.
func clientToRead(caller Caller, own bool) string {
	if own || !caller.Scopes.Has(api.ScopeRedemptionsReadAll) {
		return caller.ClientID
	}
	return ""
}

// redeemedQuery is for the redemptions of one user.
func redeemedQuery(p *api.Parameters, userID string) store.RedemptionQuery {
	for _, name := range append(api.PerkFilterParameters(), "after") {
		if p.Values.Has(name) {
			p.Fields.Add(name, "applies only to type=available")
		}
	}
	return store.RedemptionQuery{RedemptionFilter: api.RedemptionFilter{UserID: userID},
		Sort: p.Sort("-redeemed_at", api.RedemptionSortFields()), Window: windowOf(p)}
}

// writeList responds with a page of the list that read returns, unless a parameter is not valid.
func writeList[T any](
	s *service, c echo.Context, sandbox bool, q *api.Parameters, window store.Window, sort []api.SortKey,
	read func(context.Context) (store.List[T], error),
) error {
	if err := q.Err(); err != nil {
		return err
	}
	list, err := readList(s, c, sandbox, sort, read)
	if err != nil {
		return err
	}
	return writePage(s, c, list, window, afterCursor(window, sort, list.Next))
}

// writePage responds with one page of a list, with the total in X-Total-Count, if it is known, and the other pages in
// Link. next has the parameters of the next page, and is nil if there is none.
func writePage[T any](s *service, c echo.Context, list store.List[T], window store.Window, next url.Values) error {
	page := api.Page[T]{Data: list.Items, Meta: api.NewPageMeta(window.Page, window.PerPage, list.Total)}
	header := c.Response().Header()
	if list.IsMore {
		page.Meta = api.PageMeta{Page: window.Page, PerPage: window.PerPage, MoreThan: list.Total}
	} else {
		header.Set("X-Total-Count", strconv.FormatInt(list.Total, 10))
	}
	if len(list.DistancesKM) > 0 {
		texts := make([]string, len(list.DistancesKM))
		for i, km := range list.DistancesKM {
			texts[i] = strconv.FormatFloat(km, 'f', -1, 64)
		}
		header.Set(api.HeaderDistances, strings.Join(texts, ", "))
	}
	if list.Centre != nil {
		header.Set(api.HeaderCentre, list.Centre.String())
	}
	if links := pageLinks(s.address(c.Request()), page.Meta, next); links != "" {
		header.Set("Link", links)
	}
	return writeCacheable(c, page)
}

// maxCursor is the longest cursor in a link, in bytes: URLs are limited, and texts that perks sort by are not.
const maxCursor = 2 << 10

// afterNumber are the parameters of the page after one that is known by its number alone; nil if that is the last.
func afterNumber(window store.Window, total int64) url.Values {
	if window.Page >= api.NewPageMeta(window.Page, window.PerPage, total).TotalPages {
		return nil
	}
	return url.Values{"page": {strconv.FormatInt(window.Page+1, 10)}}
}

// afterCursor are the parameters of the page after one that ends at the cursor; nil if that is the last. The number is
// what the page says of itself.
func afterCursor(window store.Window, sort []api.SortKey, end *store.Cursor) url.Values {
	if end == nil {
		return nil
	}
	next := url.Values{"page": {strconv.FormatInt(window.Page+1, 10)}}
	if cursor := end.Text(sort); len(cursor) <= maxCursor {
		next.Set("after", cursor)
	}
	return next
}

// pageLinks returns the Link header (RFC 8288) of a page, or "" if there is only one. All other parameters stay as
// requested. Past the end, prev leads to the last page.
func pageLinks(address url.URL, meta api.PageMeta, next url.Values) string {
	if meta.TotalPages <= 1 && meta.MoreThan == 0 && next == nil {
		return ""
	}
	var links []string
	add := func(relation string, parameters url.Values) {
		target := address
		query := target.Query()
		query.Del("after")
		maps.Copy(query, parameters)
		target.RawQuery = query.Encode()
		links = append(links, "<"+target.String()+`>; rel="`+relation+`"`)
	}
	numbered := func(page int64) url.Values { return url.Values{"page": {strconv.FormatInt(page, 10)}} }
	add("first", numbered(1))
	switch {
	case meta.Page > 1 && meta.MoreThan == 0:
		add("prev", numbered(min(meta.Page-1, max(1, meta.TotalPages))))
	case meta.Page > 1 && (meta.Page-2)*int64(meta.PerPage) < meta.MoreThan:
		add("prev", numbered(meta.Page-1))
	}
	if next != nil {
		add("next", next)
	}
	if meta.MoreThan == 0 {
		add("last", numbered(max(1, meta.TotalPages)))
	}
	return strings.Join(links, ", ")
}

// address is the URL that the client requested, at the host of Config.PublicURL if there is one. It is absolute unless
// the client sent an invalid host: then it is only the path, which clients resolve against the address they requested.
func (s *service) address(r *http.Request) url.URL {
	address := url.URL{Scheme: s.proxies.scheme(r), Host: r.Host, Path: r.URL.Path, RawPath: r.URL.RawPath,
		RawQuery: r.URL.RawQuery}
	if host := r.Header.Get("X-Forwarded-Host"); s.proxies.mayForward(r) && plainHost.MatchString(host) {
		address.Host = host
	}
	if public := s.config.PublicURL; public != nil {
		address.Scheme, address.Host = public.Scheme, public.Host
	}
	if !plainHost.MatchString(address.Host) {
		address.Scheme, address.Host = "", ""
	}
	return address
}

// plainHost matches a host with an optional port. Clients send other text too, even in the request target; many proxies
// pass it on, and net/url doesn't escape characters such as > and ".
var plainHost = regexp.MustCompile(`^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?$`)
