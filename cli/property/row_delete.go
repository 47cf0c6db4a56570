package property

import (
	"example.com/perks/api"
	"example.com/perks/api/rows"
	"example.com/perks/cli/bulk"
)

// deleteColumns are the columns of a file of properties to delete. The fields of a property are passed over, because
// people delete from an export. No others are: an if_match that is misspelt would guard nothing.
func deleteColumns() *bulk.KnownColumns {
	return &bulk.KnownColumns{Columns: targetColumns(), Ignored: append(api.PropertyPatchFields(), "owner")}
}

func parseDeleteRow(known *bulk.KnownColumns, row rows.Row) (target, error) {
	values, err := known.Read(row)
	if err != nil {
		return target{}, err
	}
	problems := api.FieldErrors{}
	t := readTarget(values, problems)
	return t, problems.Err()
}
