package user

import (
	"bytes"
	"encoding/json"
	"strings"

	"example.com/perks/api/display"
	"example.com/perks/tui/widget"
)

// longestShort is where metadata in short ends: no row has more room, and nobody listens to more.
const longestShort = 160

// inShort writes metadata as "shop=Mitte till=4", and what is no object as it is.
func inShort(metadata json.RawMessage) string {
	decoder := json.NewDecoder(bytes.NewReader(metadata))
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return widget.Cut(display.Line(string(metadata)), longestShort)
	}
	var parts []string
	for length := 0; decoder.More() && length < longestShort; {
		name, err := decoder.Token()
		var value json.RawMessage
		if err != nil || decoder.Decode(&value) != nil {
			break
		}
		part := name.(string) + "=" + bare(value)
		parts = append(parts, part)
		length += widget.Width(part)
	}
	return widget.Cut(display.Line(strings.Join(parts, " ")), longestShort)
}

// bare takes the quotes off a string.
func bare(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil && string(value) != "null" {
		return text
	}
	return string(value)
}

// pretty lays metadata out for reading.
func pretty(metadata json.RawMessage) string {
	switch string(bytes.TrimSpace(metadata)) {
	case "", "{}", "null":
		return "none"
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, metadata, "", "  "); err != nil {
		return display.Text(string(metadata))
	}
	return display.Text(strings.ReplaceAll(indented.String(), "\t", " "))
}
