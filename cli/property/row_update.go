package property

import (
	"errors"
	"maps"
	"strings"

	"example.com/perks/api"
	"example.com/perks/api/rows"
	"example.com/perks/cli/bulk"
)

// updateColumns are the columns of a file of changes. There is none to ignore: whoever edits the owner in an export is to
// learn that it cannot be changed.
func updateColumns() *bulk.KnownColumns {
	known := &bulk.KnownColumns{Columns: targetColumns()}
	for _, field := range api.PropertyPatchFields() {
		known.Columns = append(known.Columns, bulk.Column{Name: field})
	}
	return known
}

// parseUpdateRow reads a row as a patch. An empty cell leaves its field as it is. CSV has no null of its own: the text null
// clears lat and lng, and is a text like any other elsewhere.
func parseUpdateRow(known *bulk.KnownColumns, row rows.Row) (target, api.PropertyPatch, error) {
	values, err := known.Read(row)
	if err != nil {
		return target{}, api.PropertyPatch{}, err
	}
	problems := api.FieldErrors{}
	t := readTarget(values, problems)
	patch, err := api.ParsePropertyPatch(patchMembers(values))
	var invalid *api.Error
	if errors.As(err, &invalid) {
		maps.Copy(problems, invalid.Fields)
	}
	if err := problems.Err(); err != nil {
		return target{}, api.PropertyPatch{}, err
	}
	if patch.IsEmpty() {
		return target{}, api.PropertyPatch{}, api.Errorf(api.CodeValidationFailed,
			"Nothing to change: the row holds none of %s.", strings.Join(api.PropertyPatchFields(), ", "))
	}
	return t, patch, nil
}

func patchMembers(values bulk.Row) []api.Member {
	var members []api.Member
	for _, field := range api.PropertyPatchFields() {
		if value, given := values[field]; given {
			members = append(members, api.Member{Name: field, Value: value.Value})
		}
	}
	return members
}
