package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/operation"
	"example.com/perks/cli/bulk"
)

// undo takes back what a row of a run did to a record: it changes it back, or deletes what the row created.
type undo[I ~string, R any, P operation.Patch[R, P]] struct {
	task[I, R, P]
	made     bulk.Result
	changes  []operation.FieldChange // that it makes
	isBehind bool                    // a later row about the same record is taken back first
}

// Undo returns what makes a task that takes back a row of a run.
func (k *Kind[I, R, P]) Undo() func(bulk.Result) (operation.Task, error) {
	service := &serviceOfRows{}
	return func(made bulk.Result) (operation.Task, error) {
		u := &undo[I, R, P]{made: made, task: k.newTask(k.saving(I(made.ID)))}
		u.ETag, u.service = made.ETag, service
		isKnown := made.Before != nil || made.ETag != "" && made.ETagBefore != ""
		var err error
		switch {
		case made.Action == operation.Deleted:
			return &restoring[I, R, P]{u}, nil
		case made.Action == operation.Created && k.Delete == nil:
			return nil, api.Errorf(api.CodeConflict, "%s cannot be deleted. %s", k.Titled(u.ID), k.End(u.ID))
		case made.Action == operation.Created, made.Action == operation.Restored && made.ETagBefore == "":
			u.Delete = true
		case made.Action == "":
			return nil, api.Errorf(api.CodeConflict, "The result of this row does not say what was done, because an "+
				"earlier version of perksctl wrote it.")
		case !isKnown:
			return nil, api.Errorf(api.CodeConflict, "It is unknown what %s was before this row.", k.Named(u.ID))
		}
		if made.ETag == "" && made.After != nil {
			left, invalid := k.patchOf(made.After)
			u.left, err = &left, invalid
		}
		return u, err
	}
}

// patchOf reads the fields of a record.
func (k *Kind[I, R, P]) patchOf(fields json.RawMessage) (patch P, err error) {
	members, err := api.ParseObject(fields)
	if err == nil {
		patch, err = k.Parse(members)
	}
	return patch, err
}

// prepare finds out what the record was.
func (u *undo[I, R, P]) prepare(ctx context.Context, c *client.Client) error {
	if u.Delete || u.changes != nil {
		return nil
	}
	row := []api.PropertyVersion{{Before: u.made.Before, After: u.made.After}}
	if u.made.Before == nil {
		parts, err := u.kind.VersionsBackTo(ctx, c, u.ID, u.made.ETag, u.made.ETagBefore)
		if err != nil {
			return err
		}
		row = parts[1]
	}
	before := map[string]json.RawMessage{}
	for _, change := range u.kind.NetChanges(row) {
		before[change.Field] = change.From
		u.changes = append(u.changes, operation.FieldChange{Field: change.Field, From: change.To, To: change.From})
	}
	fields, err := api.EncodeJSON(before)
	if err != nil {
		return err
	}
	if u.Patch, err = u.kind.patchOf(fields); err != nil { // some services write values that nobody could type
		var was, left R
		err = errors.Join(u.kind.Decode(u.made.Before, &was), u.kind.Decode(u.made.After, &left))
		u.Patch = u.kind.Changes(left, was)
	}
	return err
}

// Send changes the record back. What somebody else has changed since stays.
func (u *undo[I, R, P]) Send(ctx context.Context, c *client.Client, key string) (operation.Outcome, bool, error) {
	if u.made.ChangedNothing() {
		return u.nothing(u.made.ETag), false, nil
	}
	if err := u.prepare(ctx, c); err != nil {
		return operation.Outcome{}, false, err
	}
	o, _, err := u.task.Send(ctx, c, key)
	if operation.IsVersionConflict(err) || client.IsNotFound(err) {
		o, err = u.refused(ctx, c, u.Read(ctx, c))
	}
	return o, false, err
}

