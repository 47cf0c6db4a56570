package output

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/charmbracelet/x/ansi"

	"example.com/perks/api/display"
	"example.com/perks/api/rows"
	"example.com/perks/cli/command"
)

// TemplateHelp is what a --template can call, for the help.
const TemplateHelp = "A --template can call, beside what Go's templates have:\n" +
	"  json VALUE             the value as JSON\n" +
	"  join SEPARATOR LIST    the entries of a list as one text\n" +
	"  pluck FIELD LIST       this field of each record of a list\n" +
	"  truncate N TEXT        at most N columns of a text\n" +
	"  timeago TIME           how far a time is from now, such as \"2 hours ago\"\n" +
	"  hyperlink URL TEXT     on a terminal a link, elsewhere the text\n" +
	"  tablerow CELL...       a row of a table, which is written with aligned columns at the end\n" +
	"  tablerender            writes the rows so far, before the end"

// templateWriter is a parsed --template with the rows that wait for tablerender.
type templateWriter struct {
	text    *template.Template // nil without --template
	streams *command.Streams
	now     func() time.Time
	rows    [][]string
}

// parseTemplate also checks a template before there are streams.
func parseTemplate(text string, s *command.Streams, now func() time.Time) (*templateWriter, error) {
	t := &templateWriter{streams: s, now: now}
	if text == "" {
		return t, nil
	}
	var err error
	parser := template.New("--template").Funcs(t.functions()).Option("missingkey=error")
	if t.text, err = parser.Parse(text); err != nil {
		return nil, command.Usagef("The --template is not valid: %s.", t.problem(err))
	}
	return t, nil
}

func (t *templateWriter) problem(err error) string {
	return command.ExplainTemplate(err, slices.Sorted(maps.Keys(t.functions())))
}

func (t *templateWriter) functions() template.FuncMap {
	return template.FuncMap{
		"json": func(value any) (string, error) {
			text, err := rows.Encode(value)
			return string(text), err
		},
		"join": func(separator string, list []any) string {
			texts := make([]string, len(list))
			for i, entry := range list {
				texts[i] = cellText(entry)
			}
			return strings.Join(texts, separator)
		},
		"pluck": func(field string, list []any) ([]any, error) {
			values := make([]any, len(list))
			for i, entry := range list {
				record, isRecord := entry.(map[string]any)
				if !isRecord {
					return nil, errors.New("the list has an entry that is not an object")
				}
				values[i] = record[field]
			}
			return values, nil
		},
		"truncate":    func(columns int, value any) string { return display.Cut(cellText(value), max(0, columns)) },
		"timeago":     t.timeAgo,
		"hyperlink":   t.hyperlink,
		"tablerow":    func(cells ...any) string { t.add(cells); return "" },
		"tablerender": t.render,
	}
}

// cellText is a value for people: nothing for null, JSON for lists and objects.
func cellText(value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case []any, map[string]any:
		text, _ := rows.Encode(value) // it was read from JSON
		return string(text)
	}
	return fmt.Sprint(value)
}

func (t *templateWriter) timeAgo(value any) (string, error) {
	if value == nil {
		return "", nil
	}
	at, err := time.Parse(time.RFC3339, cellText(value))
	if err != nil {
		return "", fmt.Errorf("%q is not a time, such as 2030-01-31T12:00:00Z", cellText(value))
	}
	return display.Distance(at, t.now()), nil
}

func (t *templateWriter) hyperlink(address, value any) string {
	url, text := cellText(address), cellText(value)
	if text == "" {
		text = url
	}
	if !t.streams.OutTTY || url == "" {
		return text
	}
	return ansi.SetHyperlink(url) + text + ansi.ResetHyperlink()
}

var oneLine = strings.NewReplacer("\r", " ", "\n", " ", "\t", " ")

func (t *templateWriter) add(cells []any) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		row[i] = oneLine.Replace(cellText(cell))
	}
	t.rows = append(t.rows, row)
}

// render returns the rows: aligned and within the screen on a terminal, and with tabs elsewhere.
func (t *templateWriter) render() string {
	var text strings.Builder
	l := layout{}
	for _, row := range t.rows {
		for at, cell := range row {
			if at == len(l.columns) {
				l.columns = append(l.columns, column{at: at})
			}
			l.columns[at].width = max(l.columns[at].width, display.Width(cell))
		}
	}
	if t.streams.Width > 0 && len(l.columns) > 0 {
		l.narrow(t.streams.Width)
	}
	for _, row := range t.rows {
		line := strings.Join(row, "\t")
		if t.streams.OutTTY {
			for at := range row { // display.Pad would remove links
				row[at] = ansi.Truncate(row[at], l.columns[at].width, "…")
				row[at] += strings.Repeat(" ", l.columns[at].width-display.Width(row[at]))
			}
			line = strings.TrimRight(strings.Join(row, gap), " ")
		}
		text.WriteString(line + "\n")
	}
	t.rows = nil
	return text.String()
}

// query returns what writes a value through the template. On a terminal the texts of the value are made safe, rather
// than what is written, which can have links.
func (t *templateWriter) query(out io.Writer) func(any) error {
	return func(value any) error {
		if t.streams.OutTTY {
			value = safeTexts(value)
		}
		err := t.text.Execute(out, value)
		if err == nil {
			return nil
		}
		var failed template.ExecError
		if !errors.As(err, &failed) { // the output cannot be written
			return err
		}
		problem := fmt.Errorf("the --template failed: %s", t.problem(failed))
		if _, isList := value.([]any); isList && strings.Contains(problem.Error(), "a list has no field") {
			return &command.Advised{Err: problem, Advice: "A list is an array: begin with {{range .}}."}
		}
		return problem
	}
}

func safeTexts(value any) any {
	switch value := value.(type) {
	case string:
		return display.Text(value)
	case []any:
		for i := range value {
			value[i] = safeTexts(value[i])
		}
	case map[string]any:
		safe := map[string]any{}
		for name, member := range value {
			safe[display.Text(name)] = safeTexts(member)
		}
		return safe
	}
	return value
}
