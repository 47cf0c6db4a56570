package server

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"

	"github.com/labstack/echo/v4"

	"example.com/perks/api"
	"example.com/perks/store"
)

func (s *service) getProperty(c echo.Context) (property api.Property, err error) {
	id, err := propertyID(c)
	if err != nil {
		return property, err
	}
	if query := c.Request().URL.RawQuery; query != "" {
		q := api.ParseParameters(query)
		at := q.AsOf(s.config.Now())
		if err := q.Err(); err != nil {
			return property, err
		}
		if !at.IsZero() {
			return s.getPropertyAsOf(c, id, at)
		}
	}
	record, err := s.config.Live.Property(c.Request().Context(), id)
	return record.Property, err
}

func (s *service) listProperties(c echo.Context) error {
	q := api.ParseParameters(c.Request().URL.RawQuery)
	query := propertyQuery(q, callerOf(c))
	repeatKey(c)
	read := func(ctx context.Context) (store.List[api.Property], error) {
		return s.config.Live.ListProperties(ctx, query)
	}
	return writeList(s, c, false, q, query.Window, query.Sort, read)
}

// createProperty creates a listing of the caller.
func (s *service) createProperty(c echo.Context) error {
	members, err := propertyMembers(c)
	if err != nil {
		return err
	}
	property, err := api.ParseNewProperty(members)
	if err != nil {
		return err
	}
	creation := store.PropertyCreation{Property: property, Owner: callerOf(c).ClientID, Actor: callerOf(c).Actor,
		At: s.now()}
	if creation.Key, err = idempotencyKey(c, fingerprint("property", property)); err != nil {
		return err
	}
	created, err := s.config.Live.CreateProperty(c.Request().Context(), creation)
	if err != nil {
		return err
	}
	address := s.address(c.Request())
	address.Path, address.RawPath, address.RawQuery = fmt.Sprintf("%s/get-property/%d", apiPath, created.Property.ID),
		"", ""
	c.Response().Header().Set("Location", address.String())
	setReplayed(c, created.Replayed)
	return writeTagged(c, http.StatusCreated, created.Property)
}

// propertyMembers reads the fields of a listing, from JSON or a form.
func propertyMembers(c echo.Context) ([]api.Member, error) {
	body, mediaType, err := readBody(c, maxBody, mediaJSON, mediaForm)
	if err != nil {
		return nil, err
	}
	if mediaType == mediaForm && len(body) == 0 { // more likely lost than meant, like an empty JSON body
		return nil, api.Errorf(api.CodeInvalidJSON, "The body is empty. Send the fields of the property.")
	}
	return readMembers(body, mediaType,
		func(form url.Values) []api.Member { return api.FormListMembers(form, "images") })
}

func (s *service) updateProperty(c echo.Context) error {
	id, err := propertyID(c)
	if err != nil {
		return err
	}
	members, err := propertyMembers(c)
	if err != nil {
		return err
	}
	patch, invalid := api.ParsePropertyPatchOf(id, members)
	check := mayChange(c, invalid)
	var found, left lastTag
	err = s.config.Live.UpdateProperty(c.Request().Context(), id, callerOf(c).By(), s.now(),
		func(record *store.PropertyRecord) error {
			err := check(*record)
			if err == nil {
				err = found.note(record.Property)
			}
			if err != nil {
				return err
			}
			patch.Apply(&record.Property)
			return left.note(record.Property)
		})
	if err != nil {
		return err
	}
	c.Response().Header().Set(api.HeaderPreviousETag, *found.Load())
	c.Response().Header().Set("ETag", *left.Load())
	return writeJSON(c, http.StatusOK, echo.MIMEApplicationJSON, api.Message{Message: api.MessagePropertyUpdated})
}

func (s *service) deleteProperty(c echo.Context) error {
	id, err := propertyID(c)
	if err != nil {
		return err
	}
	check := mayChange(c, nil)
	var found lastTag
	err = s.config.Live.DeleteProperty(c.Request().Context(), id, callerOf(c).By(), s.now(),
		func(record store.PropertyRecord) error {
			if err := check(record); err != nil {
				return err
			}
			return found.note(record.Property)
		})
	if err != nil {
		return err
	}
	c.Response().Header().Set(api.HeaderPreviousETag, *found.Load())
	return writeJSON(c, http.StatusOK, echo.MIMEApplicationJSON, api.Message{Message: api.MessagePropertyDeleted})
}

// lastTag is the ETag of a record as the last try of a change has met it, or left it. A try may still run after the
// handler has returned.
type lastTag struct{ atomic.Pointer[string] }

func (l *lastTag) note(record any) error {
	tag, err := tagOf(record)
	l.Store(&tag)
	return err
}

// mayChange returns a check that the caller owns a listing, then that what it asks for is valid, then If-Match (RFC
// 9110, section 13.2.2), for a store that lets nobody else write the record meanwhile. The check may still run after
// the handler has returned and echo has reused its context.
func mayChange(c echo.Context, invalid error) func(store.PropertyRecord) error {
	clientID, header := callerOf(c).ClientID, c.Request().Header
	return func(record store.PropertyRecord) error {
		switch {
		case record.Owner != clientID:
			return api.Errorf(api.CodeForbidden,
				"Property %d belongs to another client, and only its owner may change it.", record.ID)
		case invalid != nil:
			return invalid
		}
		return checkIfMatch(header, record.Property, fmt.Sprintf("Property %d", record.ID))
	}
}

// propertyID returns the id in the path. An invalid one is not found.
func propertyID(c echo.Context) (int64, error) {
	text := pathParameter(c, "propertyId")
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id <= 0 {
		return 0, api.Errorf(api.CodeNotFound, "There is no property %q.", text)
	}
	return id, nil
}

// tagOf returns the ETag that GET would return for the record.
func tagOf(record any) (string, error) {
	representation, err := encode(record)
	return entityTag(representation), err
}

// checkIfMatch compares If-Match with the ETag that GET would return now.
func checkIfMatch(header http.Header, current any, what string) error {
	wanted := header.Values("If-Match")
	if len(wanted) == 0 {
		return nil
	}
	tag, err := tagOf(current)
	if err != nil {
		return err
	}
	if _, isCurrent := listedTag(wanted, tag); !isCurrent {
		return api.Errorf(api.CodePreconditionFailed,
			"%s has changed since you read it. Read it again before you change it.", what)
	}
	return nil
}
