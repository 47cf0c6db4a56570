package perk

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/operation"
	"example.com/perks/api/rows"
	"example.com/perks/cli/bulk"
)

// redeemColumns are the columns of a file for perk redeem. It ignores what only the service decides, so that an export
// of redemptions can be redeemed at another service.
func redeemColumns() *bulk.KnownColumns {
	return &bulk.KnownColumns{
		Columns: []bulk.Column{
			{Name: "perk_id", Aliases: []string{"perk"}, Required: true},
			{Name: "user_id", Aliases: []string{"user"}, Required: true},
			{Name: "metadata"},
		},
		Prefix:  metadataPrefix,
		Ignored: []string{"id", "redeemed_at", "status", "client_id"},
	}
}

// parseRedeemRow checks every rule that does not depend on the service's data.
func parseRedeemRow(known *bulk.KnownColumns, row rows.Row) (r operation.Redeem, err error) {
	values, err := known.Read(row)
	if err != nil {
		return r, err
	}
	problems := api.FieldErrors{}
	readID(&r.PerkID, values["perk_id"], api.AnyIDRule, problems)
	readID(&r.Request.UserID, values["user_id"], api.AnyIDRule, problems)
	r.Request.Metadata = readMetadata(row, values, problems)
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

// redeemer is what the rows of a run share.
type redeemer struct {
	columns *bulk.KnownColumns
	check   *operation.EligibilityCheck

	assumeMine bool // nobody else redeems for the users of the file
	resends    bool // nobody minds if a row whose outcome is unknown is redeemed twice
}

func newRedeemer() *redeemer {
	return &redeemer{columns: redeemColumns(), check: operation.NewEligibilityCheck()}
}

func (r *redeemer) work() bulk.Work {
	return bulk.Work{Name: bulk.RedeemPerks, Parse: r.parse, Predictions: api.MaxPairs,
		HonoursKeys: (*client.Client).HonoursKeys, Resends: r.resends}
}

func (r *redeemer) parse(row rows.Row) (operation.Task, error) {
	parsed, err := parseRedeemRow(r.columns, row)
	if err != nil {
		return nil, err
	}
	parsed.Alone = r.assumeMine
	return &redeemTask{redeemer: r, Redeem: parsed}, nil
}

type redeemTask struct {
	*redeemer
	operation.Redeem
}

// Subject is the perk and the user, because a user can redeem a perk once. UUIDs are equal in any case.
func (t *redeemTask) Subject() string {
	return api.LowerUUID(t.PerkID) + "\x00" + api.LowerUUID(t.Request.UserID)
}

func (t *redeemTask) Send(ctx context.Context, c *client.Client, key string) (o operation.Outcome, replayed bool,
	err error) {
	t.Client = c
	redemption, replayed, err := t.Redeem.Send(ctx, key)
	if err != nil {
		return o, false, err
	}
	return outcomeOf(redemption), replayed, nil
}

var _ operation.ObservingTask = (*redeemTask)(nil)

// Observe reads what the user had redeemed before.
func (t *redeemTask) Observe(ctx context.Context, c *client.Client) {
	t.Client = c
	t.Redeem.Observe(ctx)
}

func (t *redeemTask) LookUp(
	ctx context.Context, c *client.Client, since time.Time, taken func(id string) bool,
) (o operation.Outcome, event operation.Event, err error) {
	t.Client, t.Taken = c, taken
	redemption, event, err := t.Redeem.LookUp(ctx, since)
	if redemption.ID != "" {
		o = outcomeOf(redemption)
	}
	return o, event, err
}

// Predict asks whether the user could redeem the perk now.
func (t *redeemTask) Predict(ctx context.Context, c *client.Client) (p operation.Prediction) {
	p.Message, p.Err = t.check.Predict(ctx, c, api.Pair{PerkID: t.PerkID, UserID: t.Request.UserID})
	return p
}

// After says that a user can redeem a perk once.
func (t *redeemTask) After(line int) error {
	return api.Errorf(api.CodeAlreadyRedeemed, "Line %d already redeems perk %q for user %q.", line, t.PerkID,
		t.Request.UserID)
}

func outcomeOf(redemption api.Redemption) operation.Outcome {
	return operation.Outcome{ID: redemption.ID, Status: http.StatusCreated,
		RedemptionStatus: redemption.Status,
		Action:           operation.Redeemed, Err: notInForce(redemption)}
}

// metadataPrefix starts the names of CSV columns for single members of the metadata.
const metadataPrefix = "metadata."

// readMetadata returns the metadata of a row as a compact object, nil if the row has none.
func readMetadata(row rows.Row, values bulk.Row, problems api.FieldErrors) json.RawMessage {
	whole, isWhole := values["metadata"]
	members := map[string]string{}
	for name, value := range values {
		if key, ok := strings.CutPrefix(name, metadataPrefix); ok {
			var text string
			_ = value.Text(&text) // a cell is always text
			members[key] = text
		}
	}
	column := "metadata"
	var metadata json.RawMessage
	switch {
	case isWhole && len(members) > 0:
		problems.Add(column, "must be empty if a column such as %sKEY has a value", metadataPrefix)
	case isWhole:
		metadata = rawMember(row, whole)
	case len(members) > 0:
		column = metadataPrefix + "KEY"
		metadata, _ = api.EncodeJSON(members) // a map of strings always marshals
	}
	if metadata = bytes.TrimSpace(metadata); len(metadata) == 0 || string(metadata) == "null" {
		return nil
	}
	compact, err := api.ParseMetadata(metadata)
	if err != nil {
		problems.Add(column, "%s", err)
	}
	return compact
}

// rawMember returns the metadata as it is in the cell or in the object.
func rawMember(row rows.Row, value bulk.Value) json.RawMessage {
	if row.Object == nil {
		var text string
		_ = value.Text(&text)
		return json.RawMessage(text)
	}
	var object struct {
		Metadata json.RawMessage `json:"metadata"`
	}
	_ = json.Unmarshal(row.Object, &object) // it has been parsed before
	return object.Metadata
}
