package property

import (
	"strings"

	"example.com/perks/api"
	"example.com/perks/cli/columns"
)

// target is the property that a row is about and, if the row says so, the version that is meant.
type target struct {
	id      int64
	ifMatch string // an ETag with its quotes
}

// targetColumns are the columns that name a target.
func targetColumns() []columns.Column {
	return []columns.Column{
		{Name: "propertyId", Also: []string{"id", "property_id"}, Required: true},
		{Name: "if_match"},
	}
}

func readTarget(values columns.Row, problems api.FieldErrors) target {
	var t target
	id := values["propertyId"]
	if id.Int(&t.id) != "" || t.id <= 0 {
		problems.Add(id.Name, "must be a whole number above 0")
	}
	if ifMatch, given := values["if_match"]; given {
		var tag string
		problem := ifMatch.Text(&tag)
		if problem == "" {
			problem = entityTagRule(tag)
		}
		if problem != "" {
			problems.Add(ifMatch.Name, "%s", problem)
		}
		t.ifMatch = entityTag(tag)
	}
	return t
}

// entityTagRule returns what is wrong with an ETag that is to be matched, or "". An empty one is refused, because a row
// whose author meant to guard it must not be sent without.
func entityTagRule(tag string) string {
	switch {
	case tag == "":
		return "must not be empty; leave it out where any version will do"
	case strings.HasPrefix(tag, "W/"):
		return "is a weak ETag, which can never match (RFC 9110, section 13.1.1)"
	case strings.ContainsFunc(tag, func(r rune) bool { return r < ' ' || r > '~' }):
		return "must be printable ASCII"
	}
	return ""
}
