package tui_test

import (
	"cmp"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"example.com/perks/api"
	"example.com/perks/cmd/dev/specserver"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
	"example.com/perks/tui"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
)

// office is a service with records of every kind, the requests that it has got, and a client of it.
type office struct {
	tuitest.Server
	id, secret string
	routes     map[string]screen.Route // of screens by their names; absent if they cannot be shown

	mu       sync.Mutex
	requests []string
	refused  []string // those that got a 403
}

// screens are those of an office, and the keys that lead to a part of one.
var screens = []struct{ name, keys string }{
	{"perks", ""}, {"perk", ""}, {"redemptions of the perk", "tab"}, {"available", ""}, {"redeemed", ""},
	{"redemption", ""}, {"redemptions", ""}, {"users", "esc"}, {"properties", "esc"}, {"property", ""},
	{"deleted property", ""}, {"results", `r "bob" ctrl+s y settle`},
}

// note counts what people would not want to be asked in vain. The token and the events are asked for by themselves.
func (o *office) note(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reply := httptest.NewRecorder()
		next.ServeHTTP(reply, r)
		o.mu.Lock()
		if request := r.Method + " " + r.URL.Path; !strings.HasSuffix(request, "/token") &&
			!strings.HasSuffix(request, "/events") {
			if o.requests = append(o.requests, request); reply.Code == http.StatusForbidden {
				o.refused = append(o.refused, request)
			}
		}
		o.mu.Unlock()
		for name, values := range reply.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(reply.Code)
		_, _ = w.Write(reply.Body.Bytes())
	})
}

func (o *office) sent() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.requests)
}

