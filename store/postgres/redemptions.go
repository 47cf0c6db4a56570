package postgres

import (
	"encoding/json"
	"time"

	"example.com/perks/api"
)

const redemptionColumns = `r.id, r.perk_id, r.user_id, r.redeemed_at, r.status, r.metadata`

func scanRedemption(r row) (redemption api.Redemption, err error) {
	var metadata string
	err = r.Scan(&redemption.ID, &redemption.PerkID, &redemption.UserID, &redemption.RedeemedAt, &redemption.Status, &metadata)
	redemption.RedeemedAt, redemption.Metadata = redemption.RedeemedAt.UTC(), json.RawMessage(metadata)
	return redemption, err
}

// scanRedemptionOrNil reads a redemption of an outer join.
func scanRedemptionOrNil(r row) (*api.Redemption, error) {
	var id, perk, user, status, metadata *string
	var at *time.Time
	if err := r.Scan(&id, &perk, &user, &at, &status, &metadata); err != nil || id == nil {
		return nil, err
	}
	return &api.Redemption{ID: *id, PerkID: *perk, UserID: *user, RedeemedAt: at.UTC(),
		Status: api.RedemptionStatus(*status), Metadata: json.RawMessage(*metadata)}, nil
}

// rowBefore is a row whose last columns are scanned elsewhere, so that the scan of the other columns can be shared.
type rowBefore struct {
	row
	last []any
}

func (r rowBefore) Scan(into ...any) error { return r.row.Scan(append(into, r.last...)...) }
