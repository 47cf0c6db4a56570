package perks_test

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
	"example.com/perks/tui"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
)

// desk is a terminal UI over a real service, with a proxy between the two that a test controls.
type desk struct {
	*tuitest.Driver
	t         *testing.T
	proxy     *tuitest.Proxy
	colleague *client.Client // with all scopes, without the proxy
}

type token string

func (t token) Token(context.Context) (string, error)           { return string(t), nil }
func (t token) Replace(context.Context, string) (string, error) { return "", client.ErrNoOtherToken }

// startDesk opens the list of three perks, as a client with the scopes or with all.
func startDesk(t *testing.T, change func(*screen.Profile), scopes ...api.Scope) *desk {
	server := servertest.Start(t)
	var perks []store.PerkRecord
	for _, title := range []string{"Tour", "Spa", "Coffee"} { // the newest is the first
		perk := store.PerkRecord{Perk: api.Perk{ID: strings.ToLower(title), Title: title, City: "Bath",
			Description: "It is good.\nVery good.", CreatedAt: coffee().CreatedAt.AddDate(0, 0, len(perks))}}
		perk.Stock, perk.Approval = pointerTo(int64(100)), api.ApprovalAuto
		perks = append(perks, perk)
	}
	server.ImportPerks(perks...)
	server.ImportUsers("alice", "bob")
	d := &desk{t: t}
	d.proxy = tuitest.StartProxy(t, func(proxy func(http.Handler) http.Handler) string {
		return server.Behind(proxy).API()
	})
	id, secret := server.Client(scopes...)
	profile := screen.Profile{Name: "test", APIURL: d.proxy.URL, ClientID: id}
	if change != nil {
		change(&profile)
	}
	accounts := tuitest.NewAccounts(t, nil)
	accounts.Add(profile, secret)
	var err error
	if d.colleague, err = client.New(client.Config{BaseURL: server.URL, Tokens: token(server.Token())}); err != nil {
		t.Fatal(err)
	}
	d.Driver = tuitest.Start(t, server, func(o *tui.Options) { o.Accounts = accounts }, tuitest.Route(screen.ToPerks{}))
	d.Received, d.Commands = d.proxy.Sent, map[string]func(string){
		"service": d.proxy.Set, "fill": d.fillIn, "golden": func(name string) { d.Golden(name, false) },
		"says": func(text string) { d.Says(text) },
		"others": func(object string) { // change the perk, as a colleague
			if _, err := d.colleague.UpdatePerk(t.Context(), "coffee", d.patch(object), ""); err != nil {
				t.Fatal(err)
			}
		},
		"redeemed": func(user string) {
			request := api.RedeemRequest{UserID: user}
			if _, _, err := d.colleague.Redeem(t.Context(), "coffee", request, user); err != nil {
				t.Fatal(err)
			}
		},
		"stored": func(want string) {
			stored, _, err := d.colleague.PerkRecord(t.Context(), "coffee")
			differing := api.PerkChanges(stored, stored.With(d.patch(want))).Fields()
			if len(differing) > 0 || err != nil {
				t.Errorf("stored %+v, want %s (%v)", stored, want, err)
			}
		},
		"there are": func(want string) {
			page, err := d.colleague.Perks(t.Context(), api.PerkFilter{}, client.ListOptions{})
			if got := strconv.FormatInt(page.Meta.Total, 10); got != want || err != nil {
				t.Errorf("there are %s perks, want %s (%v)", got, want, err)
			}
		},
		"reopen": func(string) {
			d.Send(screen.Back{})
			d.Settle()
			d.Open(screen.ToPerk{ID: "coffee"})
			d.Settle()
		},
	}
	d.Settle()
	return d
}

func (d *desk) patch(object string) api.PerkPatch {
	members, err := api.ParseObject([]byte(object))
	if err != nil {
		d.t.Fatal(err)
	}
	patch, err := api.ParsePerkPatch(members)
	if err != nil {
		d.t.Fatal(err)
	}
	return patch
}

