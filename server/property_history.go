package server

import (
	"context"
	"crypto/sha256"
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
	c.Response().Header().Set(api.HeaderAsOf, at.Truncate(time.Millisecond).Format(time.RFC3339Nano))
	leave, err := s.enterLane(c, s.lists[false]) // it may read as much as a list
	if err != nil {
		return api.Property{}, err
	}
	defer leave()
	record, err := s.config.Live.PropertyAsOf(c.Request().Context(), id, at, ofOwner(c, id))
	return record.Property, err
}

// listPropertyHistory lists the versions of a listing.
func (s *service) listPropertyHistory(c echo.Context) error {
	id, err := propertyID(c)
	if err != nil {
		return err
	}
	q := api.ParseParameters(c.Request().URL.RawQuery)
	query := store.PropertyHistoryQuery{ID: id, Window: windowOf(q), After: cursorOf(q, nil), Check: ofOwner(c, id)}
	checkReach(q, query.Window, query.After, "versions", "")
	read := func(ctx context.Context) (list store.List[api.PropertyVersion], err error) {
		found, err := s.config.Live.PropertyHistory(ctx, query)
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
	return writeList(s, c, false, q, query.Window, nil, read)
}

var versionActions = map[string]string{
	store.ActionCreateProperty:  api.VersionCreated,
	store.ActionImportProperty:  api.VersionImported,
	store.ActionUpdateProperty:  api.VersionUpdated,
	store.ActionDeleteProperty:  api.VersionDeleted,
	store.ActionRestoreProperty: api.VersionRestored,
}

func versionOf(found store.PropertyVersion) (version api.PropertyVersion, err error) {
	version.At, version.Action = found.At, versionActions[found.Action]
	clientID, actor, _ := found.Actor.Client()
	version.ClientID, version.Actor = store.OrNull(clientID), store.OrNull(actor)
	var before, after *api.Property
	if found.Before != nil {
		before = &found.Before.Property
	}
	if found.After != nil {
		after = &found.After.Property
		tag, err := tagOf(*after)
		if err != nil {
			return version, err
		}
		version.ETag = &tag
	}
	return version, version.SetChange(before, after)
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
	if restoration.Key, err = idempotencyKey(c, func() (print [32]byte, err error) {
		canonical, err := api.EncodeJSON([]any{"restore", id, version})
		return sha256.Sum256(canonical), err
	}); err != nil {
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
