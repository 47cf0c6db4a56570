package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// RedemptionStatus is the state of a redemption.
type RedemptionStatus string

// The statuses of a redemption. Pending becomes approved or rejected, and approved can become voided. A redemption that
// is approved or pending is live: it uses one unit of stock, and a user can have only one of a perk. Only a
// RedemptionRecord is voided: a Redemption knows the first three, and shows it as rejected.
const (
	StatusApproved RedemptionStatus = "approved"
	StatusRejected RedemptionStatus = "rejected"
	StatusPending  RedemptionStatus = "pending"
	StatusVoided   RedemptionStatus = "voided"
)

// RedemptionStatuses returns every status of a RedemptionRecord.
func RedemptionStatuses() []RedemptionStatus {
	return []RedemptionStatus{StatusPending, StatusApproved, StatusRejected, StatusVoided}
}

// DecidedFrom returns the only status from which a decision leads to s; "" if none does.
func (s RedemptionStatus) DecidedFrom() RedemptionStatus {
	switch s {
	case StatusApproved, StatusRejected:
		return StatusPending
	case StatusVoided:
		return StatusApproved
	}
	return ""
}

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

type redemptionWire struct {
	ID         string           `json:"id"`
	PerkID     string           `json:"perk_id"`
	UserID     string           `json:"user_id"`
	RedeemedAt wireTime         `json:"redeemed_at"`
	Status     RedemptionStatus `json:"status"`
	Metadata   json.RawMessage  `json:"metadata"`
}

func (r Redemption) wire() redemptionWire {
	return redemptionWire{r.ID, r.PerkID, r.UserID, wireTime(r.RedeemedAt), r.Status, r.Metadata}
}

// User is someone who can redeem.
type User struct {
	ID string `json:"id"`
}

// RedemptionRecord is a redemption with the client that made it and the last decision, as its own addresses show it.
type RedemptionRecord struct {
	Redemption
	ClientID     string     `json:"client_id"`
	Actor        *string    `json:"actor"`         // who redeemed, as the client said; nil if it named nobody
	DecidedAt    *time.Time `json:"decided_at"`    // nil if nobody has approved, rejected or voided it
	DecidedBy    *string    `json:"decided_by"`    // the client of that decision; nil without one
	DecidedActor *string    `json:"decided_actor"` // who made it, as that client said; nil if it named nobody
	Reason       *string    `json:"reason"`        // of that decision; nil if none was given
	// ExpiresAt is when it is rejected if nobody has decided it; nil for never. It is encoded only while it is pending.
	ExpiresAt *time.Time `json:"expires_at"`
}

// ReasonExpired is the reason of a redemption that nobody has decided in time.
const ReasonExpired = "expired"

// At returns the redemption as it is at a time, at which nobody has decided it since.
func (r RedemptionRecord) At(now time.Time) RedemptionRecord {
	if r.Status == StatusPending && r.ExpiresAt != nil && !now.Before(*r.ExpiresAt) {
		reason := ReasonExpired
		r.Status, r.DecidedAt, r.Reason = StatusRejected, r.ExpiresAt, &reason
	}
	return r
}

// HasExpired tells whether it was rejected because nobody has decided it in time.
func (r RedemptionRecord) HasExpired() bool {
	return r.Status == StatusRejected && r.DecidedAt != nil && r.ExpiresAt != nil && r.DecidedAt.Equal(*r.ExpiresAt)
}

// FourEyes refuses that who redeemed also approves or voids it, where four eyes must see it: the same client, and the
// same person where both are named.
func (r RedemptionRecord) FourEyes(decision RedemptionStatus, clientID, actor string) error {
	isOther := r.Actor != nil && *r.Actor != "" && actor != "" && *r.Actor != actor
	if decision == StatusRejected || r.ClientID == "" || r.ClientID != clientID || isOther {
		return nil
	}
	who, verb := "This client", "approve"
	if r.Actor != nil && *r.Actor != "" {
		who = *r.Actor
	}
	if decision == StatusVoided {
		verb = "void"
	}
	return Errorf(CodeFourEyes, "%s redeemed it, and four eyes must see it: ask somebody else to %s it.", who, verb)
}

// Specified returns the redemption as the service's specification has it, which knows no voided ones: they are
// rejected.
func (r RedemptionRecord) Specified() Redemption {
	if r.Status == StatusVoided {
		r.Status = StatusRejected
	}
	return r.Redemption
}

// MarshalJSON writes the times as wireTime does.
func (r RedemptionRecord) MarshalJSON() ([]byte, error) { return EncodeJSON(r) }

func (r RedemptionRecord) wire() any {
	if r.Status != StatusPending {
		r.ExpiresAt = nil
	}
	return struct {
		redemptionWire
		ClientID     string    `json:"client_id"`
		Actor        *string   `json:"actor"`
		DecidedAt    *wireTime `json:"decided_at"`
		DecidedBy    *string   `json:"decided_by"`
		DecidedActor *string   `json:"decided_actor"`
		Reason       *string   `json:"reason"`
		ExpiresAt    *wireTime `json:"expires_at"`
	}{r.Redemption.wire(), r.ClientID, r.Actor, (*wireTime)(r.DecidedAt), r.DecidedBy, r.DecidedActor, r.Reason,
		(*wireTime)(r.ExpiresAt)}
}

// RedeemRequest is the body of POST /perks/{perkId}/redeem.
type RedeemRequest struct {
	UserID   string          `json:"user_id"`
	Metadata json.RawMessage `json:"metadata,omitempty"` // a JSON object; absent and null mean {}
}

