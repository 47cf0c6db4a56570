package server

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"example.com/perks/api"
	"example.com/perks/store"
)

const idempotencyHeader = "Idempotency-Key"

func (h perkHandlers) redeem(c echo.Context) error {
	result, err := h.attempt(c)
	if err != nil {
		h.metrics.redeemed(h.sandbox, string(answerTo(err).err.Code))
		return err
	}
	if result.Replayed {
		h.metrics.redeemed(h.sandbox, "replayed")
		c.Response().Header().Set("Idempotent-Replayed", "true")
	} else {
		h.metrics.redeemed(h.sandbox, string(result.Redemption.Status))
	}
	return writeJSON(c, http.StatusCreated, echo.MIMEApplicationJSON, result.Redemption)
}

// attempt reads the request and redeems.
func (h perkHandlers) attempt(c echo.Context) (result store.RedeemResult, err error) {
	body, _, err := readBody(c, maxBody, mediaJSON)
	if err != nil {
		return result, err
	}
	perkID := pathParameter(c, "perkId")
	request, err := api.ParseRedeemRequest(body)
	if err != nil {
		return result, err
	}
	key, err := idempotencyKey(c.Request().Header, perkID, request)
	if err != nil {
		return result, err
	}
	if key != nil {
		c.Response().Header().Set(idempotencyHeader, key.Key) // tells the caller that keys count, whatever the answer
	}
	if api.PerkIDRule(perkID) != "" {
		return result, store.PerkNotFound(perkID)
	}
	attempt := store.RedeemAttempt{
		ID:       h.config.NewID(),
		ClientID: callerOf(c).ClientID,
		Metadata: request.Metadata,
		At:       h.now(),
		Key:      key,
	}
	return ofPerk(perkID, func(id string) (store.RedeemResult, error) {
		attempt.PerkID = id
		return ofUser(h.service, request.UserID, func(id string, anyUser bool) (store.RedeemResult, error) {
			attempt.UserID, attempt.CreateUser = id, anyUser
			return h.store.Redeem(c.Request().Context(), attempt)
		})
	})
}

func idempotencyKey(header http.Header, perkID string, request api.RedeemRequest) (*store.IdempotencyKey, error) {
	values := header.Values(idempotencyHeader)
	switch {
	case len(values) == 0:
		return nil, nil
	case len(values) > 1:
		return nil, badHeader(idempotencyHeader, "is given more than once; send one key")
	case values[0] == "":
		return nil, badHeader(idempotencyHeader, "must not be empty; leave it out, or send a key")
	}
	key := values[0]
	if problem := api.IdempotencyKeyRule(key); problem != "" {
		fields := api.FieldErrors{}
		fields.Add(idempotencyHeader, "%s", problem)
		return nil, fields.Err()
	}
	fingerprint, err := fingerprintOf(perkID, request)
	if err != nil {
		return nil, err
	}
	return &store.IdempotencyKey{Key: key, Fingerprint: fingerprint}, nil
}

// badHeader is 400: what is wrong with the header is how it was sent, not the value.
func badHeader(name, problem string) error {
	fields := api.FieldErrors{}
	fields.Add(name, "%s", problem)
	return &answer{err: &api.Error{Code: api.CodeValidationFailed, Message: "The header " + name + " " + problem + ".", Fields: fields}, status: http.StatusBadRequest}
}

// fingerprintOf is equal for requests that mean the same: the order of the metadata's members and blanks between them do
// not count, nor does the case of a UUID; the digits of its numbers do.
func fingerprintOf(perkID string, request api.RedeemRequest) ([32]byte, error) {
	var metadata any
	decoder := json.NewDecoder(bytes.NewReader(request.Metadata))
	decoder.UseNumber()
	if err := decoder.Decode(&metadata); err != nil {
		return [32]byte{}, fmt.Errorf("reading the metadata again: %w", err)
	}
	canonical, err := json.Marshal([]any{api.LowerUUID(perkID), api.LowerUUID(request.UserID), metadata}) // sorts the members
	if err != nil {
		return [32]byte{}, fmt.Errorf("writing the fingerprint: %w", err)
	}
	return sha256.Sum256(canonical), nil
}
