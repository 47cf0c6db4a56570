package perk

import (
	"example.com/perks/api"
	"example.com/perks/api/rows"
	"example.com/perks/cli/bulk"
)

// redeemColumns are the columns of a file of redemptions to make. What only the service decides, as exports of redemptions
// by perksctl and perksd have it, is passed over, so that what was redeemed in one place can be redeemed in another.
func redeemColumns() *bulk.KnownColumns {
	return &bulk.KnownColumns{
		Columns: []bulk.Column{
			{Name: "perk_id", Also: []string{"perk"}, Required: true},
			{Name: "user_id", Also: []string{"user"}, Required: true},
			{Name: "metadata"},
		},
		Family:  metadataFamily,
		Ignored: []string{"id", "redeemed_at", "status", "client_id"},
	}
}

// redeemRow is what one row asks for.
type redeemRow struct {
	perkID  string
	request api.RedeemRequest
}

// parseRedeemRow checks every rule that the service would find broken by the row alone.
func parseRedeemRow(known *bulk.KnownColumns, row rows.Row) (redeemRow, error) {
	values, err := known.Read(row)
	if err != nil {
		return redeemRow{}, err
	}
	var r redeemRow
	problems := api.FieldErrors{}
	readID(&r.perkID, values["perk_id"], api.PerkIDRule, problems)
	readID(&r.request.UserID, values["user_id"], api.UserIDRule, problems)
	r.request.Metadata = readMetadata(row, values, problems)
	return r, problems.Err()
}

func readID(into *string, value bulk.Value, rule func(string) string, problems api.FieldErrors) {
	problem := value.Text(into)
	if problem == "" {
		problem = rule(*into)
	}
	if problem != "" {
		problems.Add(value.Name, "%s", problem)
	}
}
