// Package actions lists everything that a key can do: for the keys themselves, the help, the footer, the command
// palette and the configuration.
//
// It knows what actions are called; screens do them.
package actions

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"
)

// ID names an action. It never changes, because users write it into their configuration. The part before the dot is its
// group.
type ID string

func (id ID) Group() string {
	group, _, _ := strings.Cut(string(id), ".")
	return group
}

type Action struct {
	ID   ID
	Keys []string // as bubbletea names them: "j", "down", "ctrl+k"
	Name string   // what the command palette and the help call it: "Redeem", "Next page"
	Hint string   // one word or two for the footer; "" keeps it out of there
}

var inForms = []string{"form", "app.palette", "app.suspend"}

// InForms tells whether the action works while text is typed, by its keys that print nothing.
func (a Action) InForms() bool { return isIn(inForms, a.ID) }

// Offer is an action on a screen: what it does there, or why it cannot be done now.
type Offer struct {
	ID   ID
	Why  string         // "" if it can be done
	Hint string         // what the footer calls it here; "" for what it does everywhere
	Do   func() tea.Cmd // nil for what the form does itself
	// Scope is what a client needs to do it here; "" if that is the same everywhere.
	Scope string
}

func (o Offer) Enabled() bool { return o.Why == "" }

// WhyIf is the reason why something cannot be done if that holds; "" otherwise.
func WhyIf(holds bool, why string) string {
	if holds {
		return why
	}
	return ""
}

// Around returns offers that do what they do by way of a function, such as one that draws the screen again afterwards.
func Around(offers []Offer, by func(do func() tea.Cmd) tea.Cmd) []Offer {
	offers = slices.Clone(offers)
	for i, offer := range offers {
		if offer.Do != nil {
			offers[i].Do = func() tea.Cmd { return by(offer.Do) }
		}
	}
	return offers
}

// Enabled offers actions that can be done.
func Enabled(ids ...ID) []Offer {
	offers := make([]Offer, len(ids))
	for i, id := range ids {
		offers[i].ID = id
	}
	return offers
}

// Prints tells whether a key types a character.
func Prints(key string) bool {
	return key == "space" || utf8.RuneCountInString(key) == 1
}

// The actions.
const (
	// Everywhere.
	Quit        ID = "app.quit"
	Help        ID = "app.help"
	Palette     ID = "app.palette"
	Back        ID = "app.back"
	Refresh     ID = "app.refresh"
	Perks       ID = "app.perks"
	User        ID = "app.user"
	Property    ID = "app.property"
	Redemptions ID = "app.redemptions"
	Login       ID = "app.login"
	Mouse       ID = "app.mouse"
	Theme       ID = "app.theme"
	Messages    ID = "app.messages"
	Results     ID = "app.results"
	Suspend     ID = "app.suspend"
	// In lists and in texts that are longer than the screen.
	Up       ID = "list.up"
	Down     ID = "list.down"
	PageUp   ID = "list.page-up"
	PageDown ID = "list.page-down"
	Top      ID = "list.top"
	Bottom   ID = "list.bottom"
	Open     ID = "list.open"
	// In lists that are filtered, sorted and marked.
	Filter       ID = "perks.filter"
	ClearFilter  ID = "perks.clear-filter"
	Sort         ID = "perks.sort"
	SortReverse  ID = "perks.sort-reverse"
	Columns      ID = "perks.columns"
	Mark         ID = "perks.mark"
	MarkRange    ID = "perks.mark-range"
	MarkAll      ID = "perks.mark-all"
	ClearMarks   ID = "perks.clear-marks"
	Export       ID = "perks.export"
	Preview      ID = "perks.preview"
	PreviewDown  ID = "perks.preview-down"
	PreviewUp    ID = "perks.preview-up"
	Expired      ID = "perks.expired"
	Category     ID = "perks.category"
	SaveView     ID = "perks.save-view"
	NextView     ID = "perks.next-view"
	PreviousView ID = "perks.previous-view"
	NextTab      ID = "perks.next-tab"
	// With one record: a perk, a redemption or a property.
	Redeem    ID = "record.redeem"
	CopyID    ID = "record.copy-id"
	OpenImage ID = "record.open-image"
	ForUser   ID = "record.user"
	OpenPerk  ID = "record.perk"
	// With a record that a list has opened.
	NextRecord     ID = "record.next"
	PreviousRecord ID = "record.previous"
	// With a redemption.
	Approve ID = "redemption.approve"
	Reject  ID = "redemption.reject"
	Void    ID = "redemption.void"
	// With a perk that may be changed.
	NewPerk ID = "perk.create"
	Stock   ID = "perk.stock"
	// With a property, and but for Create and Delete with a perk.
	Create    ID = "property.create"
	Edit      ID = "property.edit"
	EditField ID = "property.field"
	Delete    ID = "property.delete"
	Undo      ID = "property.undo"
	History   ID = "property.history"
	Restore   ID = "property.restore"
	// In forms.
	NextField      ID = "form.next"
	PreviousField  ID = "form.previous"
	NextChoice     ID = "form.next-choice"
	PreviousChoice ID = "form.previous-choice"
	Submit         ID = "form.submit"
	Editor         ID = "form.editor"
	Cancel         ID = "form.cancel"
	Profile        ID = "form.profile"
	Recent         ID = "form.recent"
	Complete       ID = "form.complete"
	ScrollDown     ID = "form.scroll-down"
	ScrollUp       ID = "form.scroll-up"
	// Where a person has to decide.
	Yes          ID = "confirm.yes"
	No           ID = "confirm.no"
	Mine         ID = "merge.mine"
	Theirs       ID = "merge.theirs"
	CheckAgain   ID = "settle.look"
	Retry        ID = "settle.retry"
	StopChecking ID = "settle.give-up"
)

