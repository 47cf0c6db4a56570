package property

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/api/operation"
	"example.com/perks/api/rows"
	"example.com/perks/cli/bulk"
	"example.com/perks/cli/command"
)

// The columns that guard a row: people write if_match, and property get exports etag.
const (
	ifMatchColumn = "if_match"
	etagColumn    = "etag"
)

// targetColumns are the columns that name a property and its version. A row with an empty ETag fails: its author meant
// to guard it.
func targetColumns() []bulk.Column {
	return []bulk.Column{
		{Name: "propertyId", Aliases: []string{"id", "property_id"}, Required: true},
		{Name: ifMatchColumn, Empty: true},
		{Name: etagColumn, Empty: true},
	}
}

// readTarget reads which property a row is about and, if given, which version.
func readTarget(values bulk.Row, problems api.FieldErrors) operation.PropertySaving {
	e := operation.PropertySaving{Kind: operation.Properties}
	id := values["propertyId"]
	problem := id.PropertyID(&e.ID)
	if problem == "" {
		problem = api.AnyIDRule(string(e.ID))
	}
	if problem != "" {
		problems.Add(id.Name, "%s", problem)
	}
	e.ETag = readIfMatch(values, problems)
	return e
}

// readIfMatch returns the ETag that the columns ask for, with its quotes; "" if there is no such column. Both may be
// there, and must agree.
func readIfMatch(values bulk.Row, problems api.FieldErrors) string {
	tags := map[string]string{}
	for _, column := range []string{ifMatchColumn, etagColumn} {
		value, given := values[column]
		if !given {
			continue
		}
		var tag string
		problem := value.Text(&tag)
		if problem == "" {
			problem = command.EntityTagRule(tag)
		}
		if problem != "" {
			problems.Add(value.Name, "%s", problem)
			continue
		}
		tags[column] = command.EntityTag(tag)
	}
	if len(tags) == 2 && tags[ifMatchColumn] != tags[etagColumn] {
		problems.Add(ifMatchColumn, "differs from etag; leave one of them out")
	}
	return cmp.Or(tags[ifMatchColumn], tags[etagColumn])
}

// updateColumns are the columns of a file of changes. None is ignored: an edited owner in an export must fail, as it
// cannot be changed.
func updateColumns() *bulk.KnownColumns {
	known := &bulk.KnownColumns{Columns: targetColumns()}
	for _, field := range api.PropertyPatchFields() {
		known.Columns = append(known.Columns, bulk.Column{Name: field})
	}
	return known
}

// parseUpdateRow reads a row as a patch. An empty cell leaves its field as it is. CSV has no null, so the text null
// clears a number that can be empty.
func parseUpdateRow(known *bulk.KnownColumns, row rows.Row) (*task, error) {
	values, err := known.Read(row)
	if err != nil {
		return nil, err
	}
	var members []api.Member
	for _, field := range api.PropertyPatchFields() {
		if value, given := values[field]; given {
			members = append(members, api.Member{Name: field, Value: value.Value})
		}
	}
	problems := api.FieldErrors{}
	t := &task{PropertySaving: readTarget(values, problems), values: values}
	patch, err := api.ParsePropertyPatch(members)
	if invalid, is := errors.AsType[*api.Error](err); is {
		t.invalid = invalid.Fields
	}
	if len(problems) > 0 {
		maps.Copy(problems, t.invalid)
		return nil, problems.Err()
	}
	isInvalid := func(name string) bool { return t.invalid[name] != nil }
	t.Patch = patch.Only(slices.DeleteFunc(patch.Fields(), isInvalid)...)
	if t.Patch.IsEmpty() && t.invalid == nil {
		return nil, api.Errorf(api.CodeValidationFailed,
			"Nothing to change: the row has none of %s.", strings.Join(api.PropertyPatchFields(), ", "))
	}
	return t, nil
}

// deleteColumns are the columns of a file of properties to delete. They ignore the fields of an export, but no other
// column: a misspelt if_match would guard nothing.
func deleteColumns() *bulk.KnownColumns {
	return &bulk.KnownColumns{Columns: targetColumns(), Ignored: append(api.PropertyPatchFields(), "owner")}
}

func parseDeleteRow(known *bulk.KnownColumns, row rows.Row) (*task, error) {
	values, err := known.Read(row)
	if err != nil {
		return nil, err
	}
	problems := api.FieldErrors{}
	t := &task{PropertySaving: readTarget(values, problems)}
	t.Delete = true
	return t, problems.Err()
}

// task is the change that a row asks for.
type task struct {
	operation.PropertySaving
	values  bulk.Row
	invalid api.FieldErrors // of values, which may still be what the service wrote itself
}

// Subject is the property: rows that spell its id in two ways run one after the other too.
func (t *task) Subject() string { return t.ID.Subject() }

