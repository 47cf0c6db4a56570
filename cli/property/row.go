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
	"sync"
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
	problems := api.FieldErrors{}
	t := &task{PropertySaving: readTarget(values, problems), values: values}
	patch, err := api.ParsePropertyPatch(fieldsOf(values))
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

// fieldsOf returns the fields of a property that a row has.
func fieldsOf(values bulk.Row) (members []api.Member) {
	for _, field := range api.PropertyPatchFields() {
		if value, given := values[field]; given {
			members = append(members, api.Member{Name: field, Value: value.Value})
		}
	}
	return members
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
	service *serviceOfRows  // nil outside a run

	before  *api.Property      // what the row changes; nil where the service's history tells
	left    *api.PropertyPatch // the values to change, where no ETag guards them; may be nil
	repeats bool               // an earlier request may have made the change, after since by this computer's clock
	since   time.Time
}

// serviceOfRows is what the rows of a run know of the service.
type serviceOfRows struct {
	mu             sync.Mutex
	isAsked        bool
	keepsNoHistory bool
}

// lacksHistory tells whether the service keeps no history of listings, so that the run has to note what each was. It
// asks once, about the listing of the first row.
func (s *serviceOfRows) lacksHistory(ctx context.Context, c *client.Client, id api.PropertyID) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isAsked {
		return s.keepsNoHistory, nil
	}
	_, err := c.PropertyHistory(ctx, id, client.ListOptions{PerPage: 1})
	s.keepsNoHistory = client.IsUnsupported(err)
	if s.isAsked = err == nil || isRefusal(err); s.isAsked { // such as of a listing of somebody else
		err = nil
	}
	return s.keepsNoHistory, err
}

// isRefusal tells whether the service has answered, and not with what any request would get now.
func isRefusal(err error) bool {
	refused, is := errors.AsType[*client.Error](err)
	return is && !refused.LoginNeeded() && !operation.IsFailing(err)
}

// Subject is the property: rows that spell its id in two ways run one after the other too.
func (t *task) Subject() string { return t.ID.Subject() }

// Send needs no idempotency key: repeating an update or a deletion changes nothing.
func (t *task) Send(ctx context.Context, c *client.Client, _ string) (_ operation.Outcome, _ bool, err error) {
	if t.invalid != nil {
		now := t.Read(ctx, c)
		if err = t.checkInvalid(now); err != nil {
			return operation.Outcome{}, false, err
		}
		if t.Patch.IsEmpty() {
			return t.nothing(now.Current.ETag), false, nil
		}
	}
	var done api.Message
	for tries := 1; ; tries++ {
		ifMatch, err := t.observe(ctx, c)
		if err != nil {
			return operation.Outcome{}, false, err
		}
		if t.Delete {
			done, err = c.DeleteProperty(ctx, t.ID, ifMatch)
		} else {
			done, err = c.UpdateProperty(ctx, t.ID, t.Patch, ifMatch)
		}
		hasRead := ifMatch != t.ETag // and the row may change any version
		if hasRead && operation.IsVersionConflict(err) && tries <= maxMerges {
			continue
		}
		if err != nil {
			return operation.Outcome{}, false, err
		}
		break
	}
	if o := t.outcome(done); !t.repeats || !isNothing(o) {
		return o, false, nil
	}
	o, err := t.found(ctx, c, done.ETag)
	return o, false, err
}

// observe reads the listing if the result has to say what it was, or if nothing but its values guards it. It returns
// the ETag that guards the change.
func (t *task) observe(ctx context.Context, c *client.Client) (ifMatch string, err error) {
	isNeeded := t.left != nil
	if !isNeeded && !t.Delete && t.service != nil {
		isNeeded, err = t.service.lacksHistory(ctx, c, t.ID)
	}
	if err != nil || !isNeeded {
		return t.ETag, err
	}
	now := t.Read(ctx, c)
	switch {
	case now.ReadErr != nil:
		return "", now.ReadErr
	case t.left != nil && !t.left.IsAppliedTo(now.Current.Record):
		return "", errChanged
	}
	if !t.repeats || !now.IsApplied() {
		t.before = &now.Current.Record
	}
	if client.IsWeak(now.Current.ETag) { // which some servers never take
		return t.ETag, nil
	}
	return cmp.Or(t.ETag, now.Current.ETag), nil
}

// errChanged says that the listing no longer has the values that a run left.
var errChanged error = &client.Error{Status: http.StatusPreconditionFailed, Code: api.CodePreconditionFailed,
	Message: "The property has changed since."}

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
	ctx context.Context, c *client.Client, since time.Time, _ func(string) bool,
) (operation.Outcome, operation.Event, error) {
	now := t.Read(ctx, c)
	t.repeats, t.since = true, since
	switch {
	case now.HasCurrent && t.checkInvalid(now) != nil: // Send says what is wrong
	case now.IsApplied():
		o, err := t.found(ctx, c, now.Current.ETag)
		if err != nil {
			return operation.Outcome{}, operation.Unread, err
		}
		return o, operation.Found, nil
	case now.ReadErr != nil:
		return operation.Outcome{}, operation.Unread, now.ReadErr
	}
	return operation.Outcome{}, operation.Absent, nil
}