// refused is the outcome for a record that is not as the row left it: nothing if that is as it was before the row,
// and otherwise an error with what the row left and what is there now.
func (u *undo[I, R, P]) refused(
	ctx context.Context, c *client.Client, now operation.Saving[I, R, P],
) (operation.Outcome, error) {
	isGone := client.IsNotFound(now.ReadErr)
	switch {
	case isGone && u.Delete, now.HasCurrent && !u.Delete && u.Patch.IsAppliedTo(now.Current.Record):
		return u.nothing(now.Current.ETag), nil
	case isGone:
		return operation.Outcome{}, stays("%s was deleted after the run, and stays so.", u.kind.Titled(u.ID))
	case now.ReadErr != nil:
		return operation.Outcome{}, now.ReadErr
	}
	return operation.Outcome{}, u.kind.changedSince(ctx, c, now, u.made.ETag, u.left)
}

// changedSince says what somebody else has changed since a run left the version with this ETag, or these values.
func (k *Kind[I, R, P]) changedSince(
	ctx context.Context, c *client.Client, now operation.Saving[I, R, P], etag string, left *P,
) error {
	var changes []operation.FieldChange
	if left != nil {
		changes, _ = k.changesOf(with(now.Current.Record, *left), now.Current.Record)
	} else if parts, err := k.VersionsBackTo(ctx, c, now.ID, etag); err == nil {
		changes = k.NetChanges(parts[0])
	}
	texts := make([]string, len(changes))
	for i, change := range changes {
		texts[i] = fmt.Sprintf("%s was left as %s and is %s now", change.Field, shown(change.From), shown(change.To))
	}
	if len(texts) == 0 {
		texts = []string{"perksctl " + k.Name + " history " + string(now.ID) + " shows how"}
	}
	return stays("%s was changed after the run, and stays as it is: %s.", k.Titled(now.ID), strings.Join(texts, "; "))
}

func stays(format string, args ...any) error {
	return &client.Error{Status: http.StatusPreconditionFailed, Code: api.CodePreconditionFailed,
		Message: fmt.Sprintf(format, args...)}
}

// LookUp finds the record as it was before the row, whoever changed it back.
func (u *undo[I, R, P]) LookUp(
	ctx context.Context, c *client.Client, since time.Time, taken func(string) bool,
) (operation.Outcome, operation.Event, error) {
	if u.made.ChangedNothing() {
		return u.nothing(u.made.ETag), operation.Found, nil
	}
	if err := u.prepare(ctx, c); err != nil {
		return operation.Outcome{}, operation.Unread, err
	}
	o, event, err := u.task.LookUp(ctx, c, since, taken)
	if event == operation.Found && o.Before == nil && u.made.Before != nil { // no history tells
		o.Before, o.After = u.made.After, u.made.Before
	}
	return o, event, err
}

// Predict compares the record with what the row left.
func (u *undo[I, R, P]) Predict(ctx context.Context, c *client.Client) operation.Prediction {
	if u.made.ChangedNothing() {
		return operation.Prediction{
			Message: u.kind.Titled(u.ID) + " would stay as it is: the row did not change it."}
	}
	if err := u.prepare(ctx, c); err != nil {
		return operation.Prediction{Err: err}
	}
	now := u.Read(ctx, c)
	isLeft := now.HasCurrent && (u.left == nil || (*u.left).IsAppliedTo(now.Current.Record)) &&
		(u.ETag == "" || client.SameVersion(u.ETag, now.Current.ETag))
	switch {
	case !isLeft && !u.isBehind:
		_, err := u.refused(ctx, c, now)
		return operation.Prediction{Err: err, Message: u.kind.Titled(u.ID) + " is as it was before the run."}
	case u.Delete:
		return operation.Prediction{Message: u.kind.deletes(u.ID, now.Current.Record)}
	}
	return operation.Prediction{Changes: u.changes, Message: u.kind.sentenceOf(u.ID, u.changes)}
}

