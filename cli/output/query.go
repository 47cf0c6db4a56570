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

// queryEncoder runs a jq expression or a template: on a list as one array, or with each on every item.
type queryEncoder struct {
	each  bool
	items []any // never nil, which would be null
	run   func(value any) error
}

func (e *queryEncoder) one(r record) error {
	value, err := r.value()
	if err != nil {
		return err
	}
	return e.run(value)
}

func (e *queryEncoder) item(r record) error {
	if e.each {
		return e.one(r)
	}
	value, err := r.value()
	e.items = append(e.items, value)
	return err
}

func (e *queryEncoder) end(complete bool) error {
	if e.each || !complete {
		return nil
	}
	return e.run(e.items)
}

// jqQuery writes each result to a line: strings without quotes, as jq -r does, unless JSON was asked for.
func jqQuery(ctx context.Context, out io.Writer, code *gojq.Code, asJSON bool) func(any) error {
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
			text, isText := result.(string)
			if !isText || asJSON {
				raw, err := gojq.Marshal(result)
				if err != nil {
					return fmt.Errorf("write the result of --jq: %w", err)
				}
				text = string(display.JSON(raw))
			}
			if _, err := io.WriteString(out, text+"\n"); err != nil {
				return err
			}
		}
		return nil
	}
}

func templateQuery(out io.Writer, text *template.Template) func(any) error {
	return func(value any) error {
		err := text.Execute(out, value)
		if err == nil {
			return nil
		}
		err = fmt.Errorf("the --template failed: %w", err)
		// The library's text is all there is to recognize the mistake by.
		if _, isList := value.([]any); isList && strings.Contains(err.Error(), "in type []interface {}") {
			return &command.Advised{Err: err, Advice: "A list is an array: begin with {{range .}}."}
		}
		return err
	}
}