func (t *task) outcome(done api.Message) operation.Outcome {
	o := operation.Outcome{ID: string(t.ID), Status: http.StatusOK, Action: operation.Updated,
		ETag: done.ETag, ETagBefore: done.ETagBefore}
	switch {
	case t.Delete:
		o.Action, o.ETag = operation.Deleted, ""
	case t.before != nil:
		var change api.PropertyVersion
		after := t.before.With(t.Patch)
		if change.SetChange(t.before, &after) == nil {
			o.Before, o.After = change.Before, change.After
		}
	case done.ETag == "":
		o.After, _ = api.EncodeJSON(t.Patch) // it was sent, so it can be encoded
	}
	return o
}

// nothing is the outcome of a row whose property is as the row wants it, by nobody's request of this run.
func (t *task) nothing(etag string) operation.Outcome {
	null := json.RawMessage("null")
	o := t.outcome(api.Message{ETag: etag, ETagBefore: etag})
	o.Before, o.After = null, null
	return o
}

func isNothing(o operation.Outcome) bool {
	return bulk.Result{ETag: o.ETag, ETagBefore: o.ETagBefore, Before: o.Before, After: o.After}.ChangedNothing()
}

// found is the outcome of a row that may have been sent, and whose property is as it wants it, with this ETag. The
// history tells whether a request of this run has made it so.
func (t *task) found(ctx context.Context, c *client.Client, etag string) (operation.Outcome, error) {
	versions, err := c.PropertyVersionsSince(ctx, t.ID, t.since)
	if isRefusal(err) {
		return t.outcome(api.Message{ETag: etag}), nil // what it was is known if this run has read it
	}
	if err != nil {
		return operation.Outcome{}, err
	}
	for i, version := range versions {
		if !t.hasMade(version) {
			continue
		}
		done := api.Message{}
		if version.ETag != nil {
			done.ETag = *version.ETag
		}
		if i+1 < len(versions) && versions[i+1].ETag != nil {
			done.ETagBefore = *versions[i+1].ETag
		}
		o := t.outcome(done)
		if o.ETagBefore == "" { // it is older than the history
			o.Before, o.After = version.Before, version.After
		}
		return o, nil
	}
	return t.nothing(etag), nil
}

// hasMade tells whether a version is what the change makes.
func (t *task) hasMade(version api.PropertyVersion) bool {
	if t.Delete {
		return version.Action == api.VersionDeleted
	}
	var made api.Property
	err := api.ReadProperty(version.After, &made)
	isOthers := func(field string) bool {
		wanted := api.Property{}.With(t.Patch)
		return !slices.Contains(t.Patch.Fields(), field) || !slices.Equal(made.Texts(field), wanted.Texts(field))
	}
	return err == nil && version.Action == api.VersionUpdated && len(version.Changed) > 0 &&
		!slices.ContainsFunc(version.Changed, isOthers)
}

// Predict compares the property with what the row wants, and its version with the ETag of the row.
func (t *task) Predict(ctx context.Context, c *client.Client) (p operation.Prediction) {
	now := t.Read(ctx, c)
	if err := t.checkInvalid(now); err != nil {
		return operation.Prediction{Err: err}
	}
	if err := checkGuard(now); err != nil {
		return operation.Prediction{Err: err}
	}
	before := now.Current.Record
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

func (t *task) isGuarded() bool { return isGuarded(t.PropertySaving) }

func isGuarded(e operation.PropertySaving) bool { return e.ETag != "" && e.ETag != "*" }

// checkGuard tells whether the property, as it was read, is the version that the change is for.
func checkGuard(e operation.PropertySaving) error {
	etag := e.Current.ETag
	if isGuarded(e) && !strings.Contains(e.ETag, strings.TrimPrefix(etag, "W/")) { // which can be a list
		return api.Errorf(api.CodePreconditionFailed, "Property %s has changed: its ETag is %s, not %s.", e.ID, etag,
			e.ETag)
	}
	return nil
}

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
	return fmt.Sprintf("Property %s would change: %s.", id, listed(changes, widestInMessage))
}

// listed lists changes in one line. It cuts values that are wider.
func listed(changes []operation.FieldChange, widest int) string {
	texts := make([]string, len(changes))
	for i, c := range changes {
		texts[i] = fmt.Sprintf("%s from %s to %s", c.Field, display.Cut(string(c.From), widest),
			display.Cut(string(c.To), widest))
	}
	return strings.Join(texts, "; ")
}

func shown(value json.RawMessage) string { return display.Cut(string(value), widestInMessage) }
