package bulk

import (
	"example.com/perks/cli/command"
)

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
	h := &header{names: names}
	columns, problems := k.resolve(names, "column", k.Family)
	h.columns = columns
	for _, column := range k.Columns {
		if _, there := column.among(names); column.Required && !there {
			problems.Add(column.Name, "is missing; every row needs it")
		}
	}
	if len(problems) > 0 {
		h.err = &command.UsageError{Message: "The columns are not right: see the first line of the file.", Fields: problems}
	}
	k.header.Store(h)
	return h
}
