package actions_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"example.com/perks/tui/actions"
)

func ids(registry *actions.Registry) []actions.ID {
	var all []actions.ID
	for _, a := range registry.Actions() {
		all = append(all, a.ID)
	}
	return all
}

func TestActionNamesKeysAndHints(t *testing.T) {
	registry := actions.Default()
	names, known := map[string]actions.ID{}, map[actions.ID]bool{}
	for _, a := range registry.Actions() {
		if known[a.ID] {
			t.Errorf("%s is defined twice", a.ID)
		}
		known[a.ID] = true
		if other, ok := names[a.Name]; ok {
			t.Errorf("%s and %s are both called %q", other, a.ID, a.Name)
		}
		names[a.Name] = a.ID
		// On a terminal of 30 columns, the help wraps a name into at most three lines.
		if length := utf8.RuneCountInString(a.Name); length == 0 || length > 45 || strings.TrimSpace(a.Name) != a.Name {
			t.Errorf("%s has a name of %d characters: %q", a.ID, length, a.Name)
		}
		if length := utf8.RuneCountInString(a.Hint); length > 12 {
			t.Errorf("%s has a hint of %d characters: %q", a.ID, length, a.Hint)
		}
		if len(a.Keys) == 0 {
			t.Errorf("%s has no key", a.ID)
		}
		if registry.Action(a.ID).Name != a.Name {
			t.Errorf("%s is not found", a.ID)
		}
	}
	if a := registry.Action("no.such"); a.ID != "" || registry.Key("no.such") != "" {
		t.Errorf("an unknown action is %v", a)
	}
}

func TestDangerousActionsNeedDeliberateKeys(t *testing.T) {
	registry := actions.Default()
	if slices.Contains(registry.Action(actions.Yes).Keys, "enter") {
		t.Error("enter confirms")
	}
	for _, key := range registry.Action(actions.Delete).Keys {
		if actions.Prints(key) {
			t.Errorf("the plain key %q deletes", key)
		}
	}
}

func TestPrintableKeysRunNothingWhileTyping(t *testing.T) {
	registry := actions.Default()
	offers := actions.Enabled(ids(registry)...)
	keys := []string{"é", "ß", "漢", "ع", "ש", "🙂", "space"}
	for r := ' '; r <= '~'; r++ {
		keys = append(keys, string(r))
	}
	for _, key := range keys {
		if offer, ok := registry.Find(key, true, offers); ok {
			t.Errorf("%q does %s", key, offer.ID)
		}
	}
	for _, a := range registry.Actions() {
		for _, key := range a.Keys {
			offer, ok := registry.Find(key, true, actions.Enabled(a.ID))
			if ok != (a.InForms() && !actions.Prints(key)) || ok && offer.ID != a.ID {
				t.Errorf("while typing, %q of %s does %q", key, a.ID, offer.ID)
			}
			if offer, ok := registry.Find(key, false, actions.Enabled(a.ID)); !ok || offer.ID != a.ID {
				t.Errorf("%q of %s does %q", key, a.ID, offer.ID)
			}
		}
	}
}

func TestFindFollowsTheOrderOfOffers(t *testing.T) {
	registry := actions.Default()
	offer, ok := registry.Find("e", false, []actions.Offer{actions.Offer{ID: actions.Edit, Why: "It is not yours."},
		{ID: actions.Expired}})
	if !ok || offer.ID != actions.Edit || offer.Enabled() {
		t.Errorf("%v, %t", offer, ok)
	}
	if _, ok := registry.Find("r", false, actions.Enabled(actions.Edit)); ok {
		t.Error("a key runs an action that is not offered")
	}
}

func TestSpell(t *testing.T) {
	for key, want := range map[string]string{" ": "space", "up": "↑", "down": "↓", "left": "←", "right": "→",
		"pgdown": "pgdn", "ctrl+k": "ctrl+k", "G": "G"} {
		if got := actions.Spell(key); got != want {
			t.Errorf("%q is spelt %q", key, got)
		}
	}
	if got := actions.Default().Key(actions.Mark); got != "space" {
		t.Errorf("the key to mark with is %q", got)
	}
}

func TestConfiguredKeys(t *testing.T) {
	chosen := []string{"f5", "alt+r", "é"}
	registry, err := actions.NewRegistry(map[actions.ID][]string{actions.Redeem: chosen, actions.Quit: {},
		actions.Cancel: {"ctrl+g"}})
	if err != nil {
		t.Fatal(err)
	}
	chosen[0] = "x"
	for key, want := range map[string]bool{"f5": true, "alt+r": true, "é": true, "r": false, "x": false} {
		if _, ok := registry.Find(key, false, actions.Enabled(actions.Redeem)); ok != want {
			t.Errorf("%q redeems: %t", key, ok)
		}
	}
	if _, ok := registry.Find("q", false, actions.Enabled(actions.Quit)); ok || registry.Key(actions.Quit) != "" {
		t.Error("a removed key still quits")
	}
	if registry.Actions()[0].Keys[0] != "k" || registry.Key(actions.Redeem) != "f5" {
		t.Error("other keys have changed")
	}
}

