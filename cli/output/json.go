package output

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"example.com/perks/cli/command"
)

const indent = "  "

// jsonEncoder writes one object, or an array with an indented object at a time.
type jsonEncoder struct {
	out   *bufio.Writer
	begun bool
}

func (e *jsonEncoder) one(r record) error { return e.write("", r.raw, "\n") }

func (e *jsonEncoder) item(r record) error {
	opening := "[\n" + indent
	if e.begun {
		opening = ",\n" + indent
	}
	e.begun = true
	if _, err := e.out.WriteString(opening); err != nil {
		return err
	}
	return e.write(indent, r.raw, "")
}

func (e *jsonEncoder) end() error {
	closing := "\n]\n"
	if !e.begun {
		closing = "[]\n"
	}
	_, err := e.out.WriteString(closing)
	return err
}

func (e *jsonEncoder) stop() error { return nil }

func (e *jsonEncoder) write(prefix string, raw json.RawMessage, ending string) error {
	var text bytes.Buffer
	if err := json.Indent(&text, raw, prefix, indent); err != nil {
		return err
	}
	text.WriteString(ending)
	_, err := e.out.Write(text.Bytes())
	return err
}

// jsonlEncoder writes a JSON text to a line.
type jsonlEncoder struct{ out io.Writer }

func (e *jsonlEncoder) one(r record) error { return e.item(r) }
func (e *jsonlEncoder) end() error         { return nil }
func (e *jsonlEncoder) stop() error        { return nil }

func (e *jsonlEncoder) item(r record) error {
	_, err := e.out.Write(append(r.raw, '\n'))
	return err
}

// idEncoder writes an id to a line, for the arguments of other commands.
type idEncoder struct {
	out io.Writer
	id  string
}

func (e *idEncoder) one(r record) error { return e.item(r) }
func (e *idEncoder) end() error         { return nil }
func (e *idEncoder) stop() error        { return nil }

func (e *idEncoder) item(r record) error {
	id := r.fields().get(e.id)
	if string(id) == "null" {
		return &command.Advised{Err: fmt.Errorf("a record has no field %q, which --output id writes", e.id), Advice: "Choose another field, such as with --jq."}
	}
	_, err := io.WriteString(e.out, unbroken.Replace(textOf(id))+"\n")
	return err
}

// unbroken takes the line ends out of an id, which would be two with one.
var unbroken = strings.NewReplacer("\r", " ", "\n", " ")