// After says that the row before it in the undo, a later one of the run, leaves what this one has left.
func (u *undo[I, R, P]) After(int) error {
	u.isBehind = true
	return nil
}

// restoring brings back what a row of a run deleted.
type restoring[I ~string, R any, P operation.Patch[R, P]] struct{ *undo[I, R, P] }

// Send restores the record as it was when the row deleted it, if it is still deleted, and by the row.
func (r *restoring[I, R, P]) Send(
	ctx context.Context, c *client.Client, key string,
) (o operation.Outcome, replayed bool, err error) {
	o, err = r.check(ctx, c)
	if err != nil || o.ID != "" {
		return o, false, err
	}
	version := r.made.ETagBefore
	_, etag, replayed, err := r.kind.Restore(c, ctx, r.ID, api.PropertyRestore{ETag: version}, version, key)
	switch {
	case client.IsUnsupported(err):
		err = r.cannot()
	case operation.IsVersionConflict(err):
		err = stays("%s was restored after the run, and another version was deleted. It stays deleted.",
			r.kind.Titled(r.ID))
	}
	return r.restored(etag), replayed, err
}

// check is the outcome if nothing is to be done, and otherwise an error if the record cannot be restored.
func (r *restoring[I, R, P]) check(ctx context.Context, c *client.Client) (o operation.Outcome, err error) {
	now := r.Read(ctx, c)
	switch {
	case r.made.ChangedNothing(), now.HasCurrent && client.SameVersion(now.Current.ETag, r.made.ETagBefore):
		o = r.nothing(now.Current.ETag)
		o.Action = operation.Restored
		return o, nil
	case now.HasCurrent:
		return o, r.kind.changedSince(ctx, c, now, r.made.ETagBefore, nil)
	case !client.IsNotFound(now.ReadErr):
		return o, now.ReadErr
	case r.made.ETagBefore != "":
		return o, nil
	}
	lacksHistory, err := r.lacksHistory(ctx, c)
	switch {
	case err != nil:
		return o, err
	case lacksHistory:
		return o, r.cannot()
	}
	return o, stays("It is unknown which version of %s this row deleted. To restore the last one: "+
		"perksctl %s restore %s", r.kind.Named(r.ID), r.kind.Name, r.ID)
}

func (r *restoring[I, R, P]) cannot() error {
	return stays("This service keeps no history of %s, so it cannot restore %s. Create it anew.", r.kind.All,
		r.kind.Named(r.ID))
}

func (r *restoring[I, R, P]) restored(etag string) operation.Outcome {
	return operation.Outcome{ID: r.made.ID, Status: http.StatusOK, Action: operation.Restored, ETag: etag}
}

// LookUp finds the record restored, whoever did that.
func (r *restoring[I, R, P]) LookUp(
	ctx context.Context, c *client.Client, since time.Time, _ func(string) bool,
) (operation.Outcome, operation.Event, error) {
	o, err := r.check(ctx, c)
	switch {
	case err != nil && !isRefusal(err):
		return operation.Outcome{}, operation.Unread, err
	case o.ID == "": // Send says what is wrong
		return operation.Outcome{}, operation.Absent, nil
	}
	versions, err := r.kind.Since(c, ctx, r.ID, since)
	if err != nil {
		return operation.Outcome{}, operation.Unread, err
	}
	for _, version := range versions {
		if version.Action == api.VersionRestored && !r.made.ChangedNothing() {
			return r.restored(o.ETag), operation.Found, nil
		}
	}
	return o, operation.Found, nil
}

// Predict tells whether the record would be restored.
func (r *restoring[I, R, P]) Predict(ctx context.Context, c *client.Client) operation.Prediction {
	o, err := r.check(ctx, c)
	if err != nil || o.ID != "" {
		return operation.Prediction{Err: err, Message: r.kind.Titled(r.ID) + " is there already."}
	}
	return operation.Prediction{Message: r.kind.Titled(r.ID) + " would be restored."}
}
