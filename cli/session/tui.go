package session

import "go.yaml.in/yaml/v3"

// TUI is how the terminal UI is to be. What is right for a theme or a key is for the terminal UI to say.
type TUISettings struct {
	Theme      string                 `yaml:"theme,omitempty"`
	Mouse      bool                   `yaml:"mouse,omitempty"`      // use the mouse from the start
	Accessible bool                   `yaml:"accessible,omitempty"` // talk in lines instead of drawing
	Keys       map[string]KeySettings `yaml:"keys,omitempty"`       // by the action
}

// Keys is the keys of an action. A single one may stand without brackets.
type KeySettings []string

// UnmarshalYAML reads a list of keys, or one.
func (k *KeySettings) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		var one string
		if err := node.Decode(&one); err != nil {
			return err
		}
		*k = KeySettings{one}
		return nil
	}
	var list []string
	if err := node.Decode(&list); err != nil {
		return err
	}
	*k = list
	return nil
}
