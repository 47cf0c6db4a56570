package output

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/template"

	"github.com/itchyny/gojq"

	"example.com/perks/api/display"
	"example.com/perks/cli/command"
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

// jqUse writes each result to a line. Strings are written without quotes, as jq -r does, and as JSON if that was asked for.
func jqUse(ctx context.Context, out io.Writer, code *gojq.Code, asJSON bool) func(any) error {
	halted := false
	return func(value any) error {
		results := code.RunWithContext(ctx, value)
		for !halted {
			result, more := results.Next()
			if !more {
				return nil
			}
			if err, failed := result.(error); failed {
				if halt := (*gojq.HaltError)(nil); errors.As(err, &halt) && halt.Value() == nil {
					halted = true
					return nil
				}
				return fmt.Errorf("the --jq expression failed: %w", err)
			}
			if err := writeResult(out, result, asJSON); err != nil {
				return err
			}
		}
		return nil
	}
}

func writeResult(out io.Writer, result any, asJSON bool) error {
	text, isText := result.(string)
	if isText && !asJSON {
		_, err := io.WriteString(out, text+"\n")
		return err
	}
	raw, err := gojq.Marshal(result)
	if err != nil {
		return fmt.Errorf("write the result of --jq: %w", err)
	}
	_, err = out.Write(append(display.JSON(raw), '\n'))
	return err
}

func templateUse(out io.Writer, text *template.Template) func(any) error {
	return func(value any) error {
		err := text.Execute(out, value)
		if err == nil {
			return nil
		}
		err = fmt.Errorf("the --template failed: %w", err)
		// Text is all that the library says with.
		if _, isList := value.([]any); isList && strings.Contains(err.Error(), "in type []interface {}") {
			return &command.Advised{Err: err, Advice: "A list is an array: begin with {{range .}}."}
		}
		return err
	}
}
