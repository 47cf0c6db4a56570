package operation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
)

// NewRestoration asks whether to restore a version of a record, which is as it is now. A deleted record has no id, and
// the ETag of the version before its deletion.
func (k *EditKind[I, R, P]) NewRestoration(
	id I, now client.Version[R], version R, to api.PropertyRestore, key string,
) *Edit[I, R, P] {
	e := &Edit[I, R, P]{Kind: k, ID: id, Base: now, Patch: k.Changes(now.Record, version), Key: key, state: Reviewing}
	if e.Restores = &to; k.Restore == nil {
		e.Restores, e.Undoes = nil, true
	}
	return e
}

// IsOfDeleted tells whether the edit restores a deleted record.
func (e *Edit[I, R, P]) IsOfDeleted() bool {
	return e.Restores != nil && e.Kind.IDOf(e.Base.Record) == ""
}

// NewSaved is an edit that was saved in another session, so that it can be undone. Of the record as it is now, before
// and after have the fields that the edit changed, and etag is that of the version that it left; "" if that is not
// known.
func (k *EditKind[I, R, P]) NewSaved(
	id I, now client.Version[R], before, after json.RawMessage, etag string,
) (*Edit[I, R, P], error) {
	left, err := k.overlay(now.Record, after)
	if err != nil {
		return nil, err
	}
	was, err := k.overlay(left, before)
	return &Edit[I, R, P]{
		Kind: k, ID: id, Base: client.Version[R]{Record: was}, Patch: k.Changes(was, left),
		state: Saved, after: client.Version[R]{Record: left, ETag: etag},
	}, err
}

// overlay returns a record with some of its members replaced, also by values that no edit could have typed.
func (k *EditKind[I, R, P]) overlay(record R, members json.RawMessage) (with R, err error) {
	whole, err := api.EncodeJSON(record)
	var all, some map[string]json.RawMessage
	if err == nil {
		err = json.Unmarshal(whole, &all)
	}
	if err == nil {
		err = json.Unmarshal(members, &some)
	}
	for name, value := range some {
		all[name] = value
	}
	if err == nil {
		whole, err = api.EncodeJSON(all)
	}
	if err == nil {
		err = k.Decode(whole, &with)
	}
	return with, err
}

// Kept is a saved edit as NewSaved needs it in another session: before and after.
func (e *Edit[I, R, P]) Kept() (before, after json.RawMessage) {
	before, _ = api.EncodeJSON(e.Reverse()) // values that came as JSON go as JSON
	after, _ = api.EncodeJSON(e.Patch)
	return before, after
}

// HistoryPage is how many changes are read at a time.
const HistoryPage = 50

// History reads one page of the versions of a record, the newest first.
func (k *EditKind[I, R, P]) History(
	ctx context.Context, c *client.Client, id I, options client.ListOptions,
) (page api.Page[api.PropertyVersion], err error) {
	for page, err = range k.Pages(c, ctx, id, options) {
		break
	}
	return page, err
}

// Deletion is the change that has deleted a record. The error is CodeNotFound if the last change is another one.
func (k *EditKind[I, R, P]) Deletion(ctx context.Context, c *client.Client, id I) (api.PropertyVersion, error) {
	page, err := k.History(ctx, c, id, client.ListOptions{Page: 1, PerPage: 1})
	switch {
	case err != nil:
		return api.PropertyVersion{}, err
	case len(page.Data) == 0 || page.Data[0].Action != api.VersionDeleted:
		return api.PropertyVersion{}, api.Errorf(api.CodeNotFound, "%s was not deleted.", k.Titled(id))
	}
	return page.Data[0], nil
}

// wireStep is the precision of times on the wire.
const wireStep = time.Millisecond

// ReadVersion reads the version that a change has left, or of a deletion the one before it. The ETag may be unknown.
func (k *EditKind[I, R, P]) ReadVersion(
	ctx context.Context, c *client.Client, id I, of api.PropertyVersion,
) (version client.Version[R], to api.PropertyRestore, err error) {
	if of.Action == api.VersionDeleted {
		if err = k.Decode(of.Before, &version.Record); err != nil {
			return version, to, err
		}
		at := of.At.Add(-wireStep)
		record, etag, err := k.AsOf(c, ctx, id, at)
		if err == nil && k.Changes(record, version.Record).IsEmpty() { // else it was changed just before
			version.ETag, to.ETag = etag, etag
		}
		return version, to, nil
	}
	version.Record, version.ETag, err = k.AsOf(c, ctx, id, of.At)
	if of.ETag != nil && err == nil && !client.SameVersion(version.ETag, *of.ETag) {
		err = fmt.Errorf("%s was changed again within a millisecond, so this version cannot be read", k.Named(id))
	}
	if to.ETag = version.ETag; to.ETag == "" {
		to.AsOf = of.At
	}
	return version, to, err
}

