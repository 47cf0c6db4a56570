package tui_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"example.com/perks/api"
	"example.com/perks/cmd/dev/specserver"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
)

// otherServer is a terminal UI at a server written from the specification alone.
type otherServer struct {
	*specserver.Server
	*tuitest.Driver
	t *testing.T
}

func (o *otherServer) API() string { return o.URL }

func (o *otherServer) Client(...api.Scope) (id, secret string) {
	return specserver.ClientID, specserver.ClientSecret
}

func atOtherServer(t *testing.T, freedoms specserver.Freedoms) *otherServer {
	o := &otherServer{t: t, Server: specserver.Start(t, specserver.Options{Freedoms: freedoms})}
	o.Driver = tuitest.Start(t, o, tuitest.Route(screen.ToPerks{}))
	o.Driver.Settle()
	return o
}

// open opens a record above the first list.
func (o *otherServer) open(to screen.Route) {
	o.Press("1")
	o.Settle()
	o.Open(to)
	o.Settle()
}

// TestScreensAtFreeServers does a day's jobs at servers that differ in what the specification leaves open. Each
// server's record says whether they were done.
func TestScreensAtFreeServers(t *testing.T) {
	for seed := range uint64(24) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			o := atOtherServer(t, specserver.Mixture(seed))
			o.See(specserver.Title(1))
			o.finds()
			o.redeems()
			o.edits()
		})
	}
}

// finds looks for the perks of a city. What the server ignored is said.
func (o *otherServer) finds() {
	o.Play(`/ "city:York\n" settle => ` + specserver.Title(1))
	if o.Shows("This service ignored city: 25 of these 50 do not fit.") != o.IgnoresWords {
		o.t.Errorf("about the filter the screen says\n%s", o.Screen())
	}
	o.Press("esc")
}

func (o *otherServer) redeems() {
	perk, user := o.PerkID(1), o.UserID(1)
	o.open(screen.ToPerk{ID: perk})
	o.Play(`
		=> ` + specserver.Title(1) + `
		r "` + user + `" ctrl+s y settle`)
	o.See(map[specserver.NewStatus]string{
		specserver.StatusApproved: "[redeemed]", specserver.StatusEmpty: "[redeemed]",
		specserver.StatusPending: "[waiting for approval]", specserver.StatusRejected: "[rejected]",
		specserver.StatusUnknown: "[fulfilled]",
	}[o.NewStatus])
	if made := o.Record().Redeemed(perk, user); len(made) != 1 {
		o.t.Errorf("redeemed %+v", made)
	}
	o.open(screen.ToUser{ID: user})
	o.See("Redeemed 1")
}

func (o *otherServer) edits() {
	changed := func(wanted specserver.Change) {
		o.t.Helper()
		changes := o.Record().Changes
		if len(changes) == 0 {
			o.t.Fatalf("nothing was changed:\n%s", o.Screen())
		}
		last := changes[len(changes)-1]
		isThat := last.PropertyID == wanted.PropertyID && last.Deleted == wanted.Deleted
		if !isThat || !maps.Equal(last.Fields, wanted.Fields) {
			o.t.Errorf("changed %+v, want %+v", last, wanted)
		}
	}
	for n := 1; n <= 2; n++ { // the second has no description, position and images
		id := o.PropertyID(n)
		o.open(screen.ToProperty{ID: api.PropertyID(id)})
		o.Play(fmt.Sprintf(`
			=> Property ID | Flat %d
			/ "price\n" ctrl+u "99.90" ctrl+s ctrl+s settle => Saved property ID: price per week.`, n), "ID", id)
		changed(specserver.Change{PropertyID: id, Fields: map[string]string{"price_pw": "99.90"}})
	}
	id := o.PropertyID(3)
	o.open(screen.ToProperty{ID: api.PropertyID(id)})
	o.Play(`ctrl+x "delete\n" settle => Deleted property ` + id)
	changed(specserver.Change{PropertyID: id, Deleted: true})
	id = o.PropertyID(specserver.Properties) // another client's
	o.open(screen.ToProperty{ID: api.PropertyID(id)})
	o.Play(`ctrl+x "delete\n" settle => Property ` + id + ` was not deleted. | You may not change this property`)
	changed(specserver.Change{PropertyID: o.PropertyID(3), Deleted: true})
}

