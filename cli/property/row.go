package property

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/rows"
	"example.com/perks/cli/bulk"
	"example.com/perks/cli/session"
)

// target is the property that a row is about and, if the row says so, the version that is meant.
type target struct {
	id      int64
	ifMatch string // an ETag with its quotes
}

// The columns that guard a row: if_match is what people write, etag what property get exports.
const (
	ifMatchColumn = "if_match"
	etagColumn    = "etag"
)

// targetColumns are the columns that name a target. An empty cell of a guard counts: it fails its row, which must not be sent
// without the guard that its author meant.
func targetColumns() []bulk.Column {
	return []bulk.Column{
		{Name: "propertyId", Also: []string{"id", "property_id"}, Required: true},
		{Name: ifMatchColumn, Empty: true},
		{Name: etagColumn, Empty: true},
	}
}

func readTarget(values bulk.Row, problems api.FieldErrors) target {
	var t target
	id := values["propertyId"]
	if id.Int(&t.id) != "" || t.id <= 0 {
		problems.Add(id.Name, "must be a whole number above 0")
	}
	t.ifMatch = readGuard(values, problems)
	return t
}

// readGuard returns the ETag that the columns ask for, "" if there is no such column. Both may be there, and must agree.
func readGuard(values bulk.Row, problems api.FieldErrors) string {
	ifMatch, etag := readTag(values, ifMatchColumn, problems), readTag(values, etagColumn, problems)
	if ifMatch != "" && etag != "" && ifMatch != etag {
		problems.Add(ifMatchColumn, "differs from etag; leave one of them out")
	}
	return cmp.Or(ifMatch, etag)
}

func readTag(values bulk.Row, column string, problems api.FieldErrors) string {
	value, given := values[column]
	if !given {
		return ""
	}
	var tag string
	problem := value.Text(&tag)
	if problem == "" {
		problem = entityTagRule(tag)
	}
	if problem != "" {
		problems.Add(value.Name, "%s", problem)
		return ""
	}
	return entityTag(tag)
}

// entityTagRule returns what is wrong with an ETag that is to be matched, or "". An empty one is refused: whoever wrote it
// meant to guard the change.
func entityTagRule(tag string) string {
	switch {
	case tag == "":
		return "must not be empty; leave it out where any version will do"
	case strings.ContainsFunc(tag, func(r rune) bool { return r < ' ' || r > '~' }):
		return "must be printable ASCII"
	}
	return ""
}

// updateColumns are the columns of a file of changes. There is none to ignore: whoever edits the owner in an export is to
// learn that it cannot be changed.
func updateColumns() *bulk.KnownColumns {
	known := &bulk.KnownColumns{Columns: targetColumns()}
	for _, field := range api.PropertyPatchFields() {
		known.Columns = append(known.Columns, bulk.Column{Name: field})
	}
	return known
}

// parseUpdateRow reads a row as a patch. An empty cell leaves its field as it is. CSV has no null of its own: the text null
// clears lat and lng, and is a text like any other elsewhere.
func parseUpdateRow(known *bulk.KnownColumns, row rows.Row) (target, api.PropertyPatch, error) {
	values, err := known.Read(row)
	if err != nil {
		return target{}, api.PropertyPatch{}, err
	}
	problems := api.FieldErrors{}
	t := readTarget(values, problems)
	patch, err := api.ParsePropertyPatch(patchMembers(values))
	var invalid *api.Error
	if errors.As(err, &invalid) {
		maps.Copy(problems, invalid.Fields)
	}
	if err := problems.Err(); err != nil {
		return target{}, api.PropertyPatch{}, err
	}
	if patch.IsEmpty() {
		return target{}, api.PropertyPatch{}, api.Errorf(api.CodeValidationFailed,
			"Nothing to change: the row holds none of %s.", strings.Join(api.PropertyPatchFields(), ", "))
	}
	return t, patch, nil
}

func patchMembers(values bulk.Row) []api.Member {
	var members []api.Member
	for _, field := range api.PropertyPatchFields() {
		if value, given := values[field]; given {
			members = append(members, api.Member{Name: field, Value: value.Value})
		}
	}
	return members
}

