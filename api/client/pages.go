package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"example.com/perks/api"
)

// Pages are pages of a list, one after the other. An error is the last that comes: a list with a hole is not a list.
type Pages[T any] = iter.Seq2[api.Page[T], error]

func fetchPage[T any](ctx context.Context, c *Client, call call) (api.Page[T], http.Header, error) {
	var page api.Page[T]
	res, err := c.send(ctx, call)
	if err != nil {
		return api.Page[T]{}, nil, err
	}
	_, takesAnything := any(page.Data).([]json.RawMessage)
	if takesAnything && json.Unmarshal(res.Body(), &page.Data) == nil {
		// An array has no other pages, unless links say so.
		page.Meta = api.PageMeta{Page: 1, TotalPages: 1, Total: int64(len(page.Data))}
	} else if err := decode(res.Body(), &page); err != nil {
		return api.Page[T]{}, nil, c.unreadable(call, res, misread(res.Body(), err))
	}
	if page.Data == nil {
		var body map[string]json.RawMessage
		if json.Unmarshal(res.Body(), &body); body["data"] == nil {
			err := errors.New("it holds no list but is " + describe(res.Body()))
			return api.Page[T]{}, nil, c.unreadable(call, res, err)
		}
		if page.Meta.Total > 0 {
			err := fmt.Errorf("it holds null instead of a list of %d", page.Meta.Total)
			return api.Page[T]{}, nil, c.unreadable(call, res, err)
		}
		page.Data = []T{}
	}
	for i := range page.Data {
		if lacking := lacksMember(&page.Data[i]); lacking != "" {
			err := fmt.Errorf("item %d of the list has no %s", i+1, lacking)
			return api.Page[T]{}, nil, c.unreadable(call, res, err)
		}
	}
	page.DistancesKM = distances(res.Header().Get(api.HeaderDistances), len(page.Data))
	page.Centre = api.ParsePoint(res.Header().Get(api.HeaderCentre))
	page.Searched = api.SearchedKeys(res.Header().Get(api.HeaderSearched))
	if percent, err := strconv.Atoi(res.Header().Get(api.HeaderIndexed)); err == nil {
		page.Incomplete = fmt.Sprintf("Some may be missing: the service is still indexing the metadata of older "+
			"redemptions, %d %% so far.", percent)
	}
	return page, res.Header(), nil
}

// counted completes the meta of a page if X-Total-Count alone says how many pages there are, and tells whether it does.
// perPage is the size of the pages before this one, or 0.
func (c *Client) counted(
	call call, meta api.PageMeta, items, perPage int, header http.Header,
) (with api.PageMeta, isCounted bool) {
	total, err := strconv.ParseInt(header.Get("X-Total-Count"), 10, 64)
	_, hasLinks := nextLink(header)
	here, invalid := c.url(call)
	if meta.TotalPages > 0 || meta.MoreThan > 0 || hasLinks || err != nil || total <= 0 || invalid != nil {
		return meta, false
	}
	asked := func(name string) int {
		number, _ := strconv.Atoi(here.Query().Get(name))
		return max(0, number)
	}
	page := cmp.Or(meta.Page, int64(asked("page")), 1)
	if perPage == 0 {
		perPage = cmp.Or(max(0, meta.PerPage), asked("per_page"), api.DefaultPerPage)
		isLast := (page-1)*int64(perPage)+int64(items) == total
		if items > perPage || items > 0 && !isLast { // the server has its own size of pages
			perPage = items
		}
	}
	return api.NewPageMeta(page, perPage, total), true
}

// lacksMember returns the member without which an item of a list, given by its pointer, is not a record of the service:
// it may be null.
func lacksMember(item any) string {
	lacksID := false
	switch r := item.(type) {
	case *api.Perk:
		lacksID = r.ID == ""
	case *api.Property:
		lacksID = r.PropertyID() == ""
	case *api.Redemption:
		lacksID = r.ID == ""
	case *api.RedemptionRecord:
		lacksID = r.ID == ""
	case *api.User:
		lacksID = r.ID == ""
	case *api.RefusedRedemption:
		if r.Code == "" {
			return "code"
		}
	case *api.PropertyVersion:
		if r.Action == "" {
			return "action"
		}
	}
	if lacksID {
		return "id"
	}
	return ""
}

// distances reads the distances of the perks on a page; nil unless there is one for each.
func distances(header string, perks int) (found []float64) {
	for text := range strings.SplitSeq(header, ",") {
		km, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil || km < 0 {
			return nil
		}
		found = append(found, km)
	}
	if len(found) != perks {
		return nil
	}
	return found
}