// TestListsWithoutCountsAreWalkedToTheirEnds goes from page to page where the service says less than perksd.
func TestListsWithoutCountsAreWalkedToTheirEnds(t *testing.T) {
	none := specserver.Freedoms{NoTotal: true, NoLinks: true, Meta: specserver.MetaNone}
	linked, totalled, endless, both := none, none, none, specserver.Freedoms{Meta: specserver.MetaNone}
	linked.NoLinks, totalled.NoTotal, endless.IgnoresPage = false, false, true
	for name, test := range map[string]struct {
		freedoms    specserver.Freedoms
		first, last string
	}{
		"links":   {linked, "row 1 of", "row 130 of 130"},
		"both":    {both, "row 1 of 130", "row 130 of 130"},
		"a total": {totalled, "row 1 of 130", "row 130 of 130"},
		"nothing": {none, "row 1 of", "row 130 of 130"},
		"no pages": {endless, "row 1 of",
			"row 50 of 50+ | This service sent a page again: there may be more than it shows."},
		"all of these": {specserver.Freedoms{}, "row 1 of 130", "row 130 of 130"},
	} {
		t.Run(name, func(t *testing.T) {
			o := atOtherServer(t, test.freedoms)
			o.See("Offer 001", test.first)
			o.Play(strings.Repeat("pgdown settle\n", 10) + `=> ` + test.last)
		})
	}
}

// oneWay is said about the end of a list that is neither counted nor reversed.
const oneWay = "Only 100 are counted, and the order can't be reversed to see the end. / finds the others."

// TestTheEndAtServersThatDoNotCount goes to the last row by the reversed order, unless the service ignores that.
func TestTheEndAtServersThatDoNotCount(t *testing.T) {
	none := specserver.Freedoms{NoTotal: true, NoLinks: true, Meta: specserver.MetaNone}
	linked, unsorted := none, none
	linked.NoLinks, unsorted.IgnoresSort = false, true
	up := strings.Repeat("pgup settle\n", 10)
	for name, test := range map[string]struct {
		freedoms specserver.Freedoms
		flow     string
	}{
		"nothing": {none, `
			G => > Offer 130 | last row ─ | ≠ Offer 001
			settle
			` + up + ` => > Offer 001 | row 1 of 130
			G => > Offer 130 | row 130 of 130`},
		"links": {linked, `
			G => > Offer 130 | last row ─
			settle
			` + up + ` => > Offer 001 | row 1 of 130`},
		"no order": {unsorted, `
			settle G => > Offer 100 | row 100 of 100+ | SAID
			settle G settle => > Offer 130 | row 130 of 130`},
	} {
		t.Run(name, func(t *testing.T) {
			o := atOtherServer(t, test.freedoms)
			o.Play("=> Offer 001 | row 1 of\n"+test.flow, "SAID", oneWay)
		})
	}
}

// TestTheEndOfRowsThatAreNotReversed has services that do not count perks of one date, and do not reverse them, or
// refuse that.
func TestTheEndOfRowsThatAreNotReversed(t *testing.T) {
	for name, refuses := range map[string]bool{"ignored": false, "refused": true} {
		t.Run(name, func(t *testing.T) { goToEndOneWay(t, refuses) })
	}
}

func goToEndOneWay(t *testing.T, refuses bool) {
	d := tuitest.StartWithHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if sort := r.URL.Query().Get("sort"); refuses && sort == "created_at" {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnprocessableEntity)
			_ = json.NewEncoder(w).Encode(api.ErrorBody{Response: "One order only.", Code: api.CodeValidationFailed,
				Errors: api.FieldErrors{"sort": {"must be -created_at"}}})
			return
		}
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		var perks []map[string]string
		for n := 50*(page-1) + 1; n <= min(50*page, 130); n++ {
			perks = append(perks, map[string]string{"id": strconv.Itoa(n), "title": fmt.Sprintf("Offer %03d", n)})
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"data": perks})
	}))
	d.Play(`
		=> Offer 001 | row 1 of
		settle G => > Offer 100 | row 100 of 100+ | SAID
		settle G settle => > Offer 130 | row 130 of 130`, "SAID", oneWay)
}

// TestTheProfileSaysWhatTheServiceLacks opens the page to switch the profile, at a server that lacks all and at perksd.
func TestTheProfileSaysWhatTheServiceLacks(t *testing.T) {
	o := atOtherServer(t, specserver.Freedoms{NoTotal: true, IgnoresWords: true})
	o.open(screen.ToUser{ID: o.UserID(1)})
	before := len(o.Record().Requests)
	o.Resize(100, 40)
	o.Open(screen.ToLogin{})
	o.Settle()
	o.See("Lists of perks ignore filters.", "does not show that it honours idempotency keys", "The service lacks",
		"check of eligibility (user can)")
	for _, request := range o.Record().Requests[before:] {
		if request.Method != http.MethodGet {
			t.Errorf("it sends %s %s", request.Method, request.Path)
		}
	}
	server, owner := catalogueOf62(t)
	d := tuitest.StartAs(t, server, owner.id, owner.secret, tuitest.Route(screen.ToUser{ID: "bob"}))
	d.Resize(100, 40)
	d.Settle()
	d.Open(screen.ToLogin{})
	d.Settle()
	d.See("This service does all that perksctl can use.")
}
