package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"example.com/perks/api"
	"example.com/perks/store"
)

// perkHandlers are the perk endpoints of one store: live or sandbox.
type perkHandlers struct {
	*service
	store   store.Store
	sandbox bool
	feed    *eventFeed
	expiry  *expiry

	refusals *refusedLog
	hooks    *webhookSender
}

func (h perkHandlers) list(c echo.Context) error {
	q := api.ParseParameters(c.Request().URL.RawQuery)
	return h.writePerks(c, q, perkQuery(q, h.now()))
}

// writePerks responds with the matching perks.
func (h perkHandlers) writePerks(c echo.Context, q *api.Parameters, perks store.PerkQuery) error {
	availableTo := perks.AvailableTo
	read := func(ctx context.Context) (store.List[api.Perk], error) {
		return withUserID(h.service, availableTo, func(userID string, anyUser bool) (store.List[api.Perk], error) {
			perks.AvailableTo, perks.AnyUser = userID, anyUser
			return h.store.ListPerks(ctx, perks)
		})
	}
	return writeList(h.service, c, h.sandbox, q, perks.Window, perks.Sort, read)
}

func (h perkHandlers) categories(c echo.Context) ([]api.Category, error) {
	return h.store.Categories(c.Request().Context())
}

func (h perkHandlers) listForUser(c echo.Context) error {
	userID := pathParameter(c, "userId")
	if api.UserIDRule(userID) != "" {
		return store.UserNotFound(userID)
	}
	q := api.ParseParameters(c.Request().URL.RawQuery)
	if q.Choice("type", "available", "redeemed") == "redeemed" {
		return h.listRedeemed(c, q, userID)
	}
	perks := perkQuery(q, h.now())
	perks.AvailableTo = userID
	return h.writePerks(c, q, perks)
}

func (h perkHandlers) listUsers(c echo.Context) error {
	q := api.ParseParameters(c.Request().URL.RawQuery)
	query := userQuery(q)
	read := func(ctx context.Context) (store.List[store.User], error) { return h.store.ListUsers(ctx, query) }
	return writeList(h.service, c, h.sandbox, q, query.Window, nil, read)
}

func (h perkHandlers) listRedeemed(c echo.Context, q *api.Parameters, userID string) error {
	redemptions := redeemedQuery(q, userID)
	if err := q.Err(); err != nil {
		return err
	}
	repeatKey(c)
	type list = store.List[api.RedemptionRecord]
	records, err := readList(h.service, c, h.sandbox, redemptions.Sort, func(ctx context.Context) (list, error) {
		return withUserID(h.service, userID, func(userID string, anyUser bool) (list, error) {
			redemptions.UserID, redemptions.AnyUser = userID, anyUser
			return h.store.ListRedemptions(ctx, redemptions)
		})
	})
	if err != nil {
		return err
	}
	page := store.List[api.Redemption]{Items: []api.Redemption{}, Total: records.Total}
	for _, record := range records.Items {
		redemption := record.At(h.now()).Specified()
		if !mayRead(callerOf(c), record) {
			redemption.Metadata = json.RawMessage(`{}`)
		}
		page.Items = append(page.Items, redemption)
	}
	return writePage(h.service, c, page, redemptions.Window, afterNumber(redemptions.Window, page.Total))
}

// pathParameter returns a decoded path segment. Echo leaves it encoded if the path contains an encoded character that
// need not be. If it can't be decoded, it names no record.
func pathParameter(c echo.Context, name string) string {
	value := c.Param(name)
	if c.Request().URL.RawPath == "" {
		return value
	}
	if decoded, err := url.PathUnescape(value); err == nil {
		return decoded
	}
	return value
}

// UUIDs match in any case (RFC 9562, section 4), but are stored as they were imported. withPerkID and withUserID try
// another spelling only if the store has no such record, so most ids need one query. If no spelling exists, the error
// names the id as the caller wrote it.

// withPerkID calls the query with a perk's id as written, in lower case and in upper case. It doesn't query for an
// invalid id: no store has it, and PostgreSQL rejects some of its bytes.
func withPerkID[T any](id string, query func(id string) (T, error)) (result T, _ error) {
	if api.PerkIDRule(id) != "" {
		return result, store.PerkNotFound(id)
	}
	return tryEach(api.UUIDSpellings(id), func(err error) bool {
		return api.CodeOf(err) == api.CodeNotFound && !store.IsUserNotFound(err)
	}, query)
}

// withUserID tries lower case first, however the id is written: otherwise the same id imported in another spelling
// would be a second user, who could redeem everything again. With CreateUsers it creates an unknown user in lower case,
// so that simultaneous requests in different spellings create one user.
func withUserID[T any](s *service, id string, query func(id string, anyUser bool) (T, error)) (T, error) {
	spellings := api.UUIDSpellings(id)
	if len(spellings) == 1 {
		return query(id, s.config.CreateUsers)
	}
	slices.SortFunc(spellings, func(a, b string) int { return strings.Compare(b, a) }) // ASCII has lower case last
	result, err := tryEach(spellings, store.IsUserNotFound, func(id string) (T, error) { return query(id, false) })
	switch {
	case !store.IsUserNotFound(err):
		return result, err
	case s.config.CreateUsers:
		return query(api.LowerUUID(id), true)
	}
	return result, store.UserNotFound(id)
}

