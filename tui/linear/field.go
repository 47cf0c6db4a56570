package linear

import (
	"fmt"
	"strconv"
	"strings"

	"example.com/perks/api/plain"
	"example.com/perks/tui/components"
)

// longest is the longest text that is said as what a field holds now; what is longer is said when asked for.
const longest = 120

// prompt is the question for a field: "City (now Berlin), empty keeps it, - clears it: ".
func prompt(f components.Field, value string) string {
	label := plain.Line(f.Label)
	value = plain.Text(value)
	switch f.Kind {
	case components.Secret:
		if value != "" {
			return label + " (hidden), empty keeps it: "
		}
		return label + " (hidden): "
	case components.Switch:
		return fmt.Sprintf("%s, yes or no (now %s): ", label, plain.Line(value))
	case components.Choice:
		return choicePrompt(f, label, value)
	case components.Text:
		if value == "" {
			return label + ", several lines, the last only a dot" + hint(f) + ": "
		}
		return label + " (now " + inShort(value) + "), several lines, the last only a dot; empty keeps it, - clears it: "
	}
	if value == "" {
		return label + hint(f) + ": "
	}
	return fmt.Sprintf("%s (now %s), empty keeps it, - clears it: ", label, inShort(value))
}

func choicePrompt(f components.Field, label, value string) string {
	options := make([]string, len(f.Options))
	for i, option := range f.Options {
		options[i] = fmt.Sprintf("%d %s", i+1, plain.Line(option))
	}
	return fmt.Sprintf("%s: %s (now %s): ", label, strings.Join(options, ", "), plain.Line(value))
}

func hint(f components.Field) string {
	if f.Hint == "" {
		return ""
	}
	return " (" + strings.Trim(plain.Line(f.Hint), "()") + ")"
}

func inShort(value string) string {
	if lines := strings.Count(value, "\n") + 1; lines > 1 || len(value) > longest {
		return fmt.Sprintf("%s; :say says it", components.Plural(int64(len([]rune(value))), "character", "characters"))
	}
	return value
}

// read makes the value of a field from what was typed, or says as a sentence what is wrong with that.
func read(f components.Field, text string) (value, problem string) {
	switch f.Kind {
	case components.Switch:
		switch strings.ToLower(strings.TrimSpace(text)) {
		case "y", "yes":
			return components.Yes, ""
		case "n", "no":
			return components.No, ""
		}
		return "", "Type yes or no."
	case components.Choice:
		if n, err := strconv.Atoi(strings.TrimSpace(text)); err == nil {
			if n < 1 || n > len(f.Options) {
				return "", fmt.Sprintf("The numbers go from 1 to %d.", len(f.Options))
			}
			return f.Options[n-1], ""
		}
		if found := matching(f.Options, strings.TrimSpace(text)); len(found) == 1 {
			return f.Options[found[0]], ""
		}
		return "", fmt.Sprintf("Type a number from 1 to %d.", len(f.Options))
	}
	return text, ""
}
