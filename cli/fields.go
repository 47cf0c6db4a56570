package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"example.com/perks/api/display"
	"example.com/perks/cli/command"
)

// maxInput bounds a body, which is held in memory. The service takes none that is longer.
const maxInput = 16 << 20

// query makes key=value fields a query; a key may come more than once.
func query(fields []string) (url.Values, error) {
	values := url.Values{}
	for _, field := range fields {
		key, value, ok := strings.Cut(field, "=")
		if !ok || key == "" {
			return nil, command.Usagef("--field %q must look like key=value.", field)
		}
		values.Add(key, value)
	}
	return values, nil
}

// object makes fields a JSON object: key=value is a string, key:=value is JSON.
func object(fields []string) ([]byte, error) {
	members := map[string]json.RawMessage{}
	for _, field := range fields {
		key, value, ok := strings.Cut(field, "=")
		if !ok || key == "" {
			return nil, command.Usagef("--field %q must look like key=value or key:=JSON.", field)
		}
		raw, err := json.Marshal(value)
		if name, isJSON := strings.CutSuffix(key, ":"); isJSON {
			key, raw = name, []byte(value)
			if !json.Valid(raw) {
				return nil, command.Usagef("--field %q: %s is not JSON. Leave the colon out if it is a string.", field, value)
			}
		}
		if err != nil {
			return nil, err
		}
		if _, twice := members[key]; twice {
			return nil, command.Usagef("--field has %q twice.", key)
		}
		members[key] = raw
	}
	return json.Marshal(members)
}

func readInput(path string, stdin io.Reader) ([]byte, error) {
	source := stdin
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, command.Usagef("--input cannot be read: %s.", err)
		}
		defer file.Close()
		source = file
	}
	body, err := io.ReadAll(io.LimitReader(source, maxInput+1))
	if err != nil {
		return nil, fmt.Errorf("read --input: %w", err)
	}
	if len(body) > maxInput {
		return nil, command.Usagef("--input is longer than %d bytes.", maxInput)
	}
	return body, nil
}

// writeText leaves text alone on its way to a file, and takes out what would steer a terminal.
func (o *options) writeText(body []byte) error {
	out := o.session.Streams.Out
	if o.session.Streams.OutTTY {
		out = display.Writer(out)
	}
	_, err := out.Write(body)
	return err
}
