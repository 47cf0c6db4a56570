package record

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

// The columns that guard a row: people write if_match, and get exports etag.
const (
	ifMatchColumn = "if_match"
	etagColumn    = "etag"
)

// targetColumns are the columns that name a record and its version. A row with an empty ETag fails: its author meant
// to guard it.
func (k *Kind[I, R, P]) targetColumns() []bulk.Column {
	return []bulk.Column{
		k.IDColumn,
		{Name: ifMatchColumn, Empty: true},
		{Name: etagColumn, Empty: true},
	}
}

// readTarget reads which record a row is about and, if given, which version.
func (k *Kind[I, R, P]) readTarget(values bulk.Row, problems api.FieldErrors) operation.Saving[I, R, P] {
	e := k.saving("")
	id := values[k.IDColumn.Name]
	problem := k.ReadID(id.Value, &e.ID)
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

// updateColumns are the columns of a file of changes. Of properties none is ignored: an edited owner in an export must
// fail, as it cannot be changed.
func (k *Kind[I, R, P]) updateColumns() *bulk.KnownColumns {
	known := &bulk.KnownColumns{Columns: k.targetColumns(), Ignored: k.Ignored}
	for _, field := range k.names() {
		known.Columns = append(known.Columns, bulk.Column{Name: field})
	}
	return known
}

// parseUpdateRow reads a row as a patch. An empty cell leaves its field as it is. CSV has no null, so the text null
// clears a field that can be empty.
func (k *Kind[I, R, P]) parseUpdateRow(known *bulk.KnownColumns, row rows.Row) (*task[I, R, P], error) {
	values, err := known.Read(row)
	if err != nil {
		return nil, err
	}
	problems := api.FieldErrors{}
	t := k.newTask(k.readTarget(values, problems))
	t.values = values
	patch, err := k.Parse(fieldsOf(values, k.names()))
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
			"Nothing to change: the row has none of %s.", strings.Join(k.names(), ", "))
	}
	return &t, nil
}

// fieldsOf returns the fields of a record that a row has.
func fieldsOf(values bulk.Row, names []string) (members []api.Member) {
	for _, field := range names {
		if value, given := values[field]; given {
			members = append(members, api.Member{Name: field, Value: value.Value})
		}
	}
	return members
}

// deleteColumns are the columns of a file of records to delete. They ignore the fields of an export, but no other
// column: a misspelt if_match would guard nothing.
func (k *Kind[I, R, P]) deleteColumns() *bulk.KnownColumns {
	return &bulk.KnownColumns{Columns: k.targetColumns(), Ignored: append(k.names(), k.Exported...)}
}

func (k *Kind[I, R, P]) parseDeleteRow(known *bulk.KnownColumns, row rows.Row) (*task[I, R, P], error) {
	values, err := known.Read(row)
	if err != nil {
		return nil, err
	}
	problems := api.FieldErrors{}
	t := k.newTask(k.readTarget(values, problems))
	t.Delete = true
	return &t, problems.Err()
}

// task is the change that a row asks for.
type task[I ~string, R any, P operation.Patch[R, P]] struct {
	operation.Saving[I, R, P]
	kind    *Kind[I, R, P]
	values  bulk.Row
	invalid api.FieldErrors // of values, which may still be what the service wrote itself
	service *serviceOfRows  // nil outside a run

	before  *R   // what the row changes; nil where the service's history tells
	left    *P   // the values to change, where no ETag guards them; may be nil
	repeats bool // an earlier request may have made the change, after since by this computer's clock
	since   time.Time
}

func (k *Kind[I, R, P]) newTask(saving operation.Saving[I, R, P]) task[I, R, P] {
	return task[I, R, P]{Saving: saving, kind: k}
}

// serviceOfRows is what the rows of a run know of the service.
type serviceOfRows struct {
	mu             sync.Mutex
	isAsked        bool
	keepsNoHistory bool
}

// lacksHistory tells whether the service keeps no history of records, so that the run has to note what each was. It
// asks once, about the record of the first row.
func (t *task[I, R, P]) lacksHistory(ctx context.Context, c *client.Client) (bool, error) {
	s := t.service
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isAsked {
		return s.keepsNoHistory, nil
	}
	_, err := t.kind.History(ctx, c, t.ID, client.ListOptions{PerPage: 1})
	s.keepsNoHistory = client.IsUnsupported(err)
	if s.isAsked = err == nil || isRefusal(err); s.isAsked { // such as of a record of somebody else
		err = nil
	}
	return s.keepsNoHistory, err
}