func all() []Action {
	return []Action{
		{Up, []string{"k", "up"}, "Up", ""},
		{Down, []string{"j", "down"}, "Down", ""},
		{PageUp, []string{"pgup", "ctrl+b"}, "Page up", ""},
		{PageDown, []string{"pgdown", "ctrl+f"}, "Page down", ""},
		{Top, []string{"g", "home"}, "To the top", ""},
		{Bottom, []string{"G", "end"}, "To the bottom", ""},
		{Open, []string{"enter", "l", "right"}, "Open", "open"},

		{Filter, []string{"/", "f"}, "Filter", "filter"},
		{ClearFilter, []string{"F"}, "Clear the filter", "clear filter"},
		{SaveView, []string{"w"}, "Save or remove this view", ""},
		{NextView, []string{">"}, "Next view", ""},
		{PreviousView, []string{"<"}, "Previous view", ""},
		{Category, []string{"c"}, "Choose a category", ""},
		{Sort, []string{"s"}, "Sort by…", "sort"},
		{SortReverse, []string{"S"}, "Reverse the order", ""},
		{Columns, []string{"C"}, "Show or hide columns…", ""},
		{Expired, []string{"i", "e"}, "Expired on/off", ""},
		{Mark, []string{" "}, "Mark", "mark"},
		{MarkRange, []string{"V"}, "Mark to here", ""},
		{MarkAll, []string{"A"}, "Mark all", ""},
		{ClearMarks, []string{"X"}, "Clear marks", ""},
		{Export, []string{"E"}, "Export to a file…", ""},
		{Preview, []string{"v"}, "Preview on/off", ""},
		{PreviewDown, []string{"J", "shift+down"}, "Preview down", ""},
		{PreviewUp, []string{"K", "shift+up"}, "Preview up", ""},
		{NextTab, []string{"tab"}, "Switch tab", "switch tab"},

		{Redeem, []string{"r"}, "Redeem", "redeem"},
		{CopyID, []string{"y"}, "Copy the id", "copy id"},
		{OpenImage, []string{"o"}, "Open the image in a browser", "open image"},
		{ForUser, []string{"u"}, "Go to the user", "user"},
		{OpenPerk, []string{"P"}, "Go to the perk", "perk"},
		{NextRecord, []string{"n"}, "Next record", "next"},
		{PreviousRecord, []string{"p"}, "Previous record", ""},

		{Approve, []string{"a"}, "Approve", "approve"},
		{Reject, []string{"x"}, "Reject", "reject"},
		{Void, []string{"ctrl+x"}, "Void", "void"},

		{NewPerk, []string{"N"}, "New perk…", ""},
		{Stock, []string{"+"}, "Change the stock…", ""},

		{Create, []string{"N"}, "New property…", "new"},
		{Edit, []string{"e"}, "Edit", ""},
		{EditField, []string{"/", "f"}, "Edit a field…", ""},
		{Delete, []string{"ctrl+x"}, "Delete", "delete"},
		{Undo, []string{"z"}, "Undo the last saved edit", "undo"},
		{History, []string{"h"}, "History", "history"},
		{Restore, []string{"b"}, "Restore", "restore"},

		{NextField, []string{"tab", "down"}, "Next field", "next"},
		{PreviousField, []string{"shift+tab", "up"}, "Previous field", ""},
		{NextChoice, []string{"down"}, "Next choice", "choose"},
		{PreviousChoice, []string{"up"}, "Previous choice", ""},
		{Submit, []string{"ctrl+s"}, "Save", "send"},
		{Editor, []string{"ctrl+e"}, "Edit in $EDITOR", "editor"},
		{Cancel, []string{"esc"}, "Cancel", "cancel"},
		{Profile, []string{"ctrl+p"}, "Choose a profile", "profile"},
		{Recent, []string{"ctrl+o"}, "Choose a recent one", "recent"},
		{Complete, []string{"right", "end"}, "Complete", "complete"},
		{ScrollDown, []string{"pgdown"}, "Scroll down", ""},
		{ScrollUp, []string{"pgup"}, "Scroll up", ""},

		{Yes, []string{"y"}, "Yes", "yes"},
		{No, []string{"n", "esc"}, "No", "no"},
		{Mine, []string{"m"}, "Keep mine", "mine"},
		{Theirs, []string{"t"}, "Take theirs", "theirs"},
		{CheckAgain, []string{"s"}, "Check again", "check"},
		{Retry, []string{"t"}, "Retry safely", "retry"},
		{StopChecking, []string{"x"}, "Stop checking", "stop"},

		{Perks, []string{"1"}, "Perks", ""},
		{User, []string{"2"}, "Users", ""},
		{Property, []string{"3"}, "Properties", ""},
		{Redemptions, []string{"4"}, "Redemptions", ""},
		{Results, []string{"5"}, "Last redemption", ""},
		{Login, []string{"L"}, "Log in, or switch the profile", ""},
		{Refresh, []string{"R", "ctrl+r"}, "Reload", ""},
		{Theme, []string{"T"}, "Next theme", ""},
		{Mouse, []string{"M"}, "Mouse on/off", ""},
		{Messages, []string{"!"}, "Messages", ""},
		{Suspend, []string{"ctrl+z"}, "Suspend (fg returns)", ""},
		{Palette, []string{"ctrl+k", ":"}, "Find a command", "commands"},
		{Help, []string{"?"}, "Keys", "keys"},
		{Back, []string{"esc", "backspace", "h", "left"}, "Back", "back"},
		{Quit, []string{"q"}, "Quit", "quit"},
	}
}