// Send needs no idempotency key: repeating an update or a deletion changes nothing.
func (t *task) Send(ctx context.Context, c *client.Client, _ string) (_ operation.Outcome, _ bool, err error) {
	if t.invalid != nil {
		err = t.checkInvalid(t.Read(ctx, c))
	}
	if err == nil && (t.Delete || !t.Patch.IsEmpty()) {
		err = t.Try(ctx, c).Err
	}
	if err != nil {
		return operation.Outcome{}, false, err
	}
	return t.outcome(), false, nil
}

// checkInvalid names the invalid values that the property does not have now. The others stay as they are, as in an
// export of a service that has other rules.
func (t *task) checkInvalid(now operation.PropertySaving) error {
	problems := maps.Clone(t.invalid)
	maps.DeleteFunc(problems, func(name string, _ []string) bool {
		return now.HasCurrent && now.Current.Record.Has(name, t.values[name].Value)
	})
	return cmp.Or(now.ReadErr, problems.Err())
}

// LookUp finds the property as the row wants it, or deleted, whoever did that.
func (t *task) LookUp(
	ctx context.Context, c *client.Client, _ time.Time, _ func(string) bool,
) (operation.Outcome, operation.Event, error) {
	now := t.Read(ctx, c)
	switch {
	case now.HasCurrent && t.checkInvalid(now) != nil: // Send says what is wrong
	case now.IsApplied():
		return t.outcome(), operation.Found, nil
	case now.ReadErr != nil:
		return operation.Outcome{}, operation.Unread, now.ReadErr
	}
	return operation.Outcome{}, operation.Absent, nil
}

func (t *task) outcome() operation.Outcome {
	return operation.Outcome{ID: string(t.ID), Status: http.StatusOK}
}

// Predict compares the property with what the row wants, and its version with the ETag of the row.
func (t *task) Predict(ctx context.Context, c *client.Client) (p operation.Prediction) {
	now := t.Read(ctx, c)
	if err := t.checkInvalid(now); err != nil {
		return operation.Prediction{Err: err}
	}
	before, etag := now.Current.Record, now.Current.ETag
	if t.isGuarded() && !strings.Contains(t.ETag, strings.TrimPrefix(etag, "W/")) { // which can be a list
		return operation.Prediction{Err: api.Errorf(api.CodePreconditionFailed,
			"Property %s has changed: its ETag is %s, not %s.", t.ID, etag, t.ETag)}
	}
	if t.Delete {
		return operation.Prediction{Message: fmt.Sprintf("Property %s, %q, would be deleted.", t.ID, before.Title)}
	}
	p.Changes, p.Err = changesOf(before, before.With(t.Patch))
	p.Message = sentenceOf(t.ID, p.Changes)
	return p
}

// After says that a deleted property cannot be deleted again, and that a change makes the ETag of a later row outdated.
func (t *task) After(line int) error {
	switch {
	case t.Delete:
		return api.Errorf(api.CodeNotFound, "Line %d already deletes property %s.", line, t.ID)
	case t.isGuarded():
		return api.Errorf(api.CodePreconditionFailed,
			"Line %d changes property %s first, so it will no longer have the ETag %s.", line, t.ID, t.ETag)
	}
	return nil
}

func (t *task) isGuarded() bool { return t.ETag != "" && t.ETag != "*" }

func changesOf(before, after api.Property) ([]operation.FieldChange, error) {
	changed := api.PropertyChanges(before, after)
	old, err := membersOf(api.PropertyChanges(after, before))
	edited, err2 := membersOf(changed)
	changes := []operation.FieldChange{}
	for _, field := range changed.Fields() {
		changes = append(changes, operation.FieldChange{Field: field, From: old[field], To: edited[field]})
	}
	return changes, errors.Join(err, err2)
}

func membersOf(patch api.PropertyPatch) (members map[string]json.RawMessage, err error) {
	text, err := api.EncodeJSON(patch)
	if err != nil {
		return nil, err
	}
	return members, json.Unmarshal(text, &members)
}

// sentenceOf describes the changes. It cuts long values, which the data has in full.
func sentenceOf(id api.PropertyID, changes []operation.FieldChange) string {
	if len(changes) == 0 {
		return fmt.Sprintf("Property %s would stay as it is.", id)
	}
	return fmt.Sprintf("Property %s would change: %s.", id, listed(changes))
}

// listed lists changes in one line. It cuts long values.
func listed(changes []operation.FieldChange) string {
	texts := make([]string, len(changes))
	for i, c := range changes {
		texts[i] = fmt.Sprintf("%s from %s to %s", c.Field, shown(c.From), shown(c.To))
	}
	return strings.Join(texts, "; ")
}

func shown(value json.RawMessage) string {
	return display.Cut(string(value), widestInMessage)
}
