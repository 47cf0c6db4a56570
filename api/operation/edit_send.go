package operation

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
)

// EditKind is a kind of record that can be edited: R is the record, and P a change of some of its fields.
type EditKind[I ~string, R any, P Patch[R, P]] struct {
	Name    string // of one record
	IDOf    func(R) I
	Fields  func() []api.Field // in the order of a form
	Texts   func(of R, name string) []string
	Parse   func([]api.Member) (P, error) // the error is CodeValidationFailed
	Changes func(before, after R) P       // the change that makes before to after
	Decode  func([]byte, *R) error        // what api.EncodeJSON wrote
	Amounts *api.Arithmetic[R, P]

	Get func(c *client.Client, ctx context.Context, id I) (record R, etag string, err error)
	// Create makes a record, once for each idempotency key. Without an id, the service chooses one.
	Create func(c *client.Client, ctx context.Context, id I, fields P, key string) (client.Version[R], bool, error)
	Update func(c *client.Client, ctx context.Context, id I, patch P, ifMatch string) (api.Message, error)
	Delete func(c *client.Client, ctx context.Context, id I, ifMatch string) (api.Message, error)
	// Restore brings back a version, once for each idempotency key.
	Restore func(
		c *client.Client, ctx context.Context, id I, version api.PropertyRestore, ifMatch, key string,
	) (record R, etag string, replayed bool, err error)

	// Pages, Since and AsOf read the history; the error is client.IsUnsupported of a service that keeps none.
	Pages func(
		c *client.Client, ctx context.Context, id I, options client.ListOptions,
	) client.Pages[api.PropertyVersion]
	Since func(c *client.Client, ctx context.Context, id I, since time.Time) ([]api.PropertyVersion, error)
	AsOf  func(c *client.Client, ctx context.Context, id I, at time.Time) (record R, etag string, err error)
}

// The types for properties.
type (
	PropertyVersion  = client.Version[api.Property]
	PropertyEdit     = Edit[api.PropertyID, api.Property, api.PropertyPatch]
	PropertySaving   = Saving[api.PropertyID, api.Property, api.PropertyPatch]
	PropertyCreating = Creating[api.PropertyID, api.Property, api.PropertyPatch]
	PropertyCreate   = Create[api.PropertyID, api.Property, api.PropertyPatch]
)

// Properties is the kind of a property.
var Properties = &EditKind[api.PropertyID, api.Property, api.PropertyPatch]{
	Name: "property", IDOf: api.Property.PropertyID,
	Fields: sync.OnceValue(api.PropertyFields), Texts: api.Property.Texts,
	Parse: api.ParsePropertyPatch, Changes: api.PropertyChanges, Decode: api.ReadProperty,
	Amounts: api.PropertyAmounts,
	Get:     (*client.Client).Property, Update: (*client.Client).UpdateProperty,
	Delete: (*client.Client).DeleteProperty,
	Create: func(
		c *client.Client, ctx context.Context, _ api.PropertyID, fields api.PropertyPatch, key string,
	) (PropertyVersion, bool, error) {
		return c.CreateProperty(ctx, fields, key)
	},
	Restore: (*client.Client).RestoreProperty, Pages: (*client.Client).PropertyHistoryPages,
	Since: (*client.Client).PropertyVersionsSince, AsOf: (*client.Client).PropertyAsOf,
}

// Named names a record in a sentence, such as property 42.
func (k *EditKind[I, R, P]) Named(id I) string { return k.Name + " " + string(id) }

// Titled names a record at the beginning of a sentence.
func (k *EditKind[I, R, P]) Titled(id I) string {
	return strings.ToUpper(k.Name[:1]) + k.Name[1:] + " " + string(id)
}

// The types for perks.
type (
	PerkVersion  = client.Version[api.PerkRecord]
	PerkEdit     = Edit[string, api.PerkRecord, api.PerkPatch]
	PerkSaving   = Saving[string, api.PerkRecord, api.PerkPatch]
	PerkCreating = Creating[string, api.PerkRecord, api.PerkPatch]
)

// Perks is the kind of a perk, which is neither deleted nor restored.
var Perks = &EditKind[string, api.PerkRecord, api.PerkPatch]{
	Name: "perk", IDOf: func(p api.PerkRecord) string { return p.ID },
	Fields: sync.OnceValue(api.PerkFields), Texts: api.PerkRecord.Texts,
	Parse: api.ParsePerkPatch, Changes: api.PerkChanges,
	Decode:  api.ReadPerk,
	Amounts: api.PerkAmounts, Get: (*client.Client).PerkRecord, Create: (*client.Client).CreatePerk,
	Update: (*client.Client).UpdatePerk, Pages: (*client.Client).PerkHistoryPages,
	Since: (*client.Client).PerkVersionsSince, AsOf: (*client.Client).PerkAsOf,
}

