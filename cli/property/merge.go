package property

import (
	"example.com/perks/api"
)

// change is what became of a field that somebody else changed while it was being edited.
type change struct {
	field                string
	before, theirs, mine value

	// mineToo says that it was edited as well, and to something else: only a person can tell which is right.
	mineToo bool
}

// merge puts the edited fields over what the property has become. A field that only one side changed is as that side has
// it; of one that both changed, mine stays and is a conflict unless both agree.
func merge(before, mine, theirs sheet) (merged sheet, changed []change) {
	edited := mine.changesTo(before)
	merged = edited.over(theirs)
	for _, field := range api.PropertyPatchFields() {
		if same(field, before[field], theirs[field]) {
			continue
		}
		c := change{field: field, before: before[field], theirs: theirs[field], mine: merged[field]}
		c.mineToo = !same(field, c.mine, c.theirs)
		changed = append(changed, c)
	}
	return merged, changed
}

func conflicts(changed []change) []string {
	var fields []string
	for _, c := range changed {
		if c.mineToo {
			fields = append(fields, c.field)
		}
	}
	return fields
}

// besideConflicts is what stands beside the fields that both sides changed: what it was, and what somebody else made of it.
func besideConflicts(changed []change) notes {
	var n notes
	for _, c := range changed {
		if c.mineToo {
			n.add(c.field, "Somebody else changed this too. Yours stands below; theirs is:")
			n.add(c.field, indented(writeField(c.field, c.theirs))...)
			n.add(c.field, "and before that it was:")
			n.add(c.field, indented(writeField(c.field, c.before))...)
		}
	}
	return n
}
