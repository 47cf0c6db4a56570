package output

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"text/template"

	"github.com/itchyny/gojq"

	"example.com/perks/api/plain"
	"example.com/perks/cli/exit"
)

// wholeEncoder hands the data to an expression or a template: a list as one array, or with each, item by item.
type wholeEncoder struct {
	each  bool
	items []any
	use   func(value any) error
}

func (e *wholeEncoder) one(r record) error {
	value, err := r.value()
	if err != nil {
		return err
	}
	return e.use(value)
}

func (e *wholeEncoder) item(r record) error {
	if e.each {
		return e.one(r)
	}
	value, err := r.value()
	e.items = append(e.items, value)
	return err
}

func (e *wholeEncoder) end() error {
	if e.each {
		return nil
	}
	if e.items == nil {
		e.items = []any{}
	}
	return e.use(e.items)
}

func (e *wholeEncoder) stop() error { return nil }

// jqUse writes each result to a line. Strings are written without quotes for people, and as JSON if that was asked for.
func jqUse(ctx context.Context, out *bufio.Writer, code *gojq.Code, asJSON bool) func(any) error {
	return func(value any) error {
		results := code.RunWithContext(ctx, value)
		for {
			result, more := results.Next()
			if !more {
				return nil
			}
			if err, failed := result.(error); failed {
				return fmt.Errorf("the --jq expression failed: %w", err)
			}
			if err := writeResult(out, result, asJSON); err != nil {
				return err
			}
		}
	}
}

func writeResult(out *bufio.Writer, result any, asJSON bool) error {
	text, isText := result.(string)
	if isText && !asJSON {
		_, err := out.WriteString(plain.Text(text) + "\n")
		return err
	}
	raw, err := gojq.Marshal(result)
	if err != nil {
		return fmt.Errorf("write the result of --jq: %w", err)
	}
	_, err = out.Write(append(plain.JSON(json.RawMessage(raw)), '\n'))
	return err
}

func templateUse(out *bufio.Writer, text *template.Template) func(any) error {
	return func(value any) error {
		if err := text.Execute(plain.Writer(out), value); err != nil {
			return &exit.Advised{Err: fmt.Errorf("the --template failed: %w", err), Advice: "A list is an array: begin with {{range .}}."}
		}
		return nil
	}
}