// Field returns a field by its name.
func (k *EditKind[I, R, P]) Field(name string) (field api.Field, known bool) {
	if i := slices.IndexFunc(k.Fields(), func(f api.Field) bool { return f.Name == name }); i >= 0 {
		return k.Fields()[i], true
	}
	return api.Field{Name: name}, false
}

// Value is the value of a field. Numbers and prices are digits, so that they stay as written.
func (k *EditKind[I, R, P]) Value(field api.Field, of R) api.Value {
	switch texts := k.Texts(of, field.Name); {
	case field.Kind == api.ListField:
		return api.ListValue(texts)
	case len(texts) == 0:
		return api.NullValue()
	default:
		return api.TextValue(texts[0])
	}
}

// Text is the value of a field as it is edited: null is the empty text, and each entry of a list has a line.
func (k *EditKind[I, R, P]) Text(name string, of R) string {
	return strings.Join(k.Texts(of, name), "\n")
}

// IsSame tells whether two versions are equal. Without strong ETags it compares every field.
func (k *EditKind[I, R, P]) IsSame(a, b client.Version[R]) bool {
	if a.ETag != "" && b.ETag != "" && !client.IsWeak(a.ETag) && !client.IsWeak(b.ETag) {
		return client.SameVersion(a.ETag, b.ETag)
	}
	return k.Changes(a.Record, b.Record).IsEmpty()
}

// Read reads a record.
func (k *EditKind[I, R, P]) Read(ctx context.Context, c *client.Client, id I) (client.Version[R], error) {
	record, etag, err := k.Get(c, ctx, id)
	return client.Version[R]{Record: record, ETag: etag}, err
}

// Saving is an attempt to change, delete or restore a record, and what is known of its outcome. It is a value: its
// methods return an updated copy. Fill in Kind, ID, Patch, Delete or Restore, ETag and Base.
type Saving[I ~string, R any, P Patch[R, P]] struct {
	Kind   *EditKind[I, R, P]
	ID     I
	Patch  P
	Delete bool   // instead of Patch
	ETag   string // the version to change; "" is any
	Base   *R     // that version as it was read; nil if it was not

	Restore *api.PropertyRestore // instead of Patch, which may say what it changes: the version to restore
	Key     string               // the idempotency key of a restoration; other changes need none

	Message  string // of the service
	Replaced *R     // the version that the change has replaced; nil unless the service has proved it by its ETag
	Left     string // the ETag of the version that an update has left; "" if that is not known
	Lost     bool   // the reply was lost, and reading the record showed that the change was made
	Err      error  // why the change was not made, or why that is unknown; nil if it was made

	Current    client.Version[R] // the record as read last, if HasCurrent
	HasCurrent bool              // the last read succeeded
	ReadErr    error             // of the last read

	Replayed bool // the service repeats its response to an earlier request under the key, which was not this Saving's

	attempt Attempt[api.Message]
}

// Try sends the change once. If the reply is lost, the outcome stays unknown.
func (s Saving[I, R, P]) Try(ctx context.Context, c *client.Client) Saving[I, R, P] {
	return s.request(ctx, c, s.ETag)
}

func (s Saving[I, R, P]) request(ctx context.Context, c *client.Client, ifMatch string) Saving[I, R, P] {
	var message api.Message
	switch {
	case s.Restore != nil:
		s.Current.Record, s.Current.ETag, s.Replayed, s.Err = s.Kind.Restore(c, ctx, s.ID, *s.Restore, ifMatch, s.Key)
		s.HasCurrent = s.Err == nil
	case s.Delete:
		message, s.Err = s.Kind.Delete(c, ctx, s.ID, ifMatch)
	default:
		message, s.Err = s.Kind.Update(c, ctx, s.ID, s.Patch, ifMatch)
	}
	s.Message, s.Left, s.Replaced = message.Message, message.ETag, nil
	if s.Err == nil && ifMatch != "" {
		s.Replaced = s.Base
	}
	return s
}

// Send sends the change and finds out its outcome if the reply is lost or the version has changed. Without an ETag it
// first reads the record and compares, which leaves a short race.
func (s Saving[I, R, P]) Send(ctx context.Context, c *client.Client) Saving[I, R, P] {
	s.Lost, s.HasCurrent, s.ReadErr = false, false, nil
	if s.Base != nil && s.ETag == "" {
		if s = s.Read(ctx, c); s.ReadErr != nil {
			s.Err = s.ReadErr
			return s
		}
		if !s.isUntouched() {
			s.Err = &client.Error{
				Status: http.StatusPreconditionFailed, Code: api.CodePreconditionFailed,
				Message: "The " + s.Kind.Name + " was changed meanwhile.",
			}
			return s
		}
	}
	a := Attempt[api.Message]{Key: s.Key}.Send(ctx, saving[I, R, P]{&s, c}, s.rules(c))
	isReviewed := s.Base != nil || s.Restore != nil
	if s = s.after(a); isReviewed && IsVersionConflict(s.Err) && !s.HasCurrent {
		s = s.Read(ctx, soon(c))
	}
	return s
}

