package tuicmd

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/widget"
)

// settings is what flags and configuration say. An empty theme is one that neither of them names.
type settings struct {
	theme      widget.ThemeName
	mouse      bool
	accessible bool
	keys       *actions.Registry
}

func themeNames() string {
	var names []string
	for _, name := range widget.ThemeNames() {
		names = append(names, string(name))
	}
	return strings.Join(names, ", ")
}

// settings reads the configuration. Without a home folder there is none. Beside an error it returns the usual settings.
func (o *options) settings() (settings, error) {
	usual := settings{keys: actions.Default()}
	var kept session.TUISettings
	file, err := o.session.Config()
	if err == nil {
		c, err := file.Load()
		if err != nil {
			return usual, err
		}
		kept = c.TUI
	}
	chosen := settings{mouse: o.mouse, accessible: o.accessible}
	if !o.given("mouse") {
		chosen.mouse = kept.Mouse
	}
	if !o.given("accessible") {
		chosen.accessible = kept.Accessible
	}
	keys, problem := registry(kept.Keys)
	if problem != "" {
		return usual, wrong(file, "tui.keys", problem+" See perksctl tui --list-keys.")
	}
	chosen.keys = keys
	if kept.Theme != "" {
		if chosen.theme, err = widget.ParseTheme(kept.Theme); err != nil {
			return usual, wrong(file, "tui.theme", err.Error()+".")
		}
	}
	if o.theme != "" {
		if chosen.theme, err = widget.ParseTheme(o.theme); err != nil {
			return usual, command.Usagef("--theme: %s.", err)
		}
	}
	return chosen, nil
}

// wrong says which setting of the configuration cannot be right, and why.
func wrong(file session.ConfigFile, setting, why string) error {
	return command.Usagef("%s: the setting %s is wrong: %s", string(file), setting, why)
}

// blank is how the blank is written where one would not see it.
const blank = "space"

// registry gives the actions their keys, or says as a sentence what cannot be.
func registry(kept map[string]session.KeySettings) (keys *actions.Registry, problem string) {
	var known []string
	for _, action := range actions.Default().Actions() {
		known = append(known, string(action.ID))
	}
	overrides := map[actions.ID][]string{}
	for _, id := range slices.Sorted(maps.Keys(kept)) {
		if !slices.Contains(known, id) {
			return nil, fmt.Sprintf("there is no action %q.%s", id, command.DidYouMean(id, known))
		}
		list := []string{}
		for _, key := range kept[id] {
			if key == blank {
				key = " "
			}
			list = append(list, key)
		}
		overrides[actions.ID(id)] = list
	}
	keys, err := actions.NewRegistry(overrides)
	if err != nil {
		return nil, err.Error() + "."
	}
	return keys, ""
}
