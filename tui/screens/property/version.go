package property

import (
	"context"
	"errors"
	"net/http"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/tui/screen"
)

// version is a property as it was read. Without an ETag a change cannot be tied to it.
type version struct {
	Property api.Property `json:"property"`
	ETag     string       `json:"etag"`
}

func read(id int64) screen.Fetch[version] {
	return func(ctx context.Context, c *client.Client) (version, error) {
		property, etag, err := c.Property(ctx, id)
		return version{property, etag}, err
	}
}

// same tells whether two versions are one. Without ETags, or with weak ones, which two versions may share, every field
// is compared.
func (v version) same(other version) bool {
	if v.ETag != "" && other.ETag != "" && !client.IsWeak(v.ETag) {
		return v.ETag == other.ETag
	}
	return api.PropertyChanges(v.Property, other.Property).IsEmpty()
}

// with returns the property as a change makes it.
func (v version) with(patch api.PropertyPatch) api.Property {
	after := v.Property
	patch.Apply(&after)
	return after
}

// lookTime is how long the search for what became of a change may take.
const lookTime = 5 * time.Second

func look(ctx context.Context, c *client.Client, id int64) (version, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	return read(id)(ctx, c)
}

// errChanged is what a service without ETags cannot say by itself.
var errChanged error = &client.Error{
	Status: http.StatusPreconditionFailed, Code: api.CodePreconditionFailed, Message: "The property was changed meanwhile.",
}

// untouched reads a property without an ETag just before a change, which is all that can be done for it: between the two a
// moment is left.
func untouched(ctx context.Context, c *client.Client, base version) (now version, err error) {
	now, err = read(base.Property.ID)(ctx, c)
	if err == nil && !now.same(base) {
		err = errChanged
	}
	return now, err
}

// neverMatches tells whether a change was refused although nobody changed the property: a weak ETag never matches at a service
// that compares strongly.
func neverMatches(ctx context.Context, c *client.Client, base version, err error) bool {
	if !client.IsWeak(base.ETag) || !isChanged(err) {
		return false
	}
	_, err = untouched(ctx, c, base)
	return err == nil
}

func isChanged(err error) bool { return statusOf(err) == http.StatusPreconditionFailed }

func statusOf(err error) int {
	var refused *client.Error
	if errors.As(err, &refused) {
		return refused.Status
	}
	return 0
}