// SendReading is Send for a change of any version, which also tells what was Replaced. For that it reads the record,
// and guards the change by what it has read. If that fails, or somebody else changes the record in between, the change
// is sent all the same, and nothing is Replaced.
func (s Saving[I, R, P]) SendReading(ctx context.Context, c *client.Client) Saving[I, R, P] {
	before := s.Read(ctx, c.Briefly(checkTimeout)).Current
	guarded := s
	guarded.ETag = cmp.Or(s.ETag, before.ETag)
	sent := guarded.Send(ctx, c)
	if guarded.ETag != s.ETag && IsVersionConflict(sent.Err) && !client.OutcomeUnknown(sent.Err) {
		return s.Send(ctx, c)
	}
	if sent.Err == nil && !sent.Lost && before.ETag != "" && client.SameVersion(before.ETag, sent.ETag) {
		sent.Replaced = &before.Record
	}
	return sent
}

// Check reads the record within a few seconds. If the outcome is unknown and the record does not have the change, that
// may still arrive.
func (s Saving[I, R, P]) Check(ctx context.Context, c *client.Client) Saving[I, R, P] {
	if !s.attempt.State.IsDoubtful() {
		return s.Read(ctx, soon(c))
	}
	a := s.attempt.Check(ctx, saving[I, R, P]{&s, c}, s.rules(c))
	return s.after(a)
}

func (s Saving[I, R, P]) rules(c *client.Client) Rules {
	if s.Key != "" {
		return withKey(c)
	}
	return withoutKey(c)
}

func (s Saving[I, R, P]) after(a Attempt[api.Message]) Saving[I, R, P] {
	s.attempt = a
	s.Message, s.Replayed, s.Lost, s.Err = a.Result.Message, a.Replayed, a.Earlier, a.Err
	return s
}

// saving is the change that a Saving attempts.
type saving[I ~string, R any, P Patch[R, P]] struct {
	*Saving[I, R, P]
	client *client.Client
}

func (s saving[I, R, P]) Send(ctx context.Context, _ string) (message api.Message, replayed bool, err error) {
	done := s.Try(ctx, s.client)
	if s.Base != nil && IsVersionConflict(done.Err) && client.IsWeak(s.ETag) {
		// A server that compares strongly refuses every weak ETag, even if the record is unchanged.
		if done = done.Read(ctx, s.client); done.isUntouched() {
			done = done.request(ctx, s.client, "")
		}
	}
	*s.Saving = done
	return api.Message{Message: done.Message}, done.Replayed, done.Err
}

func (s saving[I, R, P]) LookUp(ctx context.Context, _ time.Time) (api.Message, Event, error) {
	switch *s.Saving = s.Read(ctx, soon(s.client)); {
	case s.IsApplied():
		return api.Message{}, Found, nil
	case s.ReadErr != nil:
		return api.Message{}, Unread, s.ReadErr
	case s.onlyKeyTells():
		s.client.ProbeKeys(ctx)
		return api.Message{}, Match, nil
	}
	return api.Message{}, Absent, nil
}

func (s Saving[I, R, P]) isUntouched() bool {
	return s.HasCurrent && s.Kind.IsSame(client.Version[R]{Record: *s.Base, ETag: s.ETag}, s.Current)
}

// Read reads the record's current version.
func (s Saving[I, R, P]) Read(ctx context.Context, c *client.Client) Saving[I, R, P] {
	s.Current, s.ReadErr = s.Kind.Read(ctx, c, s.ID)
	s.HasCurrent = s.ReadErr == nil
	return s
}

// IsApplied tells whether the record, as read last, is as the change wants it.
func (s Saving[I, R, P]) IsApplied() bool {
	switch to := s.Restore; {
	case s.Delete:
		return client.IsNotFound(s.ReadErr)
	case !s.HasCurrent:
		return false
	case to != nil && to.ETag != "":
		return client.SameVersion(s.Current.ETag, to.ETag)
	case s.onlyKeyTells():
		return false
	case to != nil && s.Patch.IsEmpty():
		return true
	}
	return s.Patch.IsAppliedTo(s.Current.Record)
}

// onlyKeyTells tells whether reading the record cannot tell if the change was made, because it is not known what the
// listing was at the time to which it is restored.
func (s Saving[I, R, P]) onlyKeyTells() bool {
	return s.Restore != nil && s.Restore.ETag == "" && !s.Restore.AsOf.IsZero() && s.Patch.IsEmpty()
}

// IsDone tells whether nothing is left to do. That is also true of a version conflict if the record was read and is as
// the change wants it: an earlier attempt whose reply was lost may have made the change.
func (s Saving[I, R, P]) IsDone() bool {
	return s.Err == nil || IsVersionConflict(s.Err) && s.IsApplied()
}

// IsVersionConflict tells whether err says that the record is no longer the version that the change was made for.
func IsVersionConflict(err error) bool {
	refused, ok := errors.AsType[*client.Error](err)
	return ok && refused.Status == http.StatusPreconditionFailed
}
