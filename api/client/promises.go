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
	"strings"

	"example.com/perks/api"
)

// Promise says whether a service does something that its specification leaves open, and that perksctl's own promises
// need.
type Promise struct {
	Keeps   bool
	IsKnown bool
	Found   string // a sentence
	Advice  string // what to do; "" if there is nothing
	Err     error  // why the service could not be asked
}

// Examples are records to read. If one is missing, the first of a list is taken, if the service has the list.
type Examples struct {
	UserID     string
	PropertyID api.PropertyID
}

// PromiseCheck checks one promise by requests that change nothing.
type PromiseCheck struct {
	About string // such as "etags"
	Ask   func(ctx context.Context, c *Client, by Examples) Promise
}

// Promises returns the checks, which are independent of each other.
func Promises() []PromiseCheck {
	return []PromiseCheck{
		{"idempotency", askAboutKeys}, {"etags", askAboutETags}, {"totals", askAboutTotals},
		{"filters", askAboutFilters}, {"extensions", askAboutExtensions},
	}
}

func keeps(found string) Promise { return Promise{Keeps: true, IsKnown: true, Found: found} }

func lacks(advice, format string, args ...any) Promise {
	return Promise{IsKnown: true, Found: fmt.Sprintf(format, args...), Advice: advice}
}

func unclear(advice, format string, args ...any) Promise {
	return Promise{Found: "Not known, because " + fmt.Sprintf(format, args...), Advice: advice}
}

// unasked is the promise after a request that failed. Err is nil if the service refused it.
func unasked(what string, err error) Promise {
	p := unclear("", "%s cannot be read: %s", what, strings.TrimSuffix(api.Plain(err), ".")+".")
	if _, isRefusal := errors.AsType[*Error](err); !isRefusal {
		p.Err = err
	}
	return p
}

// askAboutKeys asks for what a user has redeemed, with an idempotency key.
func askAboutKeys(ctx context.Context, c *Client, by Examples) Promise {
	user, isNamed := by.UserID, by.UserID != ""
	if !isNamed {
		page, _ := c.Users(ctx, api.UserFilter{}, ListOptions{PerPage: 1}) // which not every service has
		for _, first := range page.Data {
			user = first.ID
		}
	}
	asked := user
	if asked == "" {
		asked = "perksctl-doctor"
	}
	call, err := c.userCall(asked, "redeemed", url.Values{}, ListOptions{PerPage: 1})
	if err == nil {
		_, err = c.send(ctx, call.withHeader(idempotencyKey, ProbeKey))
	}
	switch {
	case c.HonoursKeys():
		return keeps("The service honours idempotency keys: a request whose reply is lost is retried safely.")
	case err == nil && user != "":
		return lacks("If a row stays unknown, see docs/other-servers.md", "The service does not show that it honours "+
			"idempotency keys, so nothing is sent twice: after a lost reply the outcome may stay unknown.")
	case isNamed:
		p := unasked(fmt.Sprintf("what user %q has redeemed", user), err)
		p.Advice = "Name a user who exists"
		return p
	}
	return unclear("", "there is no user to ask about. Name one with --user.")
}

// askAboutETags reads a listing.
func askAboutETags(ctx context.Context, c *Client, by Examples) Promise {
	id := by.PropertyID
	if id == "" {
		page, _ := c.Properties(ctx, api.PropertyFilter{}, ListOptions{PerPage: 1})
		for i := range page.Data {
			id = page.Data[i].PropertyID()
		}
	}
	if id == "" {
		return unclear("", "no listing can be found to read. Name one with --property.")
	}
	switch _, etag, err := c.Property(ctx, id); {
	case err != nil:
		return unasked("property "+string(id), err)
	case etag == "":
		return lacks("", "Listings have no ETags: --if-match is refused, and property edit compares before it saves.")
	}
	return keeps("Listings have ETags: property edit overwrites no one's change.")
}

// askAboutTotals reads a page of perks.
func askAboutTotals(ctx context.Context, c *Client, _ Examples) Promise {
	reply, err := c.Do(ctx, Request{Method: http.MethodGet, Path: "perks?per_page=1"})
	if err != nil {
		return unasked("the list of perks", err)
	}
	var list struct {
		Meta struct {
			Total      any `json:"total"`
			TotalPages any `json:"total_pages"`
		} `json:"meta"`
	}
	_ = json.Unmarshal(reply.Body, &list) // what cannot be read says nothing
	switch {
	case reply.Header.Get("X-Total-Count") != "", list.Meta.Total != nil:
		return keeps("Lists say how many records they have.")
	case reply.Header.Get("Link") != "", list.Meta.TotalPages != nil:
		return lacks("", "Lists do not say how many records they have, so no total is shown.")
	}
	return lacks("Ask for single pages with --page and --per-page",
		"Lists say neither how many records they have nor where they end, so --all fails.")
}