// contexts is the actions, or whole groups of them, that can be offered at the same time, and so must not share a key.
var contexts = [][]string{
	{"confirm", "list.up", "list.down", "list.page-up", "list.page-down", "list.top", "list.bottom"},
	{"list", "perks", "record", "redemption", "property.restore", "app", "command"},
	{"list", "record", "redemption", "settle.retry", "app", "command"},
	{"list", "record", "property", "app", "command"},
	{"list", "record", "perk.stock", "property.edit", "property.undo", "property.history", "settle", "app", "command"},
	{"list", "perks", "record", "perk", "property.edit", "app", "command"},
	slices.Concat([]string{"list", "property.create", "property.edit", "record.copy-id", "app", "command"}, ofAnyList),
	{"list", "settle", "record.user", "record.perk", "form.submit", "app", "command"},
	{"list", "merge", "form.submit", "app", "command"},
	inForms,
}

// ofAnyList is what every list can do that is filtered.
var ofAnyList = []string{"perks.filter", "perks.clear-filter", "perks.sort", "perks.sort-reverse", "perks.columns",
	"perks.mark", "perks.mark-range",
	"perks.mark-all", "perks.clear-marks", "perks.export", "perks.preview", "perks.preview-down", "perks.preview-up",
	"perks.save-view", "perks.next-view", "perks.previous-view"}

