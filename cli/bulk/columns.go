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

// Known is the columns that a command knows. Any other is refused, because what stands under a misspelt name would be
// lost without a word. A Known can be used by many goroutines.
type KnownColumns struct {
	Columns []Column
	Family  string   // columns of CSV whose names begin so are known too; "" for none
	Ignored []string // columns of exports that say nothing to the command

	header atomic.Pointer[header] // of the file that is being read
}

// Column is a column with a meaning.
type Column struct {
	Name     string
	Also     []string // other names for it
	Required bool     // every row has a value in it
	Empty    bool     // an empty cell is a value too, the empty text
}

// What a file of the rows that failed has beside the rows. A run passes the reason over.
const (
	// Reason is the last column, or member, of each row: why it failed.
	ReasonColumn = "failed_because"
	// Unreadable is the member, in place of all others, with a line that is no JSON object. A row with it is refused.
	Unreadable = "unreadable_line"
)

// Row is the values of one row by the first names of their columns. An empty cell is no value, unless its column says so.
type Row map[string]Value

// Value is a value with the name that its column has in the file, under which messages speak of it.
type Value struct {
	api.Value
	Name string
}

// Read reads one row. An *command.UsageError is about the header of a CSV file, and so about all its rows; any other error is
// about this row.
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
	columns, problems := k.resolve(names, "field", "") // an object has room for the whole of a family
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

// resolve finds the first name of the column that each name means, "" if it is to be ignored, and what is wrong with the
// names.
func (k *KnownColumns) resolve(names []string, kind, family string) (columns []string, problems api.FieldErrors) {
	columns, problems = make([]string, len(names)), api.FieldErrors{}
	for i, name := range names {
		column, known := k.column(name, family)
		switch at := slices.Index(columns[:i], column); {
		case !utf8.ValidString(name):
			problems.Add(strings.ToValidUTF8(name, "\uFFFD"), "must be valid UTF-8")
		case name == Unreadable:
			problems.Add(name, "could not be read; correct it and replace this object with it")
		case !known:
			var list []string
			for _, c := range k.Columns {
				list = append(list, c.Name)
			}
			if family != "" {
				list = append(list, family+"KEY")
			}
			problems.Add(name, "is not a %s that is known here; the %ss are %s", kind, kind, strings.Join(list, ", "))
		case column != "" && at >= 0:
			problems.Add(name, "means the same as %s; only one of them can be there", names[at])
		}
		columns[i] = column
	}
	return columns, problems
}

func (k *KnownColumns) column(name, family string) (column string, known bool) {
	if i := slices.IndexFunc(k.Columns, func(c Column) bool { return c.isCalled(name) }); i >= 0 {
		return k.Columns[i].Name, true
	}
	if family != "" && strings.HasPrefix(name, family) && name != family {
		return name, true
	}
	return "", name == ReasonColumn || slices.Contains(k.Ignored, name)
}

func (c Column) isCalled(name string) bool { return name == c.Name || slices.Contains(c.Also, name) }

// header is the first line of a CSV file, once it is understood.
type header struct {
	names   []string
	columns []string // the first name of the column that each name means, "" if it is ignored
	err     error
}

// headerOf understands a header once: the rows of a file share it.
func (k *KnownColumns) headerOf(names []string) *header {
	if h := k.header.Load(); h != nil && len(h.names) == len(names) && &h.names[0] == &names[0] {
		return h
	}
	columns, problems := k.resolve(names, "column", k.Family)
	h := &header{names: names, columns: columns}
	for _, column := range k.Columns {
		if column.Required && !slices.ContainsFunc(names, column.isCalled) {
			problems.Add(column.Name, "is missing; every row needs it")
		}
	}
	if len(problems) > 0 {
		h.err = &command.UsageError{Message: "The columns are not right: see the first line of the file.", Fields: problems}
	}
	k.header.Store(h)
	return h
}
