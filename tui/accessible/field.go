package accessible

import (
	"fmt"
	"strconv"
	"strings"

	"example.com/perks/api/display"
	"example.com/perks/tui/widget"
)

// longest is the longest text that is said as what a field holds now; what is longer is said when asked for.
const longest = 120

// prompt is the question for a field: "City (now Berlin), empty keeps it, - clears it: ".
func prompt(f widget.Field, value string) string {
	label := display.Line(f.Label)
	value = display.Text(value)
	switch f.Kind {
	case widget.Secret:
		if value != "" {
			return label + " (hidden), empty keeps it: "
		}
		return label + " (hidden): "
	case widget.Switch:
		return fmt.Sprintf("%s, yes or no (now %s): ", label, display.Line(value))
	case widget.Choice:
		return choicePrompt(f, label, value)
	case widget.Text:
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

func choicePrompt(f widget.Field, label, value string) string {
	options := make([]string, len(f.Options))
	for i, option := range f.Options {
		options[i] = fmt.Sprintf("%d %s", i+1, display.Line(option))
	}
	return fmt.Sprintf("%s: %s (now %s): ", label, strings.Join(options, ", "), display.Line(value))
}

func hint(f widget.Field) string {
	if f.Hint == "" {
		return ""
	}
	return " (" + strings.Trim(display.Line(f.Hint), "()") + ")"
}

func inShort(value string) string {
	if lines := strings.Count(value, "\n") + 1; lines > 1 || len(value) > longest {
		return fmt.Sprintf("%s; :say says it", widget.Plural(int64(len([]rune(value))), "character", "characters"))
	}
	return value
}

// read makes the value of a field from what was typed, or says as a sentence what is wrong with that.
func read(f widget.Field, text string) (value, problem string) {
	switch f.Kind {
	case widget.Switch:
		switch strings.ToLower(strings.TrimSpace(text)) {
		case "y", "yes":
			return widget.Yes, ""
		case "n", "no":
			return widget.No, ""
		}
		return "", "Type yes or no."
	case widget.Choice:
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
