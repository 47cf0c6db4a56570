package doctor

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"example.com/perks/api"
	"example.com/perks/api/client"
)

// listed is what is read of a list.
type listed struct {
	Data []struct {
		ID string `json:"id"`
	} `json:"data"`
	Meta struct {
		Total      json.RawMessage `json:"total"`
		TotalPages json.RawMessage `json:"total_pages"`
	} `json:"meta"`
}

// checkTotals looks at the list that the check of perks has read.
func (d *diagnosis) checkTotals(context.Context) finding {
	if d.perks == nil {
		return skip("Not checked, because the perks could not be read.")
	}
	var list listed
	_ = json.Unmarshal(d.perks.Body, &list) // what cannot be read says nothing
	header := d.perks.Header
	switch {
	case header.Get("X-Total-Count") != "", isGiven(list.Meta.Total):
		return fine("Lists say how many records they have.")
	case header.Get("Link") != "", isGiven(list.Meta.TotalPages):
		return warn("", "Lists do not say how many records they have, so no total is shown.")
	}
	return warn("Ask for single pages with --page and --per-page",
		"Lists say neither how many records they have nor where they end, so --all fails.")
}

func isGiven(value json.RawMessage) bool {
	return len(value) > 0 && !bytes.Equal(value, []byte("null"))
}

// checkIdempotency asks for what a user has redeemed, with an idempotency key.
func (d *diagnosis) checkIdempotency(ctx context.Context) finding {
	c, _, err := d.client(d.connection.APIURL, d.token.AccessToken)
	if err != nil {
		return fail(err, "")
	}
	user := d.user
	if user == "" {
		first := client.UserListOptions{ListOptions: client.ListOptions{PerPage: 1}}
		page, _ := c.Users(ctx, first) // which not every service has
		for _, first := range page.Data {
			user = first.ID
		}
	}
	_, err = c.Do(ctx, client.Request{
		Method: http.MethodGet, Path: "partners/perks/users/" + url.PathEscape(cmp.Or(user, "perksctl-doctor")),
		Query:  url.Values{"type": {"redeemed"}, "per_page": {"1"}},
		Header: map[string]string{"Idempotency-Key": client.ProbeKey},
	})
	switch {
	case c.HonoursKeys():
		return fine("The service honours idempotency keys: a request whose reply is lost is retried safely.")
	case err == nil && user != "":
		return warn("If a row stays unknown, see docs/other-servers.md", "The service does not show that it honours "+
			"idempotency keys, so nothing is sent twice: after a lost reply the outcome may stay unknown.")
	case err != nil && d.user != "":
		return warn("Name a user who exists", "Not known, because the redemptions of user %q cannot be read: %s",
			user, sentence(api.Plain(err)))
	}
	return skip("Not known, because there is no user to ask about. Name one with --user.")
}

// checkETags reads the first listing, if there is a list.
func (d *diagnosis) checkETags(ctx context.Context) finding {
	c, _, err := d.client(d.connection.APIURL, d.token.AccessToken)
	if err != nil {
		return fail(err, "")
	}
	page, err := c.Properties(ctx, client.PropertyListOptions{ListOptions: client.ListOptions{PerPage: 1}})
	if err != nil || len(page.Data) == 0 {
		return skip("Not known, because no listing can be found to read.")
	}
	_, etag, err := c.Property(ctx, page.Data[0].PropertyID())
	switch {
	case err != nil:
		return skip("Not known, because property %s cannot be read: %s",
			page.Data[0].PropertyID(), sentence(api.Plain(err)))
	case etag == "":
		return warn("", "Listings have no ETags: --if-match is refused, and property edit compares before it saves.")
	}
	return fine("Listings have ETags: property edit overwrites no one's change.")
}

// extensions are the addresses beyond the specification, and the commands that need each.
var extensions = []struct{ name, commands, path, query string }{
	{"list of redemptions", "redemption, bulk undo", "/redemptions", "per_page=1"},
	{"list of users", "user list", "/users", "per_page=1"},
	{"events", "events", "/events", "per_page=1"},
	{"check of eligibility", "user can", "/perks/%s/eligibility", ""}, // refused without a user
	{"list of properties", "property list, property create", "", "per_page=1"},
	{"reports", "report", "/reports/redemptions", "by=-"}, // refused: a report may be expensive
}

// checkExtensions asks at each of them. A refusal, as of a client without the scope, shows that it is there.
func (d *diagnosis) checkExtensions(ctx context.Context) finding {
	c, _, err := d.client(d.connection.APIURL, d.token.AccessToken)
	if err != nil {
		return fail(err, "")
	}
	var list listed
	if d.perks != nil {
		_ = json.Unmarshal(d.perks.Body, &list)
	}
	perk := "perk"
	if len(list.Data) > 0 {
		perk = url.PathEscape(list.Data[0].ID)
	}
	var lacking []string
	for _, extension := range extensions {
		path := "partners" + strings.ReplaceAll(extension.path, "%s", perk)
		if extension.path == "" { // which the sandbox does not have
			path = d.connection.APIURL + "/partners/properties"
		}
		query, _ := url.ParseQuery(extension.query)
		reply, err := c.Do(ctx, client.Request{Method: http.MethodGet, Path: path, Query: query})
		if reply == nil {
			return fail(err, "")
		}
		if client.IsMissing(err) || err == nil && !isObject(reply.Body) {
			lacking = append(lacking, fmt.Sprintf("%s (%s)", extension.name, extension.commands))
		}
	}
	if len(lacking) > 0 {
		return warn("These commands say so and exit with 5; the others work",
			"The service lacks what its specification does not ask for: %s.", strings.Join(lacking, "; "))
	}
	return fine("The service has all that perksctl uses beyond the specification.")
}

func isObject(body []byte) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(body, &object) == nil && object != nil
}
