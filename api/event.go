package api

import "time"

// EventType is what happened to a record.
type EventType string

// The types of events. Those of redemptions and properties include the record as it was then. An import changes many
// records at once: to see which, read the list again.
const (
	EventRedemptionMade     EventType = "redemption.made"
	EventRedemptionApproved EventType = "redemption.approved"
	EventRedemptionRejected EventType = "redemption.rejected"
	EventRedemptionVoided   EventType = "redemption.voided"
	EventPropertyCreated    EventType = "property.created"
	EventPropertyChanged    EventType = "property.changed"
	EventPropertyDeleted    EventType = "property.deleted"
	EventPropertyRestored   EventType = "property.restored"
	EventPropertiesImported EventType = "properties.imported"
	EventPerkCreated        EventType = "perk.created"
	EventPerkChanged        EventType = "perk.changed"       // over the API, or by an import its stock or approval
	EventPerkStockChanged   EventType = "perk.stock_changed" // over the API
	EventPerksImported      EventType = "perks.imported"
	EventWebhookDisabled    EventType = "webhook.disabled" // by the service; only the endpoint's client sees it
)

// EventWebhookTest is the type of what POST /webhooks/{id}/test sends. No list of events has it.
const EventWebhookTest EventType = "webhook.test"

// EventTypes returns every type.
func EventTypes() []EventType {
	return []EventType{EventRedemptionMade, EventRedemptionApproved, EventRedemptionRejected, EventRedemptionVoided,
		EventPropertyCreated, EventPropertyChanged, EventPropertyDeleted, EventPropertyRestored,
		EventPropertiesImported, EventPerkCreated, EventPerkChanged, EventPerkStockChanged, EventPerksImported,
		EventWebhookDisabled}
}

// Event is one change that was committed.
type Event struct {
	ID         string            `json:"id"` // the same for every listener
	Type       EventType         `json:"type"`
	At         time.Time         `json:"at"`
	Actor      *string           `json:"actor"`      // who did it, as the client said; nil if it named nobody
	Subject    string            `json:"subject"`    // such as "redemption/ID", "property/42", "perk/ID", "perks" or "webhook/ID"
	Redemption *RedemptionRecord `json:"redemption"` // nil unless the event is about one
	Property   *Property         `json:"property"`   // nil unless the event is about one; a deleted one as it was
	Cursor     string            `json:"cursor"`     // the position after the event
}

// MarshalJSON writes the time as wireTime does.
func (e Event) MarshalJSON() ([]byte, error) { return EncodeJSON(e) }

func (e Event) wire() any {
	return struct {
		ID         string            `json:"id"`
		Type       EventType         `json:"type"`
		At         wireTime          `json:"at"`
		Actor      *string           `json:"actor"`
		Subject    string            `json:"subject"`
		Redemption *RedemptionRecord `json:"redemption"`
		Property   *Property         `json:"property"`
		Cursor     string            `json:"cursor"`
	}{e.ID, e.Type, wireTime(e.At), e.Actor, e.Subject, e.Redemption, e.Property, e.Cursor}
}

// EventPage is the response of GET /events.
type EventPage struct {
	Data []Event `json:"data"` // the oldest first
	Next string  `json:"next"` // the position after them, for the parameter after
	More bool    `json:"more"` // more was committed already; otherwise the parameter wait helps
}

// MaxEventWait is the longest time, in seconds, that GET /events waits for an event.
const MaxEventWait = 10