func isIn(context []string, id ID) bool {
	return slices.Contains(context, id.Group()) || slices.Contains(context, string(id))
}

// meet tells whether two actions can be offered at the same time.
func meet(id, other ID) bool {
	return slices.ContainsFunc(contexts, func(context []string) bool {
		return isIn(context, id) && isIn(context, other)
	})
}

// Command makes the action of the n-th command of the user's own, counted from 0. Key may be "".
func Command(n int, key, name string) Action {
	a := Action{ID: ID(fmt.Sprintf("command.%d", n+1)), Name: name}
	if key != "" {
		a.Keys = []string{key}
	}
	return a
}

// Override gives an action other keys; without any, only the command palette has it. With Takes, other actions lose
// these keys.
type Override struct {
	Keys  []string
	Takes bool
}

// Registry is the actions with the keys of this user.
type Registry struct {
	actions []Action
	byID    map[ID]Action
}

// Configure makes the registry with other keys for some actions, and with the user's own commands. The error names an
// unknown action or an invalid key. Where a key is bound twice, its actions have their default keys, and clashes say
// so.
func Configure(overrides map[ID]Override, commands ...Action) (r *Registry, clashes []string, err error) {
	overrides, commands = maps.Clone(overrides), slices.Clone(commands)
	for {
		if r, err = configure(overrides, commands); err != nil {
			return nil, nil, err
		}
		clashing := r.clashing()
		if len(clashing) == 0 {
			return r, clashes, nil
		}
		for _, key := range slices.Sorted(maps.Keys(clashing)) {
			names := ""
			for _, id := range clashing[key] {
				names += ", " + string(id)
				delete(overrides, id)
				for i := range commands {
					if commands[i].ID == id {
						commands[i].Keys = nil
					}
				}
			}
			clashes = append(clashes, Spell(key)+" is bound twice: "+names[2:])
		}
	}
}

