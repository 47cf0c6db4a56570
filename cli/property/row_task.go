package property

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/cli/bulk"
)

// connector makes the client of a run when it is first needed, and always returns the same.
type connector func() (*client.Client, error)

// updateTask changes one property.
type updateTask struct {
	target
	connect connector
	patch   api.PropertyPatch
}

// Do needs no idempotency key: the same change again changes nothing more.
func (t *updateTask) Do(ctx context.Context, _ string) (bulk.Outcome, error) {
	c, err := t.connect()
	if err == nil {
		_, err = c.UpdateProperty(ctx, t.id, t.patch, t.ifMatch)
	}
	return t.outcome(err)
}

// Done tells whether the property is as the row wants it, whoever made it so.
func (t *updateTask) Done(ctx context.Context, _ time.Time, _ func(string) bool) (bulk.Outcome, bool, error) {
	c, err := t.connect()
	if err != nil {
		return bulk.Outcome{}, false, err
	}
	property, _, err := c.Property(ctx, t.id)
	if err != nil || !t.patch.IsHeldBy(property) {
		return bulk.Outcome{}, false, err
	}
	outcome, _ := t.outcome(nil)
	return outcome, true, nil
}

func (t *updateTask) Check(ctx context.Context) error { return t.check(ctx, t.connect) }

// deleteTask deletes one property.
type deleteTask struct {
	target
	connect connector
}

// Do needs no idempotency key: what is gone cannot be deleted again.
func (t *deleteTask) Do(ctx context.Context, _ string) (bulk.Outcome, error) {
	c, err := t.connect()
	if err == nil {
		_, err = c.DeleteProperty(ctx, t.id, t.ifMatch)
	}
	return t.outcome(err)
}

// Done tells whether the property is gone, whoever deleted it.
func (t *deleteTask) Done(ctx context.Context, _ time.Time, _ func(string) bool) (bulk.Outcome, bool, error) {
	c, err := t.connect()
	if err != nil {
		return bulk.Outcome{}, false, err
	}
	_, _, err = c.Property(ctx, t.id)
	if client.Missing(err) {
		outcome, _ := t.outcome(nil)
		return outcome, true, nil
	}
	return bulk.Outcome{}, false, err
}

func (t *deleteTask) Check(ctx context.Context) error { return t.check(ctx, t.connect) }

// Subject is the property: rows about one are carried out in their order.
func (t target) Subject() string { return strconv.FormatInt(t.id, 10) }

func (t target) outcome(err error) (bulk.Outcome, error) {
	if err != nil {
		return bulk.Outcome{}, err
	}
	return bulk.Outcome{ID: t.Subject(), Status: http.StatusOK}, nil
}

// check looks for the property, and for the version if the row names one.
func (t target) check(ctx context.Context, connect connector) error {
	c, err := connect()
	if err != nil {
		return err
	}
	_, current, err := c.Property(ctx, t.id)
	if err != nil {
		return err
	}
	if t.ifMatch != "" && t.ifMatch != "*" && !strings.Contains(t.ifMatch, current) { // it can be a list
		return api.Errorf(api.CodePreconditionFailed, "The property has changed: its ETag is %s, not %s.", current, t.ifMatch)
	}
	return nil
}
