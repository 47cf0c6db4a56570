package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"example.com/perks/api"
)

// checkTimeout is how long resolving an unknown outcome may take, whatever the client's deadline.
const checkTimeout = 5 * time.Second

// Version is a property as it was read, with its ETag if the server gave one.
type Version struct {
	Property api.Property `json:"property"`
	ETag     string       `json:"etag"`
}

// versionParts is a Version with its property as a service wrote it.
type versionParts struct {
	Property json.RawMessage `json:"property"`
	ETag     string          `json:"etag"`
}

// MarshalJSON writes the property as the service wrote it, with what could not be read.
func (v Version) MarshalJSON() ([]byte, error) {
	property, err := api.EncodeJSON(v.Property)
	if err != nil {
		return nil, err
	}
	return api.EncodeJSON(versionParts{property, v.ETag})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (v *Version) UnmarshalJSON(text []byte) error {
	var parts versionParts
	if err := json.Unmarshal(text, &parts); err != nil || parts.Property == nil {
		return err
	}
	v.ETag = parts.ETag
	return api.ReadProperty(parts.Property, &v.Property)
}

// Version reads a property.
func (c *Client) Version(ctx context.Context, id api.PropertyID) (Version, error) {
	property, etag, err := c.Property(ctx, id)
	return Version{property, etag}, err
}

// Same tells whether two versions are equal. Without strong ETags it compares every field.
func (v Version) Same(other Version) bool {
	if v.ETag != "" && other.ETag != "" && !IsWeak(v.ETag) {
		return v.ETag == other.ETag
	}
	return api.PropertyChanges(v.Property, other.Property).IsEmpty()
}

// Editing is an attempt to change or delete a property, and what is known of its outcome. It is a value: its methods return an
// updated copy. Fill in ID, Patch or Delete, ETag and Base.
type Editing struct {
	ID     api.PropertyID
	Patch  api.PropertyPatch
	Delete bool          // instead of Patch
	ETag   string        // the version to change; "" is any
	Base   *api.Property // that version as it was read; nil if it was not

	Message string // of the service
	Lost    bool   // the reply was lost, and reading the property showed that the change was made
	Err     error  // why the change was not made, or why that is unknown; nil if it was made

	Current    Version // the property as read last, if Known
	HasCurrent bool    // the last read succeeded
	ReadErr    error   // of the last read
}

// EditingOf returns an Editing that changes the version that was read.
func EditingOf(id api.PropertyID, base Version, patch api.PropertyPatch) Editing {
	return Editing{ID: id, Patch: patch, ETag: base.ETag, Base: &base.Property}
}

// Try sends the change once. If the reply is lost, the outcome stays unknown.
func (e Editing) Try(ctx context.Context, c *Client) Editing { return e.request(ctx, c, e.ETag) }

func (e Editing) request(ctx context.Context, c *Client, ifMatch string) Editing {
	var message api.Message
	if e.Delete {
		message, e.Err = c.DeleteProperty(ctx, e.ID, ifMatch)
	} else {
		message, e.Err = c.UpdateProperty(ctx, e.ID, e.Patch, ifMatch)
	}
	e.Message = message.Message
	return e
}

// Send sends the change and finds out its outcome if the reply is lost or the version has changed. Without an ETag it first
// reads the property and compares, which leaves a short race.
func (e Editing) Send(ctx context.Context, c *Client) Editing {
	e.Lost, e.HasCurrent, e.ReadErr = false, false, nil
	if e.Base != nil && e.ETag == "" {
		if e = e.Read(ctx, c); e.ReadErr != nil {
			e.Err = e.ReadErr
			return e
		}
		if !e.isUntouched() {
			e.Err = &Error{Status: http.StatusPreconditionFailed, Code: api.CodePreconditionFailed, Message: "The property was changed meanwhile."}
			return e
		}
	}
	e = e.Try(ctx, c)
	if e.Base != nil && IsVersionConflict(e.Err) && IsWeak(e.ETag) {
		// A server that compares strongly refuses every weak ETag, even if the property is unchanged.
		if e = e.Read(ctx, c); e.isUntouched() {
			e = e.request(ctx, c, "")
		}
	}
	if OutcomeUnknown(e.Err) || e.Base != nil && IsVersionConflict(e.Err) && !e.HasCurrent {
		return e.Check(ctx, c)
	}
	return e
}

func (e Editing) isUntouched() bool {
	return e.HasCurrent && Version{*e.Base, e.ETag}.Same(e.Current)
}

// Read reads the property's current version.
func (e Editing) Read(ctx context.Context, c *Client) Editing {
	e.Current, e.ReadErr = c.Version(ctx, e.ID)
	e.HasCurrent = e.ReadErr == nil
	return e
}

// Check reads the property within 5 s, whatever the client's deadline, to resolve an unknown outcome. If the property does not
// have the change, it may still arrive.
func (e Editing) Check(ctx context.Context, c *Client) Editing {
	e = e.Read(ctx, c.Until(time.Now().Add(checkTimeout)))
	if OutcomeUnknown(e.Err) && e.IsApplied() {
		e.Lost, e.Err = true, nil
	}
	return e
}

// IsApplied tells whether the property, as read last, is as the change wants it.
func (e Editing) IsApplied() bool {
	if e.Delete {
		return IsNotFound(e.ReadErr)
	}
	return e.HasCurrent && e.Patch.IsAppliedTo(e.Current.Property)
}

// IsDone tells whether nothing is left to do. That is also true of a version conflict if the property was read and is as the
// change wants it: an earlier attempt whose reply was lost may have made the change.
func (e Editing) IsDone() bool { return e.Err == nil || IsVersionConflict(e.Err) && e.IsApplied() }

// IsVersionConflict tells whether err says that the property is no longer the version that the change was made for.
func IsVersionConflict(err error) bool {
	refused, ok := errors.AsType[*Error](err)
	return ok && refused.Status == http.StatusPreconditionFailed
}
