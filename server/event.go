package server

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"example.com/perks/api"
	"example.com/perks/store"
)

// feedEvent is an event, with the client that may see it.
type feedEvent struct {
	api.Event
	place  store.AuditPlace // after it
	entry  int64            // its number in the audit log; 0 for a redemption that was made
	client string           // that made the redemption, or owns the property or the webhook
	frame  []byte           // as a stream sends it
}

// eventTypes maps the actions of the audit log that are events.
var eventTypes = map[string]api.EventType{
	store.ActionRedeem:           api.EventRedemptionMade,
	store.ActionApprove:          api.EventRedemptionApproved,
	store.ActionReject:           api.EventRedemptionRejected,
	store.ActionVoid:             api.EventRedemptionVoided,
	store.ActionCreateProperty:   api.EventPropertyCreated,
	store.ActionRestoreProperty:  api.EventPropertyRestored,
	store.ActionUpdateProperty:   api.EventPropertyChanged,
	store.ActionDeleteProperty:   api.EventPropertyDeleted,
	store.ActionImportProperties: api.EventPropertiesImported,
	store.ActionCreatePerk:       api.EventPerkCreated,
	store.ActionUpdatePerk:       api.EventPerkChanged,
	store.ActionChangePerkStock:  api.EventPerkStockChanged,
	store.ActionImportPerks:      api.EventPerksImported,
	store.ActionDisableWebhook:   api.EventWebhookDisabled,
}

// actionsFor returns the actions of these types, or of all if there are none, whose events the caller may see some of.
func actionsFor(caller Caller, types []api.EventType) (actions []string) {
	for action, kind := range eventTypes {
		e := feedEvent{Event: api.Event{Type: kind}, client: caller.ClientID}
		switch noun, _, _ := strings.Cut(string(kind), "."); noun {
		case "redemption":
			e.Redemption = new(api.RedemptionRecord)
		case "property":
			e.Property = new(api.Property)
		}
		if e.isFor(caller, types) {
			actions = append(actions, action)
		}
	}
	slices.Sort(actions)
	return actions
}

// eventOf returns the event of an entry, unless the entry is only for the operator.
func eventOf(entry store.AuditEntry) (e feedEvent, isEvent bool, err error) {
	e.Type, isEvent = eventTypes[entry.Action]
	if !isEvent {
		return e, false, nil
	}
	e.place, e.entry = entry.Place, entry.Number
	e.At, e.Subject = entry.At, entry.Subject
	clientID, actor, _ := entry.Actor.Client()
	e.Actor = store.OrNull(actor)
	switch noun, _, _ := strings.Cut(entry.Action, "."); noun {
	case "redemption":
		e.Redemption = new(api.RedemptionRecord)
		err = json.Unmarshal(entry.After, e.Redemption)
		if entry.Action == store.ActionRedeem {
			e.Redemption.ClientID, e.Redemption.Actor = clientID, e.Actor
		}
		e.client = e.Redemption.ClientID
	case "property":
		var property store.PropertyRecord
		record := entry.After
		if entry.Action == store.ActionDeleteProperty {
			record = entry.Before
		}
		if string(record) == "null" { // it was deleted by hand, and nothing is known of it
			return e, false, nil
		}
		err = json.Unmarshal(record, &property)
		e.Property, e.client = &property.Property, property.Owner
	case "webhook":
		var hook store.PublicWebhook
		err = json.Unmarshal(entry.After, &hook)
		e.client = hook.ClientID
	}
	if err != nil {
		err = fmt.Errorf("read the entry %d of %s in the audit log: %w", entry.Number, e.Subject, err)
	}
	return e, true, err
}

// isFor tells whether the event is one that the caller asks for, and may see.
func (e feedEvent) isFor(caller Caller, types []api.EventType) bool {
	return e.isWanted(types) && e.maySee(caller)
}

func (e feedEvent) isWanted(types []api.EventType) bool {
	return len(types) == 0 || slices.Contains(types, e.Type)
}

// maySee tells whether the caller may see the event: of redemptions and properties, what its lists of them show. Those
// of perks have no record, so that they tell nobody what only some may see.
func (e feedEvent) maySee(caller Caller) bool {
	can := caller.Scopes.Has
	switch {
	case e.Redemption != nil:
		return can(api.ScopeRedemptionsRead) && (can(api.ScopeRedemptionsReadAll) || e.client == caller.ClientID)
	case e.Property != nil:
		return can(api.ScopePropertiesRead) ||
			(can(api.ScopePropertiesWrite) || can(api.ScopePropertiesCreate)) && e.client == caller.ClientID
	case e.Type == api.EventWebhookDisabled:
		return can(api.ScopeWebhooksWrite) && e.client == caller.ClientID
	case e.Type == api.EventPropertiesImported:
		return can(api.ScopePropertiesRead)
	}
	return can(api.ScopePerksRead)
}

// feedPart is consecutive events.
type feedPart struct {
	events []feedEvent
	next   store.AuditPlace
	isMore bool // something was committed after next, when it was read
}

