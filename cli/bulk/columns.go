package bulk

import (
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"example.com/perks/api"
	"example.com/perks/api/rows"
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
		if name := header.columns[i]; name != "" && (cell != "" || k.takesEmpty(name)) {
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

// requireValues asks for the values that every row has.
func (k *KnownColumns) requireValues(values Row, names []string, problems api.FieldErrors) {
	for _, column := range k.Columns {
		if _, there := values[column.Name]; column.Required && !there {
			name, _ := column.among(names)
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
			problems.Add(name, "is not a %s that is known here; the %ss are %s", kind, kind, k.list(family))
		case column != "" && at >= 0:
			problems.Add(name, "means the same as %s; only one of them can be there", names[at])
		}
		columns[i] = column
	}
	return columns, problems
}

func (k *KnownColumns) takesEmpty(name string) bool {
	return slices.ContainsFunc(k.Columns, func(c Column) bool { return c.Empty && c.Name == name })
}

func (k *KnownColumns) column(name, family string) (column string, known bool) {
	for _, c := range k.Columns {
		if c.isCalled(name) {
			return c.Name, true
		}
	}
	if family != "" && strings.HasPrefix(name, family) && name != family {
		return name, true
	}
	return "", name == ReasonColumn || slices.Contains(k.Ignored, name)
}

func (k *KnownColumns) list(family string) string {
	var names []string
	for _, c := range k.Columns {
		names = append(names, c.Name)
	}
	if family != "" {
		names = append(names, family+"KEY")
	}
	return strings.Join(names, ", ")
}

func (c Column) isCalled(name string) bool { return name == c.Name || slices.Contains(c.Also, name) }

// among returns the name by which one of the names means the column, and the first name if none does.
func (c Column) among(names []string) (name string, there bool) {
	if i := slices.IndexFunc(names, c.isCalled); i >= 0 {
		return names[i], true
	}
	return c.Name, false
}