// ParseRedeemRequest reads and checks a redeem body. A body that is not one JSON object is CodeInvalidJSON; a missing,
// unknown or invalid field is CodeValidationFailed. The metadata it returns is that of ParseMetadata.
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
	req.Metadata, err = ParseMetadata(req.Metadata)
	if err != nil {
		fields.Add("metadata", "%s", err)
	}
	return req, fields.Err()
}

// MaxReason is the longest reason of a decision, in characters.
const MaxReason = 500

// DecisionRequest is the body of POST /redemptions/{redemptionId}/approve, reject and void.
type DecisionRequest struct {
	Reason string `json:"reason,omitempty"` // "" is none
}

// ParseDecisionRequest reads and checks the body of a decision. An empty body has no reason.
func ParseDecisionRequest(body []byte, needsReason bool) (DecisionRequest, error) {
	var req DecisionRequest
	var members []Member
	if len(bytes.TrimSpace(body)) > 0 {
		var err error
		if members, err = ParseObject(body); err != nil {
			return req, err
		}
	}
	fields := FieldErrors{}
	for _, m := range members {
		if m.Name == "reason" {
			fields.check(m.Name, m.Value.Text(&req.Reason))
		} else {
			fields.Add(m.Name, "is not a field of this request; the only field is reason")
		}
		fields.checkRepeated(m)
	}
	if len(fields["reason"]) == 0 {
		fields.check("reason", ReasonRule(req.Reason, needsReason))
	}
	return req, fields.Err()
}

// ReasonRule returns what is wrong with the reason of a decision, or "".
func ReasonRule(reason string, isRequired bool) string {
	if reason == "" && !isRequired {
		return ""
	}
	return textRule(reason, 1, MaxReason)
}

// Pair is a perk and a user who may redeem it.
type Pair struct {
	PerkID string `json:"perk_id"`
	UserID string `json:"user_id"`
}

// MaxPairs is the most pairs of POST /eligibility.
const MaxPairs = 100

// ParsePairs reads and checks the body of POST /eligibility. A body that is not one JSON object is CodeInvalidJSON;
// otherwise the error is CodeValidationFailed, and names a pair by its place in the list, as in pairs[0].
func ParsePairs(body []byte) ([]Pair, error) {
	members, err := ParseObject(body)
	if err != nil {
		return nil, err
	}
	fields := FieldErrors{}
	var texts []json.RawMessage
	isGiven := false
	for _, m := range members {
		if m.Name == "pairs" {
			isGiven = true
			if json.Unmarshal(m.Value.json, &texts) != nil || len(texts) == 0 || len(texts) > MaxPairs {
				fields.Add(m.Name, "must be an array of 1 to %d objects", MaxPairs)
				texts = nil
			}
		} else {
			fields.Add(m.Name, "is not a field of this request; the only field is pairs")
		}
		fields.checkRepeated(m)
	}
	if !isGiven {
		fields.Add("pairs", "is required")
	}
	pairs := make([]Pair, len(texts))
	for i, text := range texts {
		pairs[i] = parsePair(fmt.Sprintf("pairs[%d]", i), text, fields)
	}
	return pairs, fields.Err()
}

func parsePair(name string, text []byte, fields FieldErrors) (pair Pair) {
	members, err := ParseObject(text)
	if err != nil {
		fields.Add(name, "must be an object of perk_id and user_id")
		return pair
	}
	for _, m := range members {
		field := name + "." + m.Name
		switch m.Name {
		case "perk_id":
			fields.check(field, m.Value.Text(&pair.PerkID))
		case "user_id":
			fields.check(field, m.Value.Text(&pair.UserID))
		default:
			fields.Add(field, "is not a field of a pair; the fields are perk_id and user_id")
		}
		m.Name = field
		fields.checkRepeated(m)
	}
	if len(fields[name+".perk_id"]) == 0 && pair.PerkID == "" {
		fields.Add(name+".perk_id", "is required")
	}
	if len(fields[name+".user_id"]) == 0 {
		fields.check(name+".user_id", UserIDRule(pair.UserID))
	}
	return pair
}

// Eligibility says whether a user can redeem a perk.
type Eligibility struct {
	PerkID   string `json:"perk_id"`
	UserID   string `json:"user_id"`
	Eligible bool   `json:"eligible"` // a redemption now would be made
	// of that redemption: pending if somebody has to approve it; nil if not eligible, or if another service does not say
	Status *RedemptionStatus `json:"status"`
	Code   *Code             `json:"code"`   // of the error that redeeming would respond with; nil if eligible
	Reason *string           `json:"reason"` // its message
}

// EligibilityList is the response of POST /eligibility: answers in the order of the pairs.
type EligibilityList struct {
	Data []Eligibility `json:"data"`
}

// Ineligible is the answer for a pair that redeeming would refuse.
func Ineligible(pair Pair, refusal *Error) Eligibility {
	return Eligibility{PerkID: pair.PerkID, UserID: pair.UserID, Code: &refusal.Code, Reason: &refusal.Message}
}

// NeedsApproval tells whether the service has said that a redemption now would be pending.
func (e Eligibility) NeedsApproval() bool {
	return e.Eligible && e.Status != nil && *e.Status == StatusPending
}

// Refusal returns the error that redeeming would respond with, or nil if the user is eligible.
func (e Eligibility) Refusal() error {
	switch {
	case e.Eligible:
		return nil
	case e.Code == nil || e.Reason == nil: // from another service
		return Errorf(CodeConflict, "User %q cannot redeem perk %q now. The service does not say why.", e.UserID,
			e.PerkID)
	}
	return &Error{Code: *e.Code, Message: *e.Reason}
}
