package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// RedemptionStatus is the state of a redemption.
type RedemptionStatus string

// The statuses of a redemption. Pending becomes approved or rejected, and both are final. A redemption that is not rejected
// is live: it uses one unit of stock, and a user can have only one of a perk.
const (
	StatusApproved RedemptionStatus = "approved"
	StatusRejected RedemptionStatus = "rejected"
	StatusPending  RedemptionStatus = "pending"
)

// MaxMetadata is the longest metadata object of a redemption, in bytes of compact JSON.
const MaxMetadata = 16 << 10

// Redemption is one user's use of one perk.
type Redemption struct {
	ID         string           `json:"id"`
	PerkID     string           `json:"perk_id"`
	UserID     string           `json:"user_id"`
	RedeemedAt time.Time        `json:"redeemed_at"`
	Status     RedemptionStatus `json:"status"`
	Metadata   json.RawMessage  `json:"metadata"` // a JSON object, "{}" when none was given
}

// MarshalJSON writes the time as wireTime does.
func (r Redemption) MarshalJSON() ([]byte, error) { return EncodeJSON(r) }

// wire repeats Status and Metadata to keep the order of the members.
func (r Redemption) wire() any {
	type fields Redemption
	return struct {
		fields
		RedeemedAt wireTime         `json:"redeemed_at"`
		Status     RedemptionStatus `json:"status"`
		Metadata   json.RawMessage  `json:"metadata"`
	}{fields(r), wireTime(r.RedeemedAt), r.Status, r.Metadata}
}

// RedeemRequest is the body of POST /perks/{perkId}/redeem.
type RedeemRequest struct {
	UserID   string          `json:"user_id"`
	Metadata json.RawMessage `json:"metadata,omitempty"` // a JSON object; absent and null mean {}
}

// ParseRedeemRequest reads and checks a redeem body. A body that is not one JSON object is CodeInvalidJSON; a missing, unknown
// or invalid field is CodeValidationFailed. The metadata it returns is compact, never empty, and unambiguous.
func ParseRedeemRequest(body []byte) (RedeemRequest, error) {
	members, err := parseObject(body, "metadata")
	if err != nil {
		return RedeemRequest{}, err
	}
	var req RedeemRequest
	fields := FieldErrors{}
	for _, m := range members {
		switch m.Name {
		case "user_id":
			fields.check(m.Name, m.Value.Text(&req.UserID))
		case "metadata":
			req.Metadata = m.Value.json
		default:
			fields.Add(m.Name, "is not a field of this request; the fields are user_id and metadata")
		}
		fields.checkRepeated(m)
	}
	if len(fields["user_id"]) == 0 {
		fields.check("user_id", UserIDRule(req.UserID))
	}
	req.Metadata, err = compactMetadata(req.Metadata)
	if err != nil {
		fields.Add("metadata", "%s", err)
	}
	return req, fields.Err()
}

func compactMetadata(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("{}"), nil
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil || raw[0] != '{' {
		return nil, errors.New("must be a JSON object")
	}
	if compact.Len() > MaxMetadata {
		return nil, fmt.Errorf("must be at most %d bytes", MaxMetadata)
	}
	if problem := ambiguity(raw); problem != "" {
		return nil, errors.New(problem)
	}
	return compact.Bytes(), nil
}
