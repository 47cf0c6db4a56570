package api

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Webhook is an endpoint: an address to which the service posts the events that its client may see.
type Webhook struct {
	ID           string      `json:"id"`
	URL          string      `json:"url"`
	Types        []EventType `json:"types"` // what it gets; empty is everything
	Description  string      `json:"description"`
	Enabled      bool        `json:"enabled"`
	Reason       *string     `json:"disabled_reason"` // why the service disabled it; nil if it did not
	FailingSince *time.Time  `json:"failing_since"`   // when the oldest delivery that waits failed first; nil without one
	CreatedAt    time.Time   `json:"created_at"`
	UpdatedAt    time.Time   `json:"updated_at"`
}

// MarshalJSON writes the times as wireTime does.
func (w Webhook) MarshalJSON() ([]byte, error) { return EncodeJSON(w) }

func (w Webhook) wire() any {
	type fields Webhook
	if w.Types == nil {
		w.Types = []EventType{}
	}
	return struct {
		fields
		FailingSince *wireTime `json:"failing_since"`
		CreatedAt    wireTime  `json:"created_at"`
		UpdatedAt    wireTime  `json:"updated_at"`
	}{fields(w), (*wireTime)(w.FailingSince), wireTime(w.CreatedAt), wireTime(w.UpdatedAt)}
}

// WebhookSecret is a webhook with the secret that signs what it gets. Only the responses that make a secret have it.
type WebhookSecret struct {
	Webhook
	Secret string `json:"secret"`
}

// MarshalJSON writes the webhook and its secret as one object.
func (s WebhookSecret) MarshalJSON() ([]byte, error) {
	return JoinObjects(s.Webhook, struct {
		Secret string `json:"secret"`
	}{s.Secret})
}

// NewWebhook is the body of POST /webhooks.
type NewWebhook struct {
	URL         string      `json:"url"`
	Types       []EventType `json:"types,omitempty"` // empty is everything
	Description string      `json:"description,omitempty"`
}

// WebhookPatch is the body of PATCH /webhooks/{id}. An absent field stays as it is. Enabled also makes deliveries that
// wait due at once.
type WebhookPatch struct {
	URL         Optional[string]      `json:"url,omitzero"`
	Types       Optional[[]EventType] `json:"types,omitzero"`
	Description Optional[string]      `json:"description,omitzero"`
	Enabled     Optional[bool]        `json:"enabled,omitzero"`
}

// WebhookDelivery is one attempt to send an event to a webhook.
type WebhookDelivery struct {
	ID        string     `json:"id"`
	WebhookID string     `json:"webhook_id"`
	EventID   string     `json:"event_id"`
	Type      EventType  `json:"type"`
	Subject   string     `json:"subject"`
	Attempt   int        `json:"attempt"` // from 1; 0 for a test, and for an event that was asked for again
	At        time.Time  `json:"at"`
	Duration  int        `json:"duration_ms"`
	Status    *int       `json:"status"`  // of the answer; nil without one
	Error     *string    `json:"error"`   // why it failed; nil if it was delivered
	Answer    string     `json:"answer"`  // the first KiB
	NextAt    *time.Time `json:"next_at"` // when it is tried again; nil if it is not
}

// MarshalJSON writes the times as wireTime does.
func (d WebhookDelivery) MarshalJSON() ([]byte, error) { return EncodeJSON(d) }

func (d WebhookDelivery) wire() any {
	type fields WebhookDelivery
	return struct {
		fields
		At     wireTime  `json:"at"`
		NextAt *wireTime `json:"next_at"`
	}{fields(d), wireTime(d.At), (*wireTime)(d.NextAt)}
}

// WebhookRedelivery is the body of POST /webhooks/{id}/redeliver.
type WebhookRedelivery struct {
	EventID string `json:"event_id"`
}

// MessageWebhookDeleted is the message of DELETE /webhooks/{id}.
const MessageWebhookDeleted = "Webhook successfully deleted"

// The bounds of webhooks.
const (
	MaxWebhooks          = 100            // of a client
	WebhookDeliveryDays  = 30             // how long a delivery can be found
	MaxWebhookDeliveries = 10_000         // of a webhook that can be found
	MaxWebhookAnswer     = 1 << 10        // bytes of an answer that a delivery has
	WebhookSecretOverlap = 24 * time.Hour // how long an old secret signs beside the new one
)