func configure(overrides map[ID]Override, commands []Action) (*Registry, error) {
	r := &Registry{actions: append(all(), commands...), byID: map[ID]Action{}}
	for i := range r.actions {
		a := &r.actions[i]
		own, overridden := overrides[a.ID]
		if overridden {
			a.Keys = slices.Clone(own.Keys)
		}
		a.Keys = slices.DeleteFunc(slices.Clone(a.Keys), func(key string) bool {
			return !own.Takes && taken(overrides, a.ID, key)
		})
		if r.byID[a.ID] = *a; len(a.Keys) == 0 && a.ID.Group() == "confirm" {
			return nil, fmt.Errorf("%s needs a key: no command palette can answer a question", a.ID)
		}
		for _, key := range a.Keys {
			if err := checkKey(*a, key); err != nil && (overridden || a.ID.Group() == "command") {
				return nil, err
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(overrides)) {
		if _, known := r.byID[id]; !known {
			return nil, fmt.Errorf("there is no action %q", id)
		}
	}
	return r, nil
}

// taken tells whether an override takes a key away from an action.
func taken(overrides map[ID]Override, from ID, key string) bool {
	for id, o := range overrides {
		if o.Takes && id != from && slices.Contains(o.Keys, key) && meet(id, from) {
			return true
		}
	}
	return false
}

// Default returns the registry with the default keys, which a test holds to the rules for chosen ones.
func Default() *Registry {
	r, err := configure(nil, nil)
	if err != nil {
		panic(err)
	}
	return r
}

// clashing returns the keys of several actions that can be offered at the same time.
func (r *Registry) clashing() map[string][]ID {
	found := map[string][]ID{}
	for i, a := range r.actions {
		for _, other := range r.actions[i+1:] {
			for _, key := range a.Keys {
				if !slices.Contains(other.Keys, key) || !meet(a.ID, other.ID) || isHidden(key, a.ID, other.ID) {
					continue
				}
				for _, id := range []ID{a.ID, other.ID} {
					if !slices.Contains(found[key], id) {
						found[key] = append(found[key], id)
					}
				}
			}
		}
	}
	return found
}

// isHidden tells whether a key of an action that has others does something else on one screen.
func isHidden(key string, id, other ID) bool {
	both := []ID{id, other}
	return key == "h" && slices.Contains(both, Back) && slices.Contains(both, History) ||
		key == "e" && slices.Contains(both, Expired) && slices.Contains(both, Edit) ||
		key == "down" && slices.Contains(both, NextChoice) && slices.Contains(both, NextField) ||
		key == "up" && slices.Contains(both, PreviousChoice) && slices.Contains(both, PreviousField)
}

// Actions returns all actions in the order of the help.
func (r *Registry) Actions() []Action { return r.actions }

// Action returns an action; the zero Action if there is none.
func (r *Registry) Action(id ID) Action { return r.byID[id] }

// Find returns the first offer that has the key. While text is typed, only actions that work then, and never for a key
// that prints.
func (r *Registry) Find(key string, typing bool, offers []Offer) (Offer, bool) {
	for _, offer := range offers {
		a := r.byID[offer.ID]
		if slices.Contains(a.Keys, key) && (!typing || a.InForms() && !Prints(key)) {
			return offer, true
		}
	}
	return Offer{}, false
}

// Key returns the first key of an action for display; "" if it has none.
func (r *Registry) Key(id ID) string {
	if keys := r.byID[id].Keys; len(keys) > 0 {
		return Spell(keys[0])
	}
	return ""
}

// Spell returns a key for display.
func Spell(key string) string {
	spelled := map[string]string{" ": "space", "up": "↑", "down": "↓", "left": "←", "right": "→",
		"pgdown": "pgdn"}
	return cmp.Or(spelled[key], key)
}

// checkKey says what is wrong with a key for an action.
func checkKey(a Action, key string) error {
	switch {
	case key == "" || strings.TrimSpace(key) == "" && key != " ":
		return fmt.Errorf("%s has an empty key; write the space bar as \" \"", a.ID)
	case key == "ctrl+c":
		return fmt.Errorf("%s cannot have ctrl+c: that always quits", a.ID)
	case a.ID == Yes && (key == "enter" || key == " "):
		return fmt.Errorf("%s cannot have %q: it is too easily pressed by accident to delete or redeem", a.ID, key)
	case !isKey(key):
		return fmt.Errorf("%s: %q is not a key; write keys like x, f5, ctrl+x, alt+x, pgdown", a.ID, key)
	case a.ID.Group() == "form" && Prints(key):
		return fmt.Errorf("%s cannot have %q: it types text in a form", a.ID, key)
	// there is nothing to the right of the cursor then
	case a.InForms() && slices.Contains(editingKeys, key) && (a.ID != Complete || key != "right" && key != "end"):
		return fmt.Errorf("%s cannot have %q: it edits text", a.ID, key)
	}
	return nil
}

// editingKeys is the keys that edit text.
var editingKeys = []string{"enter", "backspace", "delete", "left", "right", "home", "end"}

func isKey(key string) bool {
	key = cmp.Or(strings.TrimPrefix(key, "alt+"), key)
	if utf8.RuneCountInString(key) == 1 {
		return true
	}
	for kind := tea.KeyType(-128); kind < 128; kind++ {
		if kind != tea.KeyRunes && kind.String() == key {
			return true
		}
	}
	return false
}
