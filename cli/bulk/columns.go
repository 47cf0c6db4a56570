package bulk

import (
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"example.com/perks/api"
	"example.com/perks/api/rows"
	"example.com/perks/cli/command"
)

// KnownColumns are the columns that a command knows. It refuses any other, because it would silently ignore the values
// under a misspelt name. KnownColumns is safe for concurrent use.
type KnownColumns struct {
	Columns []Column
	Prefix  string   // CSV columns whose names start so are known too; "" for none
	Ignored []string // columns of exports that the command does not need

	header atomic.Pointer[header] // of the file that is being read
}

// Column is a column that a command reads.
type Column struct {
	Name     string
	Aliases  []string
	Required bool // every row needs a value
	Empty    bool // an empty cell is a value, the empty text
}

// The columns that a file of failed rows has beside its rows.
const (
	// reasonColumn is the last column, or member, of each row: why it failed. A run ignores it.
	reasonColumn = "failed_because"
	// unreadableMember holds a line that is not a JSON object. A run refuses a row with it.
	unreadableMember = "unreadable_line"
)

// Row holds the values of one row by the names of their columns. An empty cell is no value, unless its column says so.
type Row map[string]Value

// Value is a value with the name of its column in the file, for messages.
type Value struct {
	api.Value
	Name string
}

// Read reads one row. A *command.UsageError is about the header of a CSV file; any other error is about this row.
func (k *KnownColumns) Read(row rows.Row) (Row, error) {
	if row.Object != nil {
		return k.readObject(row.Object)
	}
	header := k.headerOf(row.Header)
	if header.err != nil {
		return nil, header.err
	}
	values, problems := Row{}, api.FieldErrors{}
	for i, cell := range row.Cells {
		if !utf8.ValidString(cell) {
			problems.Add(header.names[i], "must be valid UTF-8")
		}
		takesEmpty := func(c Column) bool { return c.Empty && c.Name == header.columns[i] }
		if name := header.columns[i]; name != "" && (cell != "" || slices.ContainsFunc(k.Columns, takesEmpty)) {
			values[name] = Value{api.TextValue(cell), header.names[i]}
		}
	}
	k.requireValues(values, header.names, header.columns, problems)
	return values, problems.Err()
}

func (k *KnownColumns) readObject(object json.RawMessage) (Row, error) {
	members, err := api.ParseObject(object)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = m.Name
	}
	columns, problems := k.resolve(names, "field")
	values := Row{}
	for i, m := range members {
		if columns[i] == "" {
			continue
		}
		if m.Repeated {
			problems.Add(m.Name, "is given more than once")
		}
		values[columns[i]] = Value{m.Value, m.Name}
	}
	k.requireValues(values, names, columns, problems)
	return values, problems.Err()
}

func (k *KnownColumns) requireValues(values Row, names, columns []string, problems api.FieldErrors) {
	for _, column := range k.Columns {
		if _, there := values[column.Name]; column.Required && !there {
			name := column.Name // unless the row has it by another one
			if i := slices.Index(columns, column.Name); i >= 0 {
				name = names[i]
			}
			problems.Add(name, "is required")
		}
	}
}

// resolve finds the column that each name stands for, "" if it is ignored, and what is wrong with the names. People
// write the names of columns and programs those of fields, which must be exact. Objects are nested in JSON, and have a
// column for each member in CSV.
func (k *KnownColumns) resolve(names []string, kind string) (columns []string, problems api.FieldErrors) {
	prefix, fold := "", func(name string) string { return name }
	if kind == "column" {
		prefix, fold = k.Prefix, rows.FoldName
	}
	columns, problems = make([]string, len(names)), api.FieldErrors{}
	for i, name := range names {
		column, known := k.column(name, prefix, fold)
		switch at := slices.Index(columns[:i], column); {
		case !utf8.ValidString(name):
			problems.Add(strings.ToValidUTF8(name, "\uFFFD"), "must be valid UTF-8")
		case name == unreadableMember:
			problems.Add(name, "could not be read; correct it and replace this object with it")
		case !known:
			var list, candidates []string
			for _, c := range k.Columns {
				list, candidates = append(list, c.Name), append(append(candidates, c.Name), c.Aliases...)
			}
			meant := command.DidYouMean(fold(name), candidates)
			if prefix != "" {
				list = append(list, prefix+"KEY")
				if word, key, _ := strings.Cut(name, "."); key != "" {
					meant = command.DidYouMean(fold(word)+"."+key, []string{prefix + key})
				}
			}
			problems.Add(name, "is not a known %s.%s The %ss are %s", kind, meant, kind, strings.Join(list, ", "))
		case column != "" && at >= 0:
			problems.Add(name, "means the same as %s; only one of them can be there", names[at])
		}
		columns[i] = column
	}
	return columns, problems
}

func (k *KnownColumns) column(name, prefix string, fold func(string) string) (column string, known bool) {
	is := func(other string) bool { return fold(name) == fold(other) }
	if i := slices.IndexFunc(k.Columns, func(c Column) bool {
		return is(c.Name) ||
			slices.ContainsFunc(c.Aliases, is)
	}); i >= 0 {
		return k.Columns[i].Name, true
	}
	if n := len(prefix); n > 0 && len(name) > n && strings.EqualFold(name[:n],
		prefix) { // what follows is the file's own
		return prefix + name[n:], true
	}
	return "", is(reasonColumn) || slices.ContainsFunc(k.Ignored, is)
}

// header is the first line of a CSV file with the columns that it names.
type header struct {
	names   []string
	columns []string // by the names; "" for those that are ignored
	err     error
}

// headerOf resolves a header once for all rows of a file.
func (k *KnownColumns) headerOf(names []string) *header {
	if h := k.header.Load(); h != nil && len(h.names) == len(names) && &h.names[0] == &names[0] {
		return h
	}
	columns, problems := k.resolve(names, "column")
	h := &header{names: names, columns: columns}
	for _, column := range k.Columns {
		if column.Required && !slices.Contains(columns, column.Name) {
			problems.Add(column.Name, "is missing; every row needs it")
		}
	}
	if len(problems) > 0 {
		message := "The columns are not right. Check the first line of the file."
		if !slices.ContainsFunc(columns, func(column string) bool { return column != "" }) {
			message = "The first line of the file names none of the columns. Is the header missing?"
		}
		h.err = &command.UsageError{Message: message, Fields: problems}
	}
	k.header.Store(h)
	return h
}