// officeOf has a client with these scopes, which has redeemed a perk that waits for approval and one that does not, and
// whose listings are 7 and, deleted, 8.
func officeOf(t *testing.T, sandbox bool, scopes api.Scopes) *office {
	s := servertest.Start(t)
	o := &office{}
	o.Server = s.Behind(o.note)
	o.id, o.secret = s.Client(scopes...)
	perks := []store.PerkRecord{{Perk: api.Perk{ID: "tea", Title: "A pot of tea"}},
		{Perk: api.Perk{ID: "spa", Title: "A day at the spa"}, Approval: store.ApprovalManual}}
	s.ImportUsers("alice", "bob")
	s.ImportPerks(perks...)
	s.ImportSandboxPerks(perks...)
	s.ImportProperties(o.id, api.Property{ID: 7, Title: "Loft"}, api.Property{ID: 8, Title: "Attic"})
	db := s.Live
	if sandbox {
		db = s.Sandbox
	}
	made := map[string]string{}
	for _, perk := range []string{"tea", "spa"} {
		made[perk] = uuid.NewString()
		if _, err := db.Redeem(t.Context(), store.RedeemAttempt{ID: made[perk], PerkID: perk, UserID: "alice",
			ClientID: o.id, Metadata: []byte(`{}`), At: time.Now(), CreateUser: true}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Live.DeleteProperty(t.Context(), 8, store.ClientActor(o.id, ""), time.Now(),
		func(store.PropertyRecord) error { return nil }); err != nil {
		t.Fatal(err)
	}
	o.routes = map[string]screen.Route{
		"perks": screen.ToPerks{}, "perk": screen.ToPerk{ID: "tea"},
		"redemptions of the perk": screen.ToPerk{ID: "spa"}, "available": screen.ToUser{ID: "bob"},
		"redeemed": screen.ToUser{ID: "alice", Redeemed: true}, "redemption": screen.ToRedemption{ID: made["spa"]},
		"redemptions": screen.ToRedemptions{}, "users": screen.ToUsers{}, "properties": screen.ToProperties{},
		"property": screen.ToProperty{ID: "7"}, "deleted property": screen.ToProperty{ID: "8"},
		"results": screen.ToPerk{ID: "tea"},
	}
	return o
}

// officeElsewhere is a service that has no more than the specification asks for.
func officeElsewhere(t *testing.T) *office {
	s := specserver.New(specserver.Options{})
	o := &office{id: specserver.ClientID, secret: specserver.ClientSecret}
	listening := httptest.NewServer(o.note(s))
	t.Cleanup(listening.Close)
	o.Server = elsewhere(listening.URL + "/v2")
	s.AddRedemption(s.PerkID(2), s.UserID(1), nil, time.Hour)
	o.routes = map[string]screen.Route{
		"perks": screen.ToPerks{}, "perk": screen.ToPerk{ID: s.PerkID(1)}, "available": screen.ToUser{ID: s.UserID(1)},
		"redeemed": screen.ToUser{ID: s.UserID(1), Redeemed: true}, "users": screen.ToUsers{},
		"properties": screen.ToProperties{}, "property": screen.ToProperty{ID: api.PropertyID(s.PropertyID(1))},
	}
	return o
}

type elsewhere string

func (e elsewhere) API() string                             { return string(e) }
func (e elsewhere) Client(...api.Scope) (id, secret string) { return "", "" }

// show starts a terminal UI, and shows a screen.
func (o *office) show(t *testing.T, profile screen.Profile, name, keys string,
	changes ...func(*tui.Options)) *tuitest.Driver {
	profile.Name, profile.APIURL, profile.ClientID = "prod", o.API(), o.id
	accounts := tuitest.NewAccounts(t, nil)
	accounts.Add(profile, o.secret)
	changes = append(changes, func(options *tui.Options) { options.Accounts = accounts })
	d := tuitest.StartAs(t, o.Server, o.id, o.secret, changes...)
	d.Settle()
	d.Open(o.routes[name])
	d.Settle()
	if name == "redeemed" { // the one that waits is the newest
		d.Play(`g`)
	}
	d.Play(keys + " settle")
	return d
}

// decided and changing are the actions of the screens that the service can refuse.
var (
	decided  = []actions.ID{actions.Approve, actions.Reject, actions.Void}
	changing = map[string][]actions.ID{
		"perks": {actions.Redeem, actions.Edit, actions.Stock, actions.NewPerk},
		"perk":  {actions.Redeem, actions.Edit, actions.Stock, actions.Undo}, "available": {actions.Redeem},
		"redemptions of the perk": decided, "redeemed": decided, "redemption": decided, "redemptions": decided,
		"results": decided, "properties": {actions.Edit, actions.Create},
		"property":         {actions.Open, actions.Edit, actions.EditField, actions.Delete, actions.Undo},
		"deleted property": {actions.Restore, actions.Undo},
	}
)

// only returns those of the actions that change something.
func only(ids ...actions.ID) map[string][]actions.ID {
	found := map[string][]actions.ID{}
	for name, all := range changing {
		for _, id := range all {
			if slices.Contains(ids, id) {
				found[name] = append(found[name], id)
			}
		}
	}
	return found
}

// TestNothingIsOfferedThatWouldBeRefused looks, in each situation, at each screen: what the profile, the token or the
// service does not allow is not in the footer, the keys and the commands say why not, and a press sends nothing.
func TestNothingIsOfferedThatWouldBeRefused(t *testing.T) {
	onPerks := map[string][]actions.ID{"perks": changing["perks"][1:], "perk": changing["perk"][1:]}
	onProperties := map[string][]actions.ID{"properties": {actions.Edit}, "property": changing["property"],
		"deleted property": changing["deleted property"]}
	for _, situation := range []struct {
		name, header string
		scope        api.Scope // that the client lacks
		profile      screen.Profile
		elsewhere    bool
		refused      map[string][]actions.ID // by screen
		why          map[actions.ID]string   // where it is not the scope; "" is for all others
	}{
		{name: "redemptions:decide", scope: api.ScopeRedemptionsDecide, refused: only(actions.Approve, actions.Reject)},
		{name: "redemptions:void", scope: api.ScopeRedemptionsVoid, refused: only(actions.Void)},
		{name: "perks:redeem", scope: api.ScopePerksRedeem, refused: only(actions.Redeem)},
		{name: "perks:write", scope: api.ScopePerksWrite, refused: onPerks},
		{name: "properties:write", scope: api.ScopePropertiesWrite, refused: onProperties},
		{name: "properties:create", scope: api.ScopePropertiesCreate, refused: only(actions.Create)},
		{name: "properties:read", scope: api.ScopePropertiesRead,
			refused: map[string][]actions.ID{"properties": {actions.Open}}},
		{name: "redemptions:read", scope: api.ScopeRedemptionsRead,
			refused: map[string][]actions.ID{"perks": {actions.Redemptions}}},
		{name: "redemptions:read-all", scope: api.ScopeRedemptionsReadAll},
		{name: "read-only", header: "read-only", profile: screen.Profile{ReadOnly: true}, refused: changing,
			why: map[actions.ID]string{"": "Profile prod is read-only. L switches the profile."}},
		{name: "protected", header: "live protected", profile: screen.Profile{Protected: true}},
		{name: "sandbox", header: "sandbox", profile: screen.Profile{Sandbox: true}},
		{name: "elsewhere", elsewhere: true, refused: map[string][]actions.ID{
			"perks": append(onPerks["perks"], actions.Redemptions), "perk": onPerks["perk"], "redeemed": decided,
			"properties": {actions.Create},
		}, why: map[actions.ID]string{"": "This service changes no perks. Ask its operator.",
			actions.Redemptions: "This service lists no redemptions. 2 finds a user with theirs.",
			actions.Approve:     "This service decides no redemptions. Ask its operator.",
			actions.Reject:      "This service decides no redemptions. Ask its operator.",
			actions.Void:        "This service decides no redemptions. Ask its operator.",
			actions.Create:      "This service creates no properties. Ask its operator.",
		}},
	} {
		t.Run(situation.name, func(t *testing.T) {
			t.Parallel()
			scopes := slices.DeleteFunc(api.AllScopes(), func(one api.Scope) bool { return one == situation.scope })
			o := officeOf(t, situation.profile.Sandbox, scopes)
			if situation.elsewhere {
				o = officeElsewhere(t)
			}
			for _, on := range screens {
				redeems := !slices.Contains(situation.refused["perk"], actions.Redeem)
				if o.routes[on.name] == nil || on.name == "results" && (!redeems || situation.profile.Protected) {
					continue
				}
				d := o.show(t, situation.profile, on.name, on.keys)
				if top := d.App.Top(); situation.header != "" && !d.Shows(situation.header) {
					t.Errorf("the header of %T says nothing:\n%s", top, d.Screen())
				}
				for _, id := range slices.Concat(changing[on.name], situation.refused[on.name]) {
					at := slices.IndexFunc(d.App.Offers(), func(offer actions.Offer) bool { return offer.ID == id })
					isRefused := slices.Contains(situation.refused[on.name], id)
					if at < 0 {
						if isRefused {
							t.Errorf("%s: there is no %s\n%s", on.name, id, d.Screen())
						}
						continue
					}
					offer, action := d.App.Offers()[at], d.App.Shell().Keys.Action(id)
					why := cmp.Or(situation.why[id], situation.why[""],
						"This client lacks the scope "+string(situation.scope)+". L switches the profile.")
					if (offer.Why == why) != isRefused {
						t.Errorf("%s: %s is refused: %t, because %q\n%s", on.name, id, !isRefused, offer.Why, d.Screen())
					} else if isRefused {
						refuses(t, o, d, action, offer)
					}
				}
			}
			if len(o.refused) > 0 {
				t.Errorf("the service refused %q", o.refused)
			}
		})
	}
}

// refuses checks what is said about an action that is refused.
func refuses(t *testing.T, o *office, d *tuitest.Driver, action actions.Action, offer actions.Offer) {
	t.Helper()
	before, top := len(o.sent()), d.App.Top()
	footer := d.Screen()[strings.LastIndex(d.Screen(), "\n")+1:]
	hint := cmp.Or(offer.Hint, action.Hint)
	if hint != "" && strings.Contains(footer, actions.Spell(action.Keys[0])+" "+hint) {
		t.Errorf("the footer offers %s: %s", action.ID, footer)
	}
	d.Press(action.Keys[0])
	d.See(action.Name + ": not possible now. " + offer.Why)
	d.Elapse(time.Second)
	d.Settle()
	if now := o.sent(); len(now) > before || d.App.Top() != top || d.App.Overlay() != nil || top.Form() != nil {
		t.Errorf("%s sends %q, or opens something:\n%s", action.ID, now[before:], d.Screen())
	}
	for key, typed := range map[string]string{"?": "", "ctrl+k": action.Name} {
		if typed != "" && action.ID.Group() == "list" { // those have keys alone
			continue
		}
		d.Press(key)
		d.Type(typed)
		if text := d.App.Overlay().AccessibleText(); !strings.Contains(text, "not now: "+offer.Why) {
			t.Errorf("%s does not say why %s is refused:\n%s", key, action.ID, text)
		}
		d.Press("esc")
		d.Settle()
	}
}