// ReadRestoration reads what it takes to restore the version that a change has left, or of a deletion the one before
// it: that version, and the record as it is now, which it returns too. That has no id if it is deleted.
func (k *EditKind[I, R, P]) ReadRestoration(
	ctx context.Context, c *client.Client, id I, of api.PropertyVersion, key string,
) (*Edit[I, R, P], client.Version[R], error) {
	now, err := k.Read(ctx, c, id)
	isDeleted := client.IsNotFound(err)
	if err != nil && !isDeleted {
		return nil, now, err
	}
	version, to, err := k.ReadVersion(ctx, c, id, of)
	if err != nil {
		return nil, now, err
	}
	if isDeleted {
		deletion, err := k.Deletion(ctx, c, id)
		if err != nil {
			return nil, now, err
		}
		last := version
		if !deletion.At.Equal(of.At) || of.Action != api.VersionDeleted {
			if last, _, err = k.ReadVersion(ctx, c, id, deletion); err != nil {
				return nil, now, err
			}
		}
		now.ETag = last.ETag
	}
	return k.NewRestoration(id, now, version.Record, to, key), now, nil
}

// ReadLastEdit reads what it takes to undo the last change that a client has made to a record: the edit to review,
// and the record as it is now. Where the service keeps no history, kept is that change; nil if it is not known. The
// error is CodeConflict if there is nothing to undo.
func (k *EditKind[I, R, P]) ReadLastEdit(
	ctx context.Context, c *client.Client, id I, clientID, key string, kept *api.PropertyVersion,
) (*Edit[I, R, P], client.Version[R], error) {
	page, err := k.History(ctx, c, id, client.ListOptions{Page: 1, PerPage: HistoryPage})
	nothing := func(format string, args ...any) (*Edit[I, R, P], client.Version[R], error) {
		return nil, client.Version[R]{}, api.Errorf(api.CodeConflict, format, args...)
	}
	var last api.PropertyVersion
	at := slices.IndexFunc(page.Data, func(v api.PropertyVersion) bool {
		return v.ClientID != nil && *v.ClientID == clientID
	})
	switch {
	case client.IsUnsupported(err) && kept != nil:
		last = *kept
	case client.IsUnsupported(err):
		return nothing("Nothing to undo: nothing was saved here yet, and the service keeps no history.")
	case err != nil:
		return nil, client.Version[R]{}, err
	case at < 0 && len(page.Data) == HistoryPage:
		return nothing("Nothing to undo: none of the last %d changes of %s is yours.", HistoryPage, k.Named(id))
	case at < 0:
		return nothing("Nothing to undo: no change of %s is yours.", k.Named(id))
	default:
		last = page.Data[at]
	}
	switch {
	case last.Action == api.VersionDeleted && at == 0:
		return k.ReadRestoration(ctx, c, id, last, key)
	case last.Action == api.VersionDeleted:
		return nothing("Nothing to undo: %s, which you deleted, was restored.", k.Named(id))
	case last.Action == api.VersionCreated || isNull(last.Before) || isNull(last.After):
		return nothing("Nothing to undo: your last change was that %s was %s.", k.Named(id), last.Action)
	}
	now, err := k.Read(ctx, c, id)
	if err != nil {
		return nil, now, err
	}
	etag := ""
	if last.ETag != nil {
		etag = *last.ETag
	}
	saved, err := k.NewSaved(id, now, last.Before, last.After, etag)
	if err != nil {
		return nil, now, err
	}
	if saved.Reverse().IsAppliedTo(now.Record) {
		return nothing("Nothing to undo: %s already has the values from before your last change.", k.Named(id))
	}
	return saved.Undo(now), now, nil
}

func isNull(value json.RawMessage) bool { return len(value) == 0 || string(value) == "null" }
