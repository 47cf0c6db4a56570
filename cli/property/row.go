package property

import (
	"cmp"
	"strings"

	"example.com/perks/api"
	"example.com/perks/cli/bulk"
)

// target is the property that a row is about and, if the row says so, the version that is meant.
type target struct {
	id      int64
	ifMatch string // an ETag with its quotes
}

// The columns that guard a row: if_match is what people write, etag what property get exports.
const (
	ifMatchColumn = "if_match"
	etagColumn    = "etag"
)

// targetColumns are the columns that name a target. An empty cell of a guard counts: it fails its row, which must not be sent
// without the guard that its author meant.
func targetColumns() []bulk.Column {
	return []bulk.Column{
		{Name: "propertyId", Also: []string{"id", "property_id"}, Required: true},
		{Name: ifMatchColumn, Empty: true},
		{Name: etagColumn, Empty: true},
	}
}

func readTarget(values bulk.Row, problems api.FieldErrors) target {
	var t target
	id := values["propertyId"]
	if id.Int(&t.id) != "" || t.id <= 0 {
		problems.Add(id.Name, "must be a whole number above 0")
	}
	t.ifMatch = readGuard(values, problems)
	return t
}

// readGuard returns the ETag that the columns ask for, "" if there is no such column. Both may be there, and must agree.
func readGuard(values bulk.Row, problems api.FieldErrors) string {
	ifMatch, etag := readTag(values, ifMatchColumn, problems), readTag(values, etagColumn, problems)
	if ifMatch != "" && etag != "" && ifMatch != etag {
		problems.Add(ifMatchColumn, "differs from etag; leave one of them out")
	}
	return cmp.Or(ifMatch, etag)
}

func readTag(values bulk.Row, column string, problems api.FieldErrors) string {
	value, given := values[column]
	if !given {
		return ""
	}
	var tag string
	problem := value.Text(&tag)
	if problem == "" {
		problem = entityTagRule(tag)
	}
	if problem != "" {
		problems.Add(value.Name, "%s", problem)
		return ""
	}
	return entityTag(tag)
}

// entityTagRule returns what is wrong with an ETag that is to be matched, or "". An empty one is refused: whoever wrote it
// meant to guard the change.
func entityTagRule(tag string) string {
	switch {
	case tag == "":
		return "must not be empty; leave it out where any version will do"
	case strings.ContainsFunc(tag, func(r rune) bool { return r < ' ' || r > '~' }):
		return "must be printable ASCII"
	}
	return ""
}