func tryEach[T any](
	spellings []string, isAbsent func(error) bool, query func(id string) (T, error),
) (result T, err error) {
	for i, id := range spellings {
		found, failure := query(id)
		if failure == nil || !isAbsent(failure) {
			return found, failure
		}
		if i == 0 {
			result, err = found, failure
		}
	}
	return result, err
}

const idempotencyHeader = "Idempotency-Key"

func (h perkHandlers) redeem(c echo.Context) error {
	h.redeeming.note()
	result, err := h.attempt(c)
	outcome := string(result.Redemption.Status)
	switch {
	case err != nil:
		outcome = string(responseTo(err).err.Code)
	case result.Replayed:
		outcome = "replayed"
		setReplayed(c, true)
	}
	h.metrics.redemptions.WithLabelValues(databaseLabel(h.sandbox), outcome).Inc()
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusCreated, echo.MIMEApplicationJSON, result.Redemption)
}

func (h perkHandlers) attempt(c echo.Context) (result store.RedeemResult, err error) {
	request, err := parseBody(c, api.ParseRedeemRequest)
	if err != nil {
		return result, err
	}
	perkID := pathParameter(c, "perkId")
	key, err := idempotencyKey(c, func() ([32]byte, error) { return fingerprintOf(perkID, request) })
	if err != nil {
		return result, err
	}
	attempt := store.RedeemAttempt{ID: h.config.NewID(), ClientID: callerOf(c).ClientID, Actor: callerOf(c).Actor,
		Metadata: request.Metadata, At: h.now(), Key: key,
		Searched: store.SearchedValues(h.config.SearchMetadata, request.Metadata)}
	result, err = withPerkID(perkID, func(id string) (store.RedeemResult, error) {
		attempt.PerkID = id
		return withUserID(h.service, request.UserID, func(id string, anyUser bool) (store.RedeemResult, error) {
			attempt.UserID, attempt.CreateUser = id, anyUser
			result, err := h.store.Redeem(c.Request().Context(), attempt)
			h.countRedemption(c, h.sandbox, attempt, err == nil && !result.Replayed)
			return result, err
		})
	})
	attempt.PerkID, attempt.UserID = perkID, request.UserID
	h.refusals.note(attempt, err)
	return result, err
}

// idempotencyKey returns the key of a request, or nil without one. The response repeats it, whatever the result: that
// tells the caller that keys are supported.
func idempotencyKey(c echo.Context, fingerprint func() ([32]byte, error)) (*store.IdempotencyKey, error) {
	values := c.Request().Header.Values(idempotencyHeader)
	switch {
	case len(values) == 0:
		return nil, nil
	case len(values) > 1:
		return nil, badHeader(idempotencyHeader, "is given more than once; send one key")
	case values[0] == "":
		return nil, badHeader(idempotencyHeader, "must not be empty; leave it out, or send a key")
	}
	if problem := api.IdempotencyKeyRule(values[0]); problem != "" {
		return nil, api.FieldErrorf(idempotencyHeader, "%s", problem)
	}
	print, err := fingerprint()
	if err == nil {
		c.Response().Header().Set(idempotencyHeader, values[0])
	}
	return &store.IdempotencyKey{Key: values[0], Fingerprint: print}, err
}

// setReplayed says whether an earlier request made the record.
func setReplayed(c echo.Context, isReplay bool) {
	if isReplay {
		c.Response().Header().Set("Idempotent-Replayed", "true")
	}
}

// repeatKey tells a client that lost a reply, and asks for a list under a key, that keys are supported.
func repeatKey(c echo.Context) {
	if key := c.Request().Header.Get(idempotencyHeader); key != "" && api.IdempotencyKeyRule(key) == "" {
		c.Response().Header().Set(idempotencyHeader, key)
	}
}

// badHeader responds with 400, not 422: the header was sent wrongly, whatever its value.
func badHeader(name, problem string) error {
	return &errorResponse{err: &api.Error{Code: api.CodeValidationFailed, Message: "The header " + name + " " +
		problem + ".", Fields: api.FieldErrors{name: {problem}}}, status: http.StatusBadRequest}
}

// fingerprintOf returns the same hash for requests that mean the same. The order of the metadata's members, the
// whitespace between them and the case of UUIDs make no difference; the digits of numbers do.
func fingerprintOf(perkID string, request api.RedeemRequest) ([32]byte, error) {
	var metadata any
	decoder := json.NewDecoder(bytes.NewReader(request.Metadata))
	decoder.UseNumber()
	if err := decoder.Decode(&metadata); err != nil {
		return [32]byte{}, fmt.Errorf("reading the metadata again: %w", err)
	}
	// sorts the members
	canonical, err := json.Marshal([]any{api.LowerUUID(perkID), api.LowerUUID(request.UserID), metadata})
	if err != nil {
		return [32]byte{}, fmt.Errorf("writing the fingerprint: %w", err)
	}
	return sha256.Sum256(canonical), nil
}
