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

// KnownColumns are the columns that a command knows. It refuses any other, because it would silently ignore the values under a
// misspelt name. KnownColumns is safe for concurrent use.
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
	k.requireValues(values, header.names, problems)
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
	columns, problems := k.resolve(names, "field", "") // objects are nested in JSON, and have a column for each member in CSV
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
	k.requireValues(values, names, problems)
	return values, problems.Err()
}

func (k *KnownColumns) requireValues(values Row, names []string, problems api.FieldErrors) {
	for _, column := range k.Columns {
		if _, there := values[column.Name]; column.Required && !there {
			name := column.Name // unless the row has it by another one
			if i := slices.IndexFunc(names, column.isCalled); i >= 0 {
				name = names[i]
			}
			problems.Add(name, "is required")
		}
	}
}

// resolve finds the column that each name stands for, "" if it is ignored, and what is wrong with the names.
func (k *KnownColumns) resolve(names []string, kind, prefix string) (columns []string, problems api.FieldErrors) {
	columns, problems = make([]string, len(names)), api.FieldErrors{}
	for i, name := range names {
		column, known := k.column(name, prefix)
		switch at := slices.Index(columns[:i], column); {
		case !utf8.ValidString(name):
			problems.Add(strings.ToValidUTF8(name, "\uFFFD"), "must be valid UTF-8")
		case name == unreadableMember:
			problems.Add(name, "could not be read; correct it and replace this object with it")
		case !known:
			var list []string
			for _, c := range k.Columns {
				list = append(list, c.Name)
			}
			if prefix != "" {
				list = append(list, prefix+"KEY")
			}
			problems.Add(name, "is not a known %s; the %ss are %s", kind, kind, strings.Join(list, ", "))
		case column != "" && at >= 0:
			problems.Add(name, "means the same as %s; only one of them can be there", names[at])
		}
		columns[i] = column
	}
	return columns, problems
}

func (k *KnownColumns) column(name, prefix string) (column string, known bool) {
	if i := slices.IndexFunc(k.Columns, func(c Column) bool { return c.isCalled(name) }); i >= 0 {
		return k.Columns[i].Name, true
	}
	if prefix != "" && strings.HasPrefix(name, prefix) && name != prefix {
		return name, true
	}
	return "", name == reasonColumn || slices.Contains(k.Ignored, name)
}

func (c Column) isCalled(name string) bool { return name == c.Name || slices.Contains(c.Aliases, name) }

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
	columns, problems := k.resolve(names, "column", k.Prefix)
	h := &header{names: names, columns: columns}
	for _, column := range k.Columns {
		if column.Required && !slices.ContainsFunc(names, column.isCalled) {
			problems.Add(column.Name, "is missing; every row needs it")
		}
	}
	if len(problems) > 0 {
		h.err = &command.UsageError{Message: "The columns are not right. Check the first line of the file.", Fields: problems}
	}
	k.header.Store(h)
	return h
}