// fillIn replaces the text of a field of the form: "title Mine".
func (d *desk) fillIn(fieldAndText string) {
	field, text, _ := strings.Cut(fieldAndText, " ")
	for form := d.App.Top().Form(); form.Focus() != field; {
		d.Press("tab")
	}
	d.Press("ctrl+end")
	d.Clear()
	d.Type(text)
}

// changes are sessions on the list of perks, with coffee under the cursor.
var changes = map[string]string{
	"a perk is edited after a review, and changed back": `
		e                => Edit perk coffee | > Title Coffee
		settle
		golden: edit-form
		fill: title
		ctrl+s           => Fix first: title.
		fill: title Tea
		fill: stock 120
		unsaved: The changes to perk coffee are not saved: title, stock.
		ctrl+s           => 2 fields change: Title, Stock | Save this in perk coffee? | - Coffee | + Tea | - 100 | + 120
		settle
		golden: edit-review
		ctrl+s           => Saved perk coffee: title, stock. | Perk Tea | Stock 120, 0 held, 120 left
		got: PATCH {"title":"Tea","stock":120}
		stored: {"title":"Tea","stock":120}
		settle
		z                => Undo this in perk coffee? | - Tea | + Coffee
		ctrl+s           => Undone in perk coffee: title, stock. | Perk Coffee
		stored: {"title":"Coffee","stock":100}`,

	"z works after a restart": `
		e                => > Title Coffee
		fill: title Tea
		ctrl+s ctrl+s    => Saved perk coffee: title.
		settle
		reopen:          => Perk Tea | Stock 100
		z                => Undo this in perk coffee? | - Tea | + Coffee
		ctrl+s           => Undone in perk coffee: title.
		stored: {"title":"Coffee"}`,

	"both sides of a conflict are merged": `
		e                => > Title Coffee
		fill: title Mine
		fill: city York
		ctrl+s           => 2 fields change
		others: {"title":"Theirs","description":"Better."}
		ctrl+s           => Somebody else changed perk coffee meanwhile | > Title, changed by both | theirs: Theirs
		settle
		golden: edit-merge
		m ctrl+s         => Saved perk coffee: title, city.
		stored: {"title":"Mine","city":"York","description":"Better."}`,

	"a draft outlives the screen": `
		e                => > Title Coffee
		fill: title Mine
		wait: 2s
		settle
		reopen:          => Perk Coffee | Stock 100
		e                => Unsaved draft: title
		enter            => >*Title Mine
		ctrl+s ctrl+s    => Saved perk coffee: title.`,

	"a lost reply is checked": `
		e                => > Title Coffee
		fill: title Tea
		service: loses replies: PATCH
		ctrl+s ctrl+s    => Saved perk coffee: title. The reply was lost; the perk has your changes.
		got: PATCH {"title":"Tea"}`,

	"the history shows words, and restores": `
		others: {"description":"It is good.\nRather good.","title":"Tea"}
		others: {"title":"Cake"}
		settle enter     => Perk Cake | Stock 100
		settle
		h                => History 2 · newest | title, description | Tea → Cake
		settle
		j enter          => - Very good. | + Rather good.
		b                => Restore this in perk coffee? ctrl+s restores, esc cancels | - Cake | + Tea
		ctrl+s           => Restored perk coffee: title. | Perk Tea
		stored: {"title":"Tea","description":"It is good.\nRather good."}`,

	// Stock

	"units are added, set and unlimited": `
		redeemed: alice
		+                => Change the stock of Coffee | Stock: 100, 1 held, 99 left | > Change
		"x" enter        => must be +50, -5, =120 or unlimited
		ctrl+u "=0" enter => 1 are held: the stock cannot be less.
		ctrl+u "+50" enter => Change the stock of Coffee? | Stock: 100 → 150 | Left: 99 → 149 | LIVE | y change it
		settle
		got:
		y                => Done: Stock of Coffee: 100 → 150. 149 left. | Stock 150, 1 held, 149 left
		got: POST {"add":50}
		stored: {"stock":150}
		settle
		+                => Stock: 150, 1 held
		"unlimited" enter y => Stock of Coffee: 150 → unlimited. Unlimited left. | Stock unlimited, 1 held
		settle
		+                => > Change
		"5" enter        => The stock is unlimited: =120 sets it.
		ctrl+u "=7" enter y => Stock of Coffee: unlimited → 7. 6 left.
		stored: {"stock":7}`,

	"two who add at once both add": `
		+                => > Change
		"+50" enter      => Stock: 100 → 150
		others: {"stock":110}
		y                => Stock of Coffee: 100 → 160. 160 left.`,

	"what the service refuses is said": `
		+                => > Change
		"=1" enter       => Stock: 100 → 1
		redeemed: alice
		redeemed: bob
		y                => The stock was not changed.
		stored: {"stock":100}`,

	"a lost reply is settled by the key": `
		+                => > Change
		"+50" enter      => Stock: 100 → 150
		service: loses replies: POST
		y                => Unknown outcome. | t retries safely: it can't be changed twice. x stops checking.
		unsaved: It is unknown whether the stock of perk coffee was changed.
		settle
		says: t retry
		service: works
		t                => Stock of Coffee: 100 → 150. 150 left. A reply was lost; the service confirmed it.
		stored: {"stock":150}
		unsaved:`,

	"a doubt that is given up is said again": `
		+                => > Change
		"+50" enter      => Stock: 100 → 150
		service: loses replies: POST
		y                => Unknown outcome.
		service: works
		settle x         => The stock may have been changed. See what it is | Stock 150`,

	// In the list

	"marked perks are changed at once, and back": `
		space space e    => Edit 2 perks | What stays empty is left as it is.
		fill: city York
		ctrl+s           => 2 perks change: city | coffee Coffee | City: Bath → York
		ctrl+s           => Done: 2 changed. | [changed] | coffee Coffee
		stored: {"city":"York"}
		z ctrl+s         => 2 undone.
		stored: {"city":"Bath"}`,

	"a perk is created": `
		N                => New perk | A title, a description and a city are needed.
		ctrl+s           => > Title | ! is required
		fill: title Loft
		fill: description High up.
		fill: city York
		fill: stock 5
		there are: 3
		ctrl+s           => Done: Created perk | Loft | Stock 5, 0 held, 5 left
		there are: 4`,

	// Where nothing is offered

	"a service that changes no perks says so": `
		service: keeps no history
		enter            => Perk Coffee | ≠ Stock 100 | ≠ e edit
		e                => Edit: not possible now.
		wait: 2s
		+                => Change the stock…: not possible now.`,
}

func TestChanges(t *testing.T) {
	t.Parallel()
	for name, flow := range changes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			startDesk(t, nil).Play(flow)
		})
	}
}

// TestWhoMayNotChangePerksSeesNothingOfIt is at a client without the scope, and with a read-only profile.
func TestWhoMayNotChangePerksSeesNothingOfIt(t *testing.T) {
	readOnly := func(p *screen.Profile) { p.ReadOnly = true }
	startDesk(t, nil, api.ScopePerksRead, api.ScopePerksRedeem).Play(`
		e                => Edit: not possible now. This client lacks the scope perks:write.
		wait: 2s
		+                => This client lacks the scope perks:write
		wait: 2s
		N                => New perk…: not possible now. This client lacks the scope perks:write
		wait: 2s
		enter            => Perk Coffee | ≠ Stock | ≠ e edit | ≠ history`)
	startDesk(t, readOnly).Play(`
		e                => Edit: not possible now. Profile test is read-only.
		wait: 2s
		enter            => Perk Coffee | Stock 100, 0 held, 100 left | ≠ e edit
		+                => Profile test is read-only.`)
}