// deleteColumns are the columns of a file of properties to delete. The fields of a property are passed over, because
// people delete from an export. No others are: an if_match that is misspelt would guard nothing.
func deleteColumns() *bulk.KnownColumns {
	return &bulk.KnownColumns{Columns: targetColumns(), Ignored: append(api.PropertyPatchFields(), "owner")}
}

func parseDeleteRow(known *bulk.KnownColumns, row rows.Row) (target, error) {
	values, err := known.Read(row)
	if err != nil {
		return target{}, err
	}
	problems := api.FieldErrors{}
	t := readTarget(values, problems)
	return t, problems.Err()
}

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

// Check compares the property with what the row wants of it.
func (t *updateTask) Check(ctx context.Context) (string, []session.Change, error) {
	before, err := t.check(ctx, t.connect)
	if err != nil {
		return "", nil, err
	}
	changes, err := changesOf(before, t.patch)
	return sentenceOf(t.id, changes), changes, err
}

// After says that a version that was changed is not there any more.
func (t *updateTask) After(line int) error {
	if t.ifMatch == "" || t.ifMatch == "*" {
		return nil
	}
	return api.Errorf(api.CodePreconditionFailed, "Line %d changes property %d first; it will not have the ETag %s then.", line, t.id, t.ifMatch)
}

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

// Check looks for the property.
func (t *deleteTask) Check(ctx context.Context) (string, []session.Change, error) {
	before, err := t.check(ctx, t.connect)
	return fmt.Sprintf("Property %d, %q, would be deleted.", t.id, before.Title), nil, err
}

// After says that what is gone cannot be deleted again.
func (t *deleteTask) After(line int) error {
	return api.Errorf(api.CodeNotFound, "Line %d deletes property %d already.", line, t.id)
}

// Subject is the property: rows about one are carried out in their order.
func (t target) Subject() string { return strconv.FormatInt(t.id, 10) }

func (t target) outcome(err error) (bulk.Outcome, error) {
	if err != nil {
		return bulk.Outcome{}, err
	}
	return bulk.Outcome{ID: t.Subject(), Status: http.StatusOK}, nil
}

// check reads the property, and makes sure that it has the version if the row names one.
func (t target) check(ctx context.Context, connect connector) (api.Property, error) {
	c, err := connect()
	if err != nil {
		return api.Property{}, err
	}
	property, current, err := c.Property(ctx, t.id)
	if err != nil {
		return api.Property{}, err
	}
	if t.ifMatch != "" && t.ifMatch != "*" && !strings.Contains(t.ifMatch, strings.TrimPrefix(current, "W/")) { // it can be a list
		return api.Property{}, api.Errorf(api.CodePreconditionFailed, "Property %d has changed: its ETag is %s, not %s.", t.id, current, t.ifMatch)
	}
	return property, nil
}

// changesOf returns what the patch would make of the property's fields.
func changesOf(before api.Property, patch api.PropertyPatch) ([]session.Change, error) {
	after := before
	patch.Apply(&after)
	old, err := members(before)
	if err != nil {
		return nil, err
	}
	edited, err := members(after)
	if err != nil {
		return nil, err
	}
	var changes []session.Change
	for _, field := range api.PropertyChanges(before, after).Fields() {
		changes = append(changes, session.Change{Field: field, From: old[field], To: edited[field]})
	}
	return changes, nil
}

func members(property api.Property) (map[string]json.RawMessage, error) {
	text, err := json.Marshal(property)
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	return members, json.Unmarshal(text, &members)
}

// sentenceOf tells the changes. Long values are cut: the data has them whole.
func sentenceOf(id int64, changes []session.Change) string {
	if len(changes) == 0 {
		return fmt.Sprintf("Property %d would stay as it is.", id)
	}
	texts := make([]string, len(changes))
	for i, c := range changes {
		texts[i] = fmt.Sprintf("%s from %s to %s", c.Field, shown(c.From), shown(c.To))
	}
	return fmt.Sprintf("Property %d would change: %s.", id, strings.Join(texts, "; "))
}

func shown(value json.RawMessage) string {
	return runewidth.Truncate(string(value), widestInMessage, "…")
}