// walk yields page after page, or err. Whoever asks for a second page mostly wants them all: from then on the next page
// is requested while the caller works with one.
func walk[T any](ctx context.Context, c *Client, call call, err error) Pages[T] {
	return func(yield func(api.Page[T], error) bool) {
		if err != nil {
			yield(api.Page[T]{}, err)
			return
		}
		var requests sync.WaitGroup
		defer requests.Wait()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		last, perPage := int64(0), 0
		var before api.Page[T]
		followed := map[string]bool{} // links to pages without numbers
		next := func() (api.Page[T], http.Header, error) { return fetchPage[T](ctx, c, call) }
		for isFirst, more := true, true; more; isFirst = false {
			page, header, err := next()
			if err == nil && last > 0 && page.Meta.Page > 0 && page.Meta.Page <= last {
				err = fmt.Errorf("the server sent page %d after page %d: the list would not end", page.Meta.Page, last)
			}
			items := len(page.Data) + len(page.LeftOut)
			if meta, isCounted := c.counted(call, page.Meta, items, perPage, header); err == nil && isCounted {
				if page.Meta, perPage = meta, meta.PerPage; !isFirst && items == 0 {
					err = fmt.Errorf("the server sent nothing as page %d of %d", meta.Page, meta.TotalPages)
				} else if !isFirst && slices.Equal(page.LeftOut, before.LeftOut) &&
					reflect.DeepEqual(page.Data, before.Data) {
					err = fmt.Errorf("page %d is the same as the one before: the list would not end", meta.Page)
				}
			} else if page.Meta.Total == 0 && page.Meta.MoreThan == 0 {
				page.Meta.Total, _ = strconv.ParseInt(header.Get("X-Total-Count"), 10, 64)
			}
			if err != nil {
				yield(api.Page[T]{}, err)
				return
			}
			last, before = page.Meta.Page, page
			call, more, err = c.after(call, page.Meta, items, header)
			if err == nil && more && page.Meta.Page == 0 {
				to := call.path + "?" + call.query.Encode()
				if followed[to] {
					err = errors.New("the server's links to next pages form a loop: the list would not end")
				}
				followed[to] = true
			}
			if err == nil && more {
				if address, err := c.url(call); err == nil {
					page.Next = address.String()
				}
			}
			if err == nil && more && !isFirst {
				next = fetchAhead[T](ctx, &requests, c, call)
			}
			if !yield(page, nil) {
				return
			}
			if err != nil {
				yield(api.Page[T]{}, err)
				return
			}
		}
	}
}

// fetchAhead requests a page now, and returns a function that waits for it.
func fetchAhead[T any](ctx context.Context, requests *sync.WaitGroup, c *Client,
	call call) func() (api.Page[T], http.Header, error) {
	var page api.Page[T]
	var header http.Header
	var err error
	done := make(chan struct{})
	requests.Go(func() {
		defer close(done)
		page, header, err = fetchPage[T](ctx, c, call)
	})
	return func() (api.Page[T], http.Header, error) {
		<-done
		return page, header, err
	}
}

// after returns the call for the next page, if there is one. The server's Link (RFC 8288) counts first, if it stays on
// the server; otherwise the page numbers do.
func (c *Client) after(current call, meta api.PageMeta, items int,
	header http.Header) (next call, more bool, err error) {
	target, hasLinks := nextLink(header)
	if hasLinks && target == "" {
		return call{}, false, nil
	}
	here, err := c.url(current)
	if err != nil {
		return call{}, false, err
	}
	if u, err := here.Parse(target); err == nil && hasLinks && sameOrigin(u, c.base) {
		if u.Path == here.Path && u.Query().Encode() == here.RawQuery {
			return call{}, false, errors.New("the server's link to the next page leads to the same page: the list " +
				"would not end")
		}
		return call{method: http.MethodGet, path: u.String(), header: current.header, seen: current.seen}, true, nil
	}
	if total := header.Get("X-Total-Count"); meta.TotalPages == 0 && total == strconv.Itoa(items) {
		return call{}, false, nil
	}
	if meta.TotalPages == 0 && items > 0 {
		return call{}, false, errors.New("the server does not say whether there are more pages: " +
			"neither a Link header nor meta.total_pages nor X-Total-Count came")
	}
	page := meta.Page
	if page == 0 { // not numbered: it is the one asked for
		asked, _ := strconv.ParseInt(here.Query().Get("page"), 10, 64)
		page = max(1, asked)
	}
	if page >= meta.TotalPages {
		return call{}, false, nil
	}
	query := maps.Clone(current.query)
	if query == nil {
		query = url.Values{}
	}
	query.Set("page", strconv.FormatInt(page+1, 10))
	current.query = query
	return current, true, nil
}

// listCall returns the call for the page of a list that the options choose.
func (c *Client) listCall(path string, query url.Values, options ListOptions) (call, error) {
	if options.Next == "" {
		maps.Copy(query, options.values())
		return get(path, query), nil
	}
	address, err := url.Parse(options.Next)
	if err == nil && !sameOrigin(address, c.base) {
		err = errors.New("the address of the next page is not on the server")
	}
	return get(options.Next, nil), err
}

func (c *Client) url(call call) (*url.URL, error) {
	address := call.path
	if strings.HasPrefix(address, "/") {
		address = c.BaseURL() + address
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	query := u.Query()
	for name, values := range call.query {
		query[name] = append(query[name], values...)
	}
	u.RawQuery = query.Encode()
	return u, nil
}

func onePage[T any](pages Pages[T]) (api.Page[T], error) {
	for page, err := range pages {
		return page, err
	}
	return api.Page[T]{}, nil // not reached: a walk yields at least once
}

var (
	// A target and its parameters, up to the comma before the next link. A comma in quotes is part of a value.
	linkValues = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`<([^>]*)>((?:[^",]|"(?:\\.|[^"\\])*")*)`)
	})
	linkParameters = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`;\s*([^\s=;]+)\s*=\s*("(?:\\.|[^"\\])*"|[^\s;]*)`)
	})
)

// nextLink returns the target with the relation "next" from the Link headers (RFC 8288), and whether any link is about
// pages. It skips anything that is not a link.
func nextLink(header http.Header) (target string, hasLinks bool) {
	for _, link := range linkValues().FindAllStringSubmatch(strings.Join(header.Values("Link"), ", "), -1) {
		for _, parameter := range linkParameters().FindAllStringSubmatch(link[2], -1) {
			if !strings.EqualFold(parameter[1], "rel") {
				continue
			}
			for relation := range strings.FieldsSeq(strings.ToLower(strings.Trim(parameter[2], `"`))) {
				switch relation {
				case "next":
					return link[1], true
				case "first", "prev", "previous", "last": // others, such as preload, are not about pages
					hasLinks = true
				}
			}
		}
	}
	return "", hasLinks
}