func TestInvalidKeys(t *testing.T) {
	for name, test := range map[string]struct {
		id   actions.ID
		keys []string
		want string
	}{
		"an unknown action":    {"perks.fly", []string{"x"}, `there is no action "perks.fly"`},
		"a conflict":           {actions.Redeem, []string{"y"}, `y is bound twice: record.redeem, record.copy-id`},
		"with a global key":    {actions.Sort, []string{"q"}, `q is bound twice: perks.sort, app.quit`},
		"conflict in a dialog": {actions.Yes, []string{"n"}, `n is bound twice: confirm.yes, confirm.no`},
		"ctrl+c": {actions.Redeem, []string{"ctrl+c"},
			`record.redeem cannot have ctrl+c: that always quits`},
		"enter for yes": {actions.Yes, []string{"y", "enter"},
			`confirm.yes cannot have "enter": it is too easily pressed by accident to delete or redeem`},
		"space for yes": {actions.Yes, []string{" "},
			`confirm.yes cannot have " ": it is too easily pressed by accident to delete or redeem`},
		"no key for yes": {actions.Yes, []string{},
			`confirm.yes needs a key: no command palette can answer a question`},
		"an empty key": {actions.Redeem, []string{""},
			`record.redeem has an empty key; write the space bar as " "`},
		"blanks": {actions.Redeem, []string{"  "},
			`record.redeem has an empty key; write the space bar as " "`},
		"no such key": {actions.Redeem, []string{"Ctrl-R"},
			`record.redeem: "Ctrl-R" is not a key; write keys like x, f5, ctrl+x, alt+x, pgdown`},
		"an alias of tab": {actions.Redeem, []string{"ctrl+i"},
			`record.redeem: "ctrl+i" is not a key; write keys like x, f5, ctrl+x, alt+x, pgdown`},
		"printable in forms": {actions.Submit, []string{"s"},
			`form.submit cannot have "s": it types text in a form`},
		"editing key in forms": {actions.Cancel, []string{"backspace"},
			`form.cancel cannot have "backspace": it edits text`},
		"editing key elsewhere": {actions.Palette, []string{"enter"}, `app.palette cannot have "enter": it edits text`},
	} {
		_, err := actions.NewRegistry(map[actions.ID][]string{test.id: test.keys})
		if err == nil || err.Error() != test.want {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
	if _, err := actions.NewRegistry(map[actions.ID][]string{actions.Redeem: {"W", "W"}}); err != nil {
		t.Errorf("a key that is listed twice: %v", err)
	}
}

func TestAllClashesAreReportedAndKeepTheirDefaultKeys(t *testing.T) {
	registry, clashes, err := actions.Configure(map[actions.ID]actions.Override{
		actions.Redeem: {Keys: []string{"j"}}, actions.Sort: {Keys: []string{"q"}},
		actions.CopyID: {Keys: []string{"Y"}},
	}, actions.Command(0, "/", "Open ticket"))
	want := []string{"/ is bound twice: perks.filter, command.1, property.field",
		"j is bound twice: list.down, record.redeem", "q is bound twice: perks.sort, app.quit"}
	if err != nil || !slices.Equal(clashes, want) {
		t.Fatalf("%q, %v; want %q", clashes, err, want)
	}
	for id, key := range map[actions.ID]string{actions.Redeem: "r", actions.Sort: "s", actions.CopyID: "Y",
		actions.Down: "j", "command.1": ""} {
		if got := registry.Key(id); got != key {
			t.Errorf("%s has the key %q, want %q", id, got, key)
		}
	}
}

// TestDefaultKeyOfOneIsTheChosenKeyOfAnother swaps keys badly: giving one its default key again makes the next clash.
func TestDefaultKeyOfOneIsTheChosenKeyOfAnother(t *testing.T) {
	registry, clashes, err := actions.Configure(map[actions.ID]actions.Override{
		actions.Redeem: {Keys: []string{"q"}}, actions.CopyID: {Keys: []string{"r"}},
	})
	if err != nil || len(clashes) != 2 || registry.Key(actions.Redeem) != "r" || registry.Key(actions.CopyID) != "y" {
		t.Errorf("%q, %v", clashes, err)
	}
}

func TestOverrideTakesTheKeyAway(t *testing.T) {
	registry, clashes, err := actions.Configure(map[actions.ID]actions.Override{actions.Redeem: {Keys: []string{"up",
		"y"}, Takes: true}})
	if err != nil || clashes != nil {
		t.Fatal(clashes, err)
	}
	if keys := registry.Action(actions.Up).Keys; !slices.Equal(keys, []string{"k"}) ||
		registry.Key(actions.CopyID) != "" {
		t.Errorf("up has %q, copy id %q", keys, registry.Key(actions.CopyID))
	}
	if keys := registry.Action(actions.Yes).Keys; !slices.Equal(keys, []string{"y"}) {
		t.Errorf("yes, which is never offered beside redeem, has %q", keys)
	}
	_, clashes, err = actions.Configure(map[actions.ID]actions.Override{actions.Redeem: {Keys: []string{"y"},
		Takes: true}, actions.Sort: {Keys: []string{"y"}, Takes: true}})
	if err != nil || len(clashes) != 1 {
		t.Errorf("two that take the same key: %q, %v", clashes, err)
	}
	if _, _, err = actions.Configure(map[actions.ID]actions.Override{actions.Yes: {Keys: []string{"n", "esc"},
		Takes: true}}); err == nil {
		t.Error("no is left without a key")
	}
}

func TestOnlyActionsThatMeetClash(t *testing.T) {
	for id, keys := range map[actions.ID][]string{
		actions.EditField: {"x"}, // of settle.give-up, where nothing can be edited
		actions.Delete:    {"s"}, // of perks.sort
	} {
		if _, err := actions.NewRegistry(map[actions.ID][]string{id: keys}); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	for id, keys := range map[actions.ID][]string{
		actions.Yes: {"j"}, actions.ForUser: {"x"}, actions.Retry: {"a"}, actions.Cancel: {"ctrl+k"},
	} {
		if _, err := actions.NewRegistry(map[actions.ID][]string{id: keys}); err == nil ||
			!strings.Contains(err.Error(), "is bound twice") {
			t.Errorf("%s %q: %v", id, keys, err)
		}
	}
}
