package server

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"example.com/perks/api"
	"example.com/perks/store"
)

// ofOwner returns a check that the caller owns a listing, or owned it when it was deleted: nobody else learns what it
// was.
func ofOwner(c echo.Context, id int64) func(owner string) error {
	clientID := callerOf(c).ClientID
	return func(owner string) error {
		if owner != clientID {
			return api.Errorf(api.CodeForbidden,
				"Property %d belongs to another client, and only its owner may read its history.", id)
		}
		return nil
	}
}

func (s *service) getPropertyAsOf(c echo.Context, id int64, at time.Time) (api.Property, error) {
	sayAsOf(c, at)
	leave, err := s.enterLane(c, s.lists[false]) // it may read as much as a list
	if err != nil {
		return api.Property{}, err
	}
	defer leave()
	record, err := s.config.Live.PropertyAsOf(c.Request().Context(), id, at, ofOwner(c, id))
	return record.Property, err
}

func sayAsOf(c echo.Context, at time.Time) {
	c.Response().Header().Set(api.HeaderAsOf, at.Truncate(time.Millisecond).Format(time.RFC3339Nano))
}

// listPropertyHistory lists the versions of a listing.
func (s *service) listPropertyHistory(c echo.Context) error {
	id, err := propertyID(c)
	if err != nil {
		return err
	}
	q := api.ParseParameters(c.Request().URL.RawQuery)
	query := store.PropertyHistoryQuery{ID: id, Window: windowOf(q), After: cursorOf(q, nil), Check: ofOwner(c, id)}
	return writeHistory(s, c, false, q, query.Window, query.After,
		func(ctx context.Context) (store.List[store.PropertyVersion], error) {
			return s.config.Live.PropertyHistory(ctx, query)
		}, versionOfProperty)
}

// writeHistory responds with a page of the versions that find returns.
func writeHistory[R any](
	s *service, c echo.Context, sandbox bool, q *api.Parameters, window store.Window, after *store.Cursor,
	find func(context.Context) (store.List[store.Version[R]], error),
	versionOf func(store.Version[R]) (api.PropertyVersion, error),
) error {
	checkReach(q, window, after, "versions", "")
	read := func(ctx context.Context) (list store.List[api.PropertyVersion], err error) {
		found, err := find(ctx)
		if errors.Is(err, store.ErrNoCursor) {
			err = api.FieldErrorf("after", "%s", err)
		}
		if err != nil {
			return list, err
		}
		list = store.List[api.PropertyVersion]{Items: make([]api.PropertyVersion, len(found.Items)),
			Total: found.Total, IsMore: found.IsMore, Next: found.Next}
		for i, version := range found.Items {
			if list.Items[i], err = versionOf(version); err != nil {
				return list, err
			}
		}
		return list, nil
	}
	return writeList(s, c, sandbox, q, window, nil, read)
}

var versionActions = map[string]string{
	store.ActionCreateProperty:  api.VersionCreated,
	store.ActionImportProperty:  api.VersionImported,
	store.ActionUpdateProperty:  api.VersionUpdated,
	store.ActionDeleteProperty:  api.VersionDeleted,
	store.ActionRestoreProperty: api.VersionRestored,
	store.ActionCreatePerk:      api.VersionCreated,
	store.ActionUpdatePerk:      api.VersionUpdated,
	store.ActionChangePerkStock: api.VersionStock,
}

func versionOfProperty(found store.PropertyVersion) (api.PropertyVersion, error) {
	var before, after *api.Property
	if found.Before != nil {
		before = &found.Before.Property
	}
	if found.After != nil {
		after = &found.After.Property
	}
	version, err := versionBy(found, after)
	if err == nil {
		err = version.SetChange(before, after)
	}
	return version, err
}

// versionBy returns a version without what it changed. after is the record as GET would return it.
func versionBy[R, A any](found store.Version[R], after *A) (version api.PropertyVersion, err error) {
	version.At, version.Action = found.At, versionActions[found.Action]
	clientID, actor, _ := found.Actor.Client()
	version.ClientID, version.Actor = store.OrNull(clientID), store.OrNull(actor)
	if after != nil {
		tag, err := tagOf(*after)
		if err != nil {
			return version, err
		}
		version.ETag = &tag
	}
	return version, nil
}

// restoreProperty takes a listing of the caller back to a version.
func (s *service) restoreProperty(c echo.Context) error {
	id, err := propertyID(c)
	if err != nil {
		return err
	}
	version, invalid := parseBody(c, func(body []byte) (api.PropertyRestore, error) {
		return api.ParsePropertyRestore(body, s.config.Now())
	})
	if invalid != nil && api.CodeOf(invalid) != api.CodeValidationFailed {
		return invalid
	}
	clientID := callerOf(c).ClientID
	restoration := store.PropertyRestoration{ID: id, By: callerOf(c).By(), At: s.now(), AsOf: version.AsOf,
		Check: mayChange(c, invalid), ClientID: clientID}
	if version.ETag != "" {
		restoration.Is = func(p api.Property) bool {
			tag, err := tagOf(p)
			_, isNamed := listedTag([]string{version.ETag}, tag)
			return err == nil && isNamed
		}
	}
	if restoration.Key, err = idempotencyKey(c, fingerprint("restore", id, version)); err != nil {
		return err
	}
	if restoration.Is != nil || !restoration.AsOf.IsZero() { // to find the version may read as much as a list
		leave, err := s.enterLane(c, s.lists[false])
		if err != nil {
			return err
		}
		defer leave()
	}
	restored, err := s.config.Live.RestoreProperty(c.Request().Context(), restoration)
	if err != nil {
		return err
	}
	setReplayed(c, restored.Replayed)
	return writeTagged(c, http.StatusOK, restored.Property)
}