func (f *eventFeed) partOf(ctx context.Context, batch store.AuditBatch) (feedPart, error) {
	cursors, err := f.cursors(ctx)
	if err != nil {
		return feedPart{}, err
	}
	part := feedPart{next: batch.Next, isMore: !batch.IsLast}
	for _, entry := range batch.Entries {
		e, isEvent, err := eventOf(entry)
		if err != nil {
			return part, err
		}
		if !isEvent {
			continue
		}
		e.ID, e.Cursor = cursors.idOf(entry), cursors.write(e.place)
		encoded, err := api.EncodeJSON(e.Event)
		if err != nil {
			return part, fmt.Errorf("encode an event: %w", err)
		}
		e.frame = fmt.Appendf(nil, "id: %s\nevent: %s\ndata: %s\n\n", e.Cursor, e.Type, encoded)
		part.events = append(part.events, e)
	}
	return part, nil
}

// eventOf returns the event of an entry, whose cursor the caller knows. found is false if the entry is gone.
func (f *eventFeed) eventOf(
	ctx context.Context, key store.AuditKey, cursor string,
) (e feedEvent, found bool, err error) {
	entry, found, err := f.store.AuditEntry(ctx, key)
	if err != nil || !found {
		return e, false, err
	}
	if e, found, err = eventOf(entry); err != nil || !found {
		return e, false, err
	}
	cursors, err := f.cursors(ctx)
	e.ID, e.Cursor = cursors.idOf(entry), cursor
	return e, err == nil, err
}

// eventNamed returns the event with an id, without its cursor. found is false if there is none.
func (f *eventFeed) eventNamed(ctx context.Context, id string) (e feedEvent, found bool, err error) {
	cursors, err := f.cursors(ctx)
	if err != nil {
		return e, false, err
	}
	subjects := []string{id}
	if last := strings.LastIndex(id, "/"); last > 0 {
		subjects = append(subjects, id[:last])
	}
	for _, subject := range subjects {
		for entry, err := range f.store.Audit(ctx, store.AuditQuery{Subject: subject}) {
			if err != nil {
				return e, false, err
			}
			if _, isEvent := eventTypes[entry.Action]; !isEvent || cursors.idOf(entry) != id {
				continue
			}
			key := store.AuditKey{Entry: entry.Number}
			if entry.Number == 0 {
				key = store.KeyOfRedemption(subject)
			}
			return f.eventOf(ctx, key, "")
		}
	}
	return e, false, nil
}

// cursors are places in the audit log as callers know them: encrypted, because a place tells how much all partners do,
// and under a key of the database, so that another one refuses them. Live and sandbox refuse each other's even if
// one is a copy. All servers of a database write a place alike.
type cursors struct {
	name, key []byte
	aead      cipher.AEAD
}

// newCursors takes the 32 bytes that the database of the name keeps.
func newCursors(name string, key []byte) (cursors, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return cursors{}, fmt.Errorf("the key of cursors: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	return cursors{[]byte(name), key, aead}, err
}

// cursors returns those of the feed's database, whose key never changes.
func (f *eventFeed) cursors(ctx context.Context) (cursors, error) {
	if known := f.known.Load(); known != nil {
		return *known, nil
	}
	key, err := f.store.CursorKey(ctx)
	if err != nil {
		return cursors{}, err
	}
	c, err := newCursors(f.name, key)
	if err == nil {
		f.known.Store(&c)
	}
	return c, err
}

// write returns the text of a place. Its nonce is a keyed hash of the place, so that no two places share one.
func (c cursors) write(place store.AuditPlace) string {
	text := fmt.Append(nil, place.Since, "~", place.Until, "~", place.Read)
	nonce := c.hash(text)[:c.aead.NonceSize()]
	return base64.RawURLEncoding.EncodeToString(c.aead.Seal(nonce, nonce, text, c.name))
}

// read returns the place of a text. The error is store.AuditPositionUnknown if write did not return it.
func (c cursors) read(cursor string) (place store.AuditPlace, err error) {
	sealed, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(sealed) < c.aead.NonceSize() {
		return place, store.AuditPositionUnknown()
	}
	text, err := c.aead.Open(nil, sealed[:c.aead.NonceSize()], sealed[c.aead.NonceSize():], c.name)
	parts := strings.Split(string(text), "~")
	if err != nil || len(parts) != 3 {
		return place, store.AuditPositionUnknown()
	}
	place.Since, place.Until = store.AuditPosition(parts[0]), store.AuditPosition(parts[1])
	place.Read, err = strconv.Atoi(parts[2])
	return place, err
}

// idOf returns the id of the event of an entry.
func (c cursors) idOf(entry store.AuditEntry) string {
	if entry.Number == 0 {
		return entry.Subject
	}
	return entry.Subject + "/" + c.hide(entry.Number)
}

// hide returns another name of an entry, instead of how many there are.
func (c cursors) hide(number int64) string {
	return hex.EncodeToString(c.hash(strconv.AppendInt(nil, number, 10))[:8])
}

func (c cursors) hash(text []byte) []byte {
	hash := hmac.New(sha256.New, c.key)
	hash.Write(c.name)
	hash.Write(text)
	return hash.Sum(nil)
}
