package tuicmd

import "example.com/perks/tui/actions"

// binding is an action with its keys, as the configuration names them.
type binding struct {
	Action string   `json:"action"`
	Keys   []string `json:"keys"`
	Does   string   `json:"does"`
}

// bindings returns every action in the order of the help.
func bindings(keys *actions.Registry) []binding {
	var list []binding
	for _, action := range keys.Actions() {
		names := []string{}
		for _, key := range action.Keys {
			if key == " " {
				key = blank
			}
			names = append(names, key)
		}
		list = append(list, binding{string(action.ID), names, action.Name})
	}
	return list
}
