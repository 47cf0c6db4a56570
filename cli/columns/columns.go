// Package columns reads the rows of a file by the names of its columns: those that a command knows, their other names, and
// those that exports have and that say nothing to the command.
//
// It knows nothing of what the values mean. In JSON a column is a member of the row's object.
package columns

import (
	"slices"
	"strings"
	"unicode/utf8"

	"example.com/perks/api"
	"example.com/perks/api/rows"
	"example.com/perks/cli/exit"
)

// Known is the columns that a command knows. Any other is refused, because what stands under a misspelt name would be
// lost without a word.
type Known struct {
	Columns []Column
	Family  string   // columns of CSV whose names begin so are known too; "" for none
	Ignored []string // columns of exports that say nothing to the command
}

// Column is a column with a meaning.
type Column struct {
	Name     string
	Also     []string // other names for it
	Required bool     // every row has a value in it
}

// Row is the values of one row by the first names of their columns. An empty cell is no value.
type Row map[string]Value

// Value is a value with the name that its column has in the file, under which messages speak of it.
type Value struct {
	api.Value
	Name string
}

// Read reads one row. An *exit.Usage is about the header of a CSV file, and so about all its rows; any other error is
// about this row.
func (k Known) Read(row rows.Row) (Row, error) {
	if row.Object != nil {
		return k.readObject(row)
	}
	if problems := k.checkHeader(row.Header); len(problems) > 0 {
		return nil, &exit.Usage{Message: "The columns are not right: see the first line of the file.", Fields: problems}
	}
	problems := api.FieldErrors{}
	for i, cell := range row.Cells {
		if !utf8.ValidString(cell) {
			problems.Add(row.Header[i], "must be valid UTF-8")
		}
	}
	return k.take(row.Header, api.CellMembers(row.Header, row.Cells), problems)
}

func (k Known) readObject(row rows.Row) (Row, error) {
	members, err := api.ParseObject(row.Object)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = m.Name
	}
	k.Family = "" // an object has room for the whole of it
	return k.take(names, members, k.check(names, "field"))
}

func (k Known) checkHeader(header []string) api.FieldErrors {
	problems := k.check(header, "column")
	for _, column := range k.Columns {
		if _, there := column.among(header); column.Required && !there {
			problems.Add(column.Name, "is missing; every row needs it")
		}
	}
	return problems
}

// check finds names that are not known, and second names for one column.
func (k Known) check(names []string, kind string) api.FieldErrors {
	problems := api.FieldErrors{}
	first := map[string]string{}
	for _, name := range names {
		column, known := k.column(name)
		other, twice := first[column]
		switch {
		case !utf8.ValidString(name):
			problems.Add(strings.ToValidUTF8(name, "\uFFFD"), "must be valid UTF-8")
		case !known:
			problems.Add(name, "is not a %s that is known here; the %ss are %s", kind, kind, k.list())
		case column != "" && twice:
			problems.Add(name, "means the same as %s; only one of them can be there", other)
		}
		first[column] = name
	}
	return problems
}

// column returns the first name of the column that is called so, "" for one that is ignored.
func (k Known) column(name string) (column string, known bool) {
	for _, c := range k.Columns {
		if c.isCalled(name) {
			return c.Name, true
		}
	}
	if k.Family != "" && strings.HasPrefix(name, k.Family) && name != k.Family {
		return name, true
	}
	return "", slices.Contains(k.Ignored, name)
}

func (k Known) list() string {
	var names []string
	for _, c := range k.Columns {
		names = append(names, c.Name)
	}
	if k.Family != "" {
		names = append(names, k.Family+"KEY")
	}
	return strings.Join(names, ", ")
}

// take picks the values of the columns with a meaning, and asks for those that are required.
func (k Known) take(names []string, members []api.Member, problems api.FieldErrors) (Row, error) {
	row := Row{}
	for _, m := range members {
		column, _ := k.column(m.Name)
		if column == "" {
			continue
		}
		if m.Repeated {
			problems.Add(m.Name, "is given more than once")
		}
		row[column] = Value{m.Value, m.Name}
	}
	for _, column := range k.Columns {
		if _, there := row[column.Name]; column.Required && !there {
			name, _ := column.among(names)
			problems.Add(name, "is required")
		}
	}
	return row, problems.Err()
}

func (c Column) isCalled(name string) bool { return name == c.Name || slices.Contains(c.Also, name) }

// among returns the name by which one of the names means the column, and the first name if none does.
func (c Column) among(names []string) (name string, there bool) {
	if i := slices.IndexFunc(names, c.isCalled); i >= 0 {
		return names[i], true
	}
	return c.Name, false
}
