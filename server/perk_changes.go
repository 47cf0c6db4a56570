package server

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"example.com/perks/api"
	"example.com/perks/store"
)

// get responds with a perk: to a caller that may change it with all that can be changed, as PATCH compares it.
func (h perkHandlers) get(c echo.Context) error {
	q := api.ParseParameters(c.Request().URL.RawQuery)
	at := q.AsOf(h.config.Now())
	if err := q.Err(); err != nil {
		return err
	}
	ctx, id := c.Request().Context(), pathParameter(c, "perkId")
	mayChange := callerOf(c).Scopes.Has(api.ScopePerksWrite)
	switch {
	case !at.IsZero() && !mayChange:
		return api.Errorf(api.CodeForbidden,
			"Only clients with the scope %s may read what a perk was.", api.ScopePerksWrite)
	case !at.IsZero():
		sayAsOf(c, at)
		perk, err := withPerkID(id, func(id string) (api.PerkRecord, error) { return h.store.PerkAsOf(ctx, id, at) })
		return writeFound(c, perk, err)
	case mayChange:
		perk, err := withPerkID(id, func(id string) (api.PerkRecord, error) { return h.store.PerkRecord(ctx, id) })
		return writeFound(c, perk, err)
	}
	perk, err := withPerkID(id, func(id string) (api.Perk, error) { return h.store.Perk(ctx, id) })
	return writeFound(c, perk, err)
}

func writeFound(c echo.Context, record any, err error) error {
	if err != nil {
		return err
	}
	return writeCacheable(c, record)
}

func (h perkHandlers) create(c echo.Context) error {
	perk, err := parseBody(c, func(body []byte) (perk api.PerkRecord, err error) {
		members, err := api.ParseObject(body)
		if err != nil {
			return perk, err
		}
		return api.ParseNewPerk(members)
	})
	if err != nil {
		return err
	}
	creation := store.PerkCreation{Perk: perk, By: callerOf(c).By(),
		ClientID: callerOf(c).ClientID, At: h.now()}
	if creation.Key, err = idempotencyKey(c, fingerprint("perk", perk)); err != nil {
		return err
	}
	if perk.ID == "" {
		creation.Perk.ID = h.config.NewID()
	}
	created, err := h.store.CreatePerk(c.Request().Context(), creation)
	if err != nil {
		return err
	}
	address := h.address(c.Request())
	address.Path, address.RawPath, address.RawQuery = address.Path+"/"+created.ID, "", ""
	c.Response().Header().Set("Location", address.String())
	setReplayed(c, created.Replayed)
	return writeTagged(c, http.StatusCreated, created.PerkRecord)
}

// fingerprint returns the hash of a kind of request and what it asks for.
func fingerprint(request ...any) func() ([32]byte, error) {
	return func() (print [32]byte, err error) {
		canonical, err := api.EncodeJSON(request)
		return sha256.Sum256(canonical), err
	}
}

func (h perkHandlers) update(c echo.Context) error {
	perkID := pathParameter(c, "perkId")
	members, err := parseBody(c, api.ParseObject)
	if err != nil {
		return err
	}
	patch, invalid := api.ParsePerkPatchOf(perkID, members)
	header, name := c.Request().Header, fmt.Sprintf("Perk %q", perkID)
	var found lastTag
	change := func(perk *api.PerkRecord) error {
		if invalid != nil {
			return invalid
		}
		if err := checkIfMatch(header, *perk, name); err != nil {
			return err
		}
		if err := found.note(*perk); err != nil {
			return err
		}
		patch.Apply(perk)
		return perk.Validate()
	}
	left, err := withPerkID(perkID, func(id string) (api.PerkRecord, error) {
		return h.store.UpdatePerk(c.Request().Context(), id, callerOf(c).By(), h.now(), change)
	})
	if err != nil {
		return err
	}
	c.Response().Header().Set(api.HeaderPreviousETag, *found.Load())
	return writeTagged(c, http.StatusOK, left)
}

func (h perkHandlers) stock(c echo.Context) (api.PerkStock, error) {
	return withPerkID(pathParameter(c, "perkId"), func(id string) (api.PerkStock, error) {
		return h.store.PerkStock(c.Request().Context(), id)
	})
}

func (h perkHandlers) changeStock(c echo.Context) error {
	change, err := parseBody(c, api.ParseStockChange)
	if err != nil {
		return err
	}
	perkID := pathParameter(c, "perkId")
	restock := store.PerkRestock{Change: change, By: callerOf(c).By(),
		ClientID: callerOf(c).ClientID, At: h.now()}
	if restock.Key, err = idempotencyKey(c, fingerprint("stock", api.LowerUUID(perkID), change)); err != nil {
		return err
	}
	changed, err := withPerkID(perkID, func(id string) (store.ChangedStock, error) {
		restock.ID = id
		return h.store.ChangePerkStock(c.Request().Context(), restock)
	})
	if err != nil {
		return err
	}
	setReplayed(c, changed.Replayed)
	return writeJSON(c, http.StatusOK, echo.MIMEApplicationJSON, changed.PerkStock)
}

// listHistory lists the versions of a perk.
func (h perkHandlers) listHistory(c echo.Context) error {
	q := api.ParseParameters(c.Request().URL.RawQuery)
	query := store.PerkHistoryQuery{Window: windowOf(q), After: cursorOf(q, nil)}
	perkID := pathParameter(c, "perkId")
	return writeHistory(h.service, c, h.sandbox, q, query.Window, query.After,
		func(ctx context.Context) (store.List[store.PerkVersion], error) {
			return withPerkID(perkID, func(id string) (store.List[store.PerkVersion], error) {
				query.ID = id
				return h.store.PerkHistory(ctx, query)
			})
		}, versionOfPerk)
}

func versionOfPerk(found store.PerkVersion) (api.PerkVersion, error) {
	version, err := versionBy(found, found.After)
	if err == nil {
		err = version.SetPerkChange(found.Before, found.After)
	}
	return version, err
}