// askAboutFilters asks for the perks of a city that does not exist, and for two pages.
func askAboutFilters(ctx context.Context, c *Client, _ Examples) Promise {
	read := func(page int64, filter api.PerkFilter) (api.Page[api.Perk], error) {
		return c.Perks(ctx, filter, ListOptions{Page: page, PerPage: 1})
	}
	none, err := read(1, api.PerkFilter{City: "perksctl doctor"})
	first, err1 := read(1, api.PerkFilter{})
	second, err2 := read(2, api.PerkFilter{})
	if err := errors.Join(err, err1, err2); err != nil {
		return unasked("the list of perks", err)
	}
	var ignored []string
	if len(none.Data) > 0 {
		ignored = append(ignored, "filters")
	}
	if len(first.Data) > 0 && len(second.Data) > 0 && first.Data[0].ID == second.Data[0].ID {
		ignored = append(ignored, "pages")
	}
	if len(ignored) > 0 {
		return lacks("Watch for warnings: perksctl checks each record against the filter",
			"Lists of perks ignore %s.", strings.Join(ignored, " and "))
	}
	return keeps("Lists of perks obey filters and pages.")
}

// Names of what is beyond the specification.
const (
	ListOfRedemptions = "list of redemptions" // with the decisions on them
	ListOfUsers       = "list of users"
	ListOfProperties  = "list of properties" // with the creation of one
	HistoryOfListings = "history of listings"
	ChangesOfPerks    = "way to change perks"
)

// extensions are the addresses beyond the specification, and the commands that need each.
var extensions = []struct{ name, commands, path, query string }{
	{ListOfRedemptions, "redemption, bulk undo", "/redemptions", "per_page=1"},
	{ListOfUsers, "user list", "/users", "per_page=1"},
	{"events", "events", "/events", "per_page=1"},
	{"check of eligibility", "user can", "/perks/PERK/eligibility", ""}, // refused without a user
	{ListOfProperties, "property list, property create", propertiesPath, "per_page=1"},
	// refused: the listing may be another client's
	{HistoryOfListings, "property history, property restore", propertiesPath + "/PROPERTY/history", "page=0"},
	{ChangesOfPerks, "perk create, update, edit, stock and history", "/perks/PERK/history", "page=0"},
	{"reports", "report", "/reports/redemptions", "by=-"}, // refused: a report may be expensive
}

// Lacking returns the names of the extensions, of all or of those that are named, that the service does not have. A
// refusal, as of a client without the scope, shows that one is there. It changes nothing.
func (c *Client) Lacking(ctx context.Context, by Examples, named ...string) (lacking []string, err error) {
	perk, property := "perk", url.PathEscape(cmp.Or(string(by.PropertyID), "1"))
	page, err := c.Perks(ctx, api.PerkFilter{}, ListOptions{PerPage: 1})
	if IsMissing(err) || isPage(err) {
		return nil, err // a proxy replies, not the service
	}
	if len(page.Data) > 0 {
		perk = url.PathEscape(page.Data[0].ID)
	}
	for _, extension := range extensions {
		if len(named) > 0 && !slices.Contains(named, extension.name) {
			continue
		}
		path := strings.NewReplacer("PERK", perk, "PROPERTY", property).Replace(extension.path)
		if !strings.HasPrefix(path, propertiesPath) { // which the sandbox does not have
			path = c.partnersPath(path)
		}
		query, _ := url.ParseQuery(extension.query)
		res, err := c.send(ctx, get(path, query))
		if res == nil {
			return nil, err
		}
		var object bodyMembers
		if IsMissing(err) || err == nil && (json.Unmarshal(res.Body(), &object) != nil || object == nil) {
			lacking = append(lacking, extension.name)
		}
	}
	return lacking, nil
}

func askAboutExtensions(ctx context.Context, c *Client, by Examples) Promise {
	names, err := c.Lacking(ctx, by)
	if err != nil {
		return unasked("what the service has beyond its specification", err)
	}
	var lacking []string
	for _, extension := range extensions {
		if slices.Contains(names, extension.name) {
			lacking = append(lacking, fmt.Sprintf("%s (%s)", extension.name, extension.commands))
		}
	}
	if len(lacking) > 0 {
		return lacks("These commands say so and exit with 5; the others work",
			"The service lacks what its specification does not ask for: %s.", strings.Join(lacking, "; "))
	}
	return keeps("The service has all that perksctl uses beyond the specification.")
}