// ParseNewWebhook reads a NewWebhook.
func ParseNewWebhook(body []byte) (hook NewWebhook, err error) {
	patch, fields, err := readWebhook(body)
	if err != nil {
		return hook, err
	}
	if !patch.URL.Set {
		fields.Add("url", "is required")
	}
	if patch.Enabled.Set {
		fields.Add("enabled", "cannot be chosen: a new webhook is enabled")
	}
	return NewWebhook{patch.URL.Value, patch.Types.Value, patch.Description.Value}, fields.Err()
}

// ParseWebhookPatch reads a WebhookPatch.
func ParseWebhookPatch(body []byte) (WebhookPatch, error) {
	patch, fields, err := readWebhook(body)
	if err != nil {
		return patch, err
	}
	return patch, fields.Err()
}

func readWebhook(body []byte) (patch WebhookPatch, fields FieldErrors, err error) {
	members, err := ParseObject(body)
	fields = FieldErrors{}
	for _, m := range members {
		switch m.Name {
		case "url":
			problem := m.Value.Text(&patch.URL.Value)
			if problem == "" {
				problem = WebhookURLRule(patch.URL.Value)
			}
			fields.check(m.Name, problem)
			patch.URL.Set = true
		case "types":
			fields.check(m.Name, m.Value.eventTypes(&patch.Types.Value))
			patch.Types.Set = true
		case "description":
			problem := m.Value.Text(&patch.Description.Value)
			if problem == "" {
				problem = textRule(patch.Description.Value, 0, maxTitle)
			}
			fields.check(m.Name, problem)
			patch.Description.Set = true
		case "enabled":
			fields.check(m.Name, m.Value.bool(&patch.Enabled.Value))
			patch.Enabled.Set = true
		default:
			fields.Add(m.Name, "is not a field of a webhook; the fields are url, types, description and enabled")
		}
		fields.checkRepeated(m)
	}
	return patch, fields, err
}

func (v Value) bool(into *bool) string {
	text := string(v.json)
	if *into = text == "true"; text != "true" && text != "false" {
		return "must be true or false"
	}
	return ""
}

// eventTypes reads a list of types of events, and drops repeated ones.
func (v Value) eventTypes(into *[]EventType) string {
	var names []string
	if problem := v.list(&names); problem != "" {
		return problem
	}
	*into = []EventType{}
	for _, name := range names {
		if !slices.Contains(EventTypes(), EventType(name)) {
			return fmt.Sprintf("has %q, which is not a type of events", name)
		}
		if !slices.Contains(*into, EventType(name)) {
			*into = append(*into, EventType(name))
		}
	}
	return ""
}

// ParseWebhookRedelivery reads a WebhookRedelivery.
func ParseWebhookRedelivery(body []byte) (redelivery WebhookRedelivery, err error) {
	members, err := ParseObject(body)
	if err != nil {
		return redelivery, err
	}
	fields := FieldErrors{}
	for _, m := range members {
		if m.Name != "event_id" {
			fields.Add(m.Name, "is not a field of this request; the field is event_id")
			continue
		}
		fields.check(m.Name, m.Value.Text(&redelivery.EventID))
		fields.checkRepeated(m)
	}
	if redelivery.EventID == "" && len(fields) == 0 {
		fields.Add("event_id", "is required")
	}
	return redelivery, fields.Err()
}

// WebhookURLRule returns what is wrong with the address of a webhook, or "". Which addresses a service sends to is its
// own rule.
func WebhookURLRule(address string) string {
	if problem := textRule(address, 1, maxURL); problem != "" {
		return problem
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" ||
		strings.ContainsFunc(address, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
		return "must be an absolute https URL, such as https://example.com/hooks"
	case u.User != nil:
		return "must not have a name or a password: the signature says who sends"
	case strings.Contains(address, "#"):
		return "must not have a fragment, which is not sent"
	}
	if port := u.Port(); port != "" || strings.HasSuffix(u.Host, ":") {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return "must have a port from 1 to 65535, or none"
		}
	}
	return ""
}