// isRefusal tells whether the service has answered, and not with what any request would get now.
func isRefusal(err error) bool {
	refused, is := errors.AsType[*client.Error](err)
	return is && !refused.LoginNeeded() && !operation.IsFailing(err)
}

// Subject is the record: rows that spell its id in two ways run one after the other too.
func (t *task[I, R, P]) Subject() string { return t.kind.Subject(t.ID) }

// Send needs no idempotency key: repeating an update or a deletion changes nothing.
func (t *task[I, R, P]) Send(ctx context.Context, c *client.Client, _ string) (_ operation.Outcome, _ bool, err error) {
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
			done, err = t.kind.Delete(c, ctx, t.ID, ifMatch)
		} else {
			done, err = t.kind.Update(c, ctx, t.ID, t.Patch, ifMatch)
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

// observe reads the record if the result has to say what it was, or if nothing but its values guards it. It returns
// the ETag that guards the change.
func (t *task[I, R, P]) observe(ctx context.Context, c *client.Client) (ifMatch string, err error) {
	isNeeded := t.left != nil
	if !isNeeded && !t.Delete && t.service != nil {
		isNeeded, err = t.lacksHistory(ctx, c)
	}
	if err != nil || !isNeeded {
		return t.ETag, err
	}
	now := t.Read(ctx, c)
	switch {
	case now.ReadErr != nil:
		return "", now.ReadErr
	case t.left != nil && !(*t.left).IsAppliedTo(now.Current.Record):
		return "", &client.Error{Status: http.StatusPreconditionFailed, Code: api.CodePreconditionFailed,
			Message: "The " + t.kind.Name + " has changed since."}
	}
	if !t.repeats || !now.IsApplied() {
		t.before = &now.Current.Record
	}
	if client.IsWeak(now.Current.ETag) { // which some servers never take
		return t.ETag, nil
	}
	return cmp.Or(t.ETag, now.Current.ETag), nil
}

// checkInvalid names the invalid values that the record does not have now. The others stay as they are, as in an
// export of a service that has other rules.
func (t *task[I, R, P]) checkInvalid(now operation.Saving[I, R, P]) error {
	problems := maps.Clone(t.invalid)
	maps.DeleteFunc(problems, func(name string, _ []string) bool {
		return now.HasCurrent && t.kind.Has != nil && t.kind.Has(now.Current.Record, name, t.values[name].Value)
	})
	return cmp.Or(now.ReadErr, problems.Err())
}

// LookUp finds the record as the row wants it, or deleted, whoever did that.
func (t *task[I, R, P]) LookUp(
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

func (t *task[I, R, P]) outcome(done api.Message) operation.Outcome {
	o := operation.Outcome{ID: string(t.ID), Kind: t.kind.InResults, Status: http.StatusOK, Action: operation.Updated,
		ETag: done.ETag, ETagBefore: done.ETagBefore}
	switch {
	case t.Delete:
		o.Action, o.ETag = operation.Deleted, ""
	case t.before != nil:
		var change api.PropertyVersion
		after := with(*t.before, t.Patch)
		if t.kind.SetChange(&change, t.before, &after) == nil {
			o.Before, o.After = change.Before, change.After
		}
	case done.ETag == "":
		o.After, _ = api.EncodeJSON(t.Patch) // it was sent, so it can be encoded
	}
	return o
}

// nothing is the outcome of a row whose record is as the row wants it, by nobody's request of this run.
func (t *task[I, R, P]) nothing(etag string) operation.Outcome {
	null := json.RawMessage("null")
	o := t.outcome(api.Message{ETag: etag, ETagBefore: etag})
	o.Before, o.After = null, null
	return o
}

func isNothing(o operation.Outcome) bool {
	return bulk.Result{ETag: o.ETag, ETagBefore: o.ETagBefore, Before: o.Before, After: o.After}.ChangedNothing()
}

// found is the outcome of a row that may have been sent, and whose record is as it wants it, with this ETag. The
// history tells whether a request of this run has made it so.
func (t *task[I, R, P]) found(ctx context.Context, c *client.Client, etag string) (operation.Outcome, error) {
	versions, err := t.kind.Since(c, ctx, t.ID, t.since)
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
func (t *task[I, R, P]) hasMade(version api.PropertyVersion) bool {
	if t.Delete {
		return version.Action == api.VersionDeleted
	}
	var made, none R
	err := t.kind.Decode(version.After, &made)
	isOthers := func(field string) bool {
		wanted := with(none, t.Patch)
		return !slices.Contains(t.Patch.Fields(), field) ||
			!slices.Equal(t.kind.Texts(made, field), t.kind.Texts(wanted, field))
	}
	return err == nil && version.Action == api.VersionUpdated && len(version.Changed) > 0 &&
		!slices.ContainsFunc(version.Changed, isOthers)
}

// Predict says what an update or a deletion would come to.
func (k *Kind[I, R, P]) Predict(
	ctx context.Context, c *client.Client, saving operation.Saving[I, R, P],
) operation.Prediction {
	t := k.newTask(saving)
	return t.Predict(ctx, c)
}

// Predict compares the record with what the row wants, and its version with the ETag of the row.
func (t *task[I, R, P]) Predict(ctx context.Context, c *client.Client) (p operation.Prediction) {
	now := t.Read(ctx, c)
	if err := t.checkInvalid(now); err != nil {
		return operation.Prediction{Err: err}
	}
	if err := t.kind.checkGuard(now); err != nil {
		return operation.Prediction{Err: err}
	}
	before := now.Current.Record
	if t.Delete {
		return operation.Prediction{Message: t.kind.deletes(t.ID, before)}
	}
	after := with(before, t.Patch)
	p.Changes, p.Err = t.kind.changesOf(before, after)
	p.Err = t.kind.checked(after, p.Err)
	p.Message = t.kind.sentenceOf(t.ID, p.Changes)
	return p
}

// After says that a deleted record cannot be deleted again, and that a change makes the ETag of a later row outdated.
func (t *task[I, R, P]) After(line int) error {
	switch {
	case t.Delete:
		return api.Errorf(api.CodeNotFound, "Line %d already deletes %s.", line, t.kind.Named(t.ID))
	case t.isGuarded():
		return api.Errorf(api.CodePreconditionFailed,
			"Line %d changes %s first, so it will no longer have the ETag %s.", line, t.kind.Named(t.ID), t.ETag)
	}
	return nil
}

func (t *task[I, R, P]) isGuarded() bool { return isGuarded(t.ETag) }

func isGuarded(etag string) bool { return etag != "" && etag != "*" }

// checkGuard tells whether the record, as it was read, is the version that the change is for.
func (k *Kind[I, R, P]) checkGuard(e operation.Saving[I, R, P]) error {
	etag := e.Current.ETag
	if isGuarded(e.ETag) && !strings.Contains(e.ETag, strings.TrimPrefix(etag, "W/")) { // which can be a list
		return api.Errorf(api.CodePreconditionFailed, "%s has changed: its ETag is %s, not %s.", k.Titled(e.ID), etag,
			e.ETag)
	}
	return nil
}

func (k *Kind[I, R, P]) changesOf(before, after R) ([]operation.FieldChange, error) {
	changed := k.Changes(before, after)
	old, err := membersOf(k.Changes(after, before))
	edited, err2 := membersOf(changed)
	changes := []operation.FieldChange{}
	for _, field := range changed.Fields() {
		changes = append(changes, operation.FieldChange{Field: field, From: old[field], To: edited[field]})
	}
	return changes, errors.Join(err, err2)
}

func membersOf(patch any) (members map[string]json.RawMessage, err error) {
	text, err := api.EncodeJSON(patch)
	if err != nil {
		return nil, err
	}
	return members, json.Unmarshal(text, &members)
}

// sentenceOf describes the changes. It cuts long values, which the data has in full.
func (k *Kind[I, R, P]) sentenceOf(id I, changes []operation.FieldChange) string {
	if len(changes) == 0 {
		return k.Titled(id) + " would stay as it is."
	}
	return fmt.Sprintf("%s would change: %s.", k.Titled(id), listed(changes, widestInMessage))
}

func (k *Kind[I, R, P]) deletes(id I, record R) string {
	return fmt.Sprintf("%s, %q, would be deleted.", k.Titled(id), k.title(record))
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
