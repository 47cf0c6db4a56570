package server

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"

	"example.com/perks/api"
	"example.com/perks/store"
)

// mayRead tells whether the caller may read all of a redemption. Of others, users' lists show anybody what the
// specification does, without the metadata.
func mayRead(caller Caller, record api.RedemptionRecord) bool {
	return record.ClientID == caller.ClientID || caller.Scopes.Has(api.ScopeRedemptionsReadAll)
}

func (h perkHandlers) listRedemptions(c echo.Context) error {
	q := api.ParseParameters(c.Request().URL.RawQuery)
	query := redemptionQuery(q, callerOf(c), h.config.SearchMetadata)
	h.indexes[h.sandbox].tell(c, query.Metadata)
	perkIDs, userIDs := api.UUIDSpellings(query.PerkID), api.UUIDSpellings(query.UserID) // see withPerkID
	read := func(ctx context.Context) (list store.List[api.RedemptionRecord], err error) {
		for _, query.PerkID = range perkIDs {
			for _, query.UserID = range userIDs {
				if list, err = h.store.ListRedemptions(ctx, query); err != nil || list.Total > 0 {
					for i := range list.Items {
						list.Items[i] = list.Items[i].At(h.now())
					}
					return list, err
				}
			}
		}
		return list, err
	}
	return writeList(h.service, c, h.sandbox, q, query.Window, query.Sort, read)
}

func (h perkHandlers) getRedemption(c echo.Context) (api.RedemptionRecord, error) {
	id := pathParameter(c, "redemptionId")
	record, err := h.store.Redemption(c.Request().Context(), api.LowerUUID(id))
	if err == nil && !mayRead(callerOf(c), record) {
		err = store.RedemptionNotFound(id)
	}
	return record.At(h.now()), err
}

// decide approves, rejects or voids a redemption that the caller may read.
func (h perkHandlers) decide(status api.RedemptionStatus) echo.HandlerFunc {
	return func(c echo.Context) error {
		request, err := parseBody(c, func(body []byte) (api.DecisionRequest, error) {
			return api.ParseDecisionRequest(body, status != api.StatusApproved)
		})
		if err != nil {
			return err
		}
		id := pathParameter(c, "redemptionId")
		// The check may still run after the handler has returned and echo has reused its context.
		caller, header, at := callerOf(c), c.Request().Header, h.now()
		var isReplay atomic.Bool // as the last try found the redemption
		decision := store.Decision{Status: status, Reason: request.Reason, Check: func(
			record api.RedemptionRecord,
		) error {
			isReplay.Store(record.Status == status)
			switch {
			case !mayRead(caller, record):
				return store.RedemptionNotFound(id)
			case record.Status == status: // perhaps a retry, whose If-Match is of the redemption before the first try
				return nil
			}
			if h.config.FourEyes {
				if err := record.FourEyes(status, caller.ClientID, caller.Actor); err != nil {
					return err
				}
			}
			return checkIfMatch(header, record, "Redemption "+record.ID)
		}}
		decided, err := h.store.DecideRedemption(c.Request().Context(), api.LowerUUID(id), decision,
			caller.By(), at)
		if err != nil {
			return err
		}
		setReplayed(c, isReplay.Load())
		return writeTagged(c, http.StatusOK, decided)
	}
}

// eligibility says whether a user can redeem a perk now, by the rules of redeeming.
func (h perkHandlers) eligibility(c echo.Context) (answer api.Eligibility, err error) {
	q := api.ParseParameters(c.Request().URL.RawQuery)
	pair := api.Pair{PerkID: pathParameter(c, "perkId")}
	pair.UserID, _ = q.Given("user_id")
	if problem := api.UserIDRule(pair.UserID); problem != "" {
		q.Fields.Add("user_id", "%s", problem)
	}
	if err := q.Err(); err != nil {
		return answer, err
	}
	states, err := h.readEligibility(c.Request().Context(), pair)
	if err != nil {
		return answer, err
	}
	return h.answer(pair, states)
}

// eligibilities is eligibility for many pairs at once.
func (h perkHandlers) eligibilities(c echo.Context) error {
	pairs, err := parseBody(c, api.ParsePairs)
	if err != nil {
		return err
	}
	states, err := h.readEligibility(c.Request().Context(), pairs...)
	if err != nil {
		return err
	}
	response := api.EligibilityList{Data: make([]api.Eligibility, len(pairs))}
	for i, pair := range pairs {
		answer, err := h.answer(pair, states)
		if missing, isMissing := errors.AsType[*api.Error](err); isMissing {
			answer = api.Ineligible(pair, missing)
		}
		response.Data[i] = answer
	}
	return writeJSON(c, http.StatusOK, mediaJSON, response)
}

// readEligibility reads pairs in all spellings, see withPerkID.
func (h perkHandlers) readEligibility(ctx context.Context, pairs ...api.Pair) (map[api.Pair]store.Eligibility, error) {
	var spelled []api.Pair
	for _, pair := range pairs {
		if api.PerkIDRule(pair.PerkID) != "" {
			continue
		}
		for _, perkID := range api.UUIDSpellings(pair.PerkID) {
			for _, userID := range api.UUIDSpellings(pair.UserID) {
				spelled = append(spelled, api.Pair{PerkID: perkID, UserID: userID})
			}
		}
	}
	if len(spelled) == 0 {
		return nil, nil
	}
	return h.store.Eligibility(ctx, spelled)
}

// answer says whether the user of a pair can redeem its perk. The error is PerkNotFound.
func (h perkHandlers) answer(pair api.Pair, states map[api.Pair]store.Eligibility) (api.Eligibility, error) {
	asked := pair
	status, err := withPerkID(pair.PerkID, func(perkID string) (api.RedemptionStatus, error) {
		return withUserID(h.service, pair.UserID, func(userID string, anyUser bool) (api.RedemptionStatus, error) {
			asked = api.Pair{PerkID: perkID, UserID: userID}
			state, isKnown := states[asked]
			if !isKnown {
				return "", store.PerkNotFound(perkID)
			}
			return state.Status(), state.Refusal(store.RedeemAttempt{PerkID: perkID, UserID: userID,
				CreateUser: anyUser, At: h.now()})
		})
	})
	if refusal, isRefusal := store.RefusalOf(err); isRefusal {
		return api.Ineligible(asked, refusal), nil
	}
	return api.Eligibility{PerkID: asked.PerkID, UserID: asked.UserID, Eligible: true, Status: &status}, err
}

// Reports read many redemptions, so few run at once, of each client one, and each for a limited time. Together a
// report's waiting and reading are below requestTime.
const (
	maxReports = 2
	reportWait = 3 * time.Second
	reportTime = 10 * time.Second
)

var tooManyReports = api.Errorf(api.CodeUnavailable, "Other reports are running. Try again when they have ended.")

func (h perkHandlers) reportRedemptions(c echo.Context) (report api.Report, err error) {
	p := api.ParseParameters(c.Request().URL.RawQuery)
	meta, filter := p.ReportMeta(h.now())
	if err := p.Err(); err != nil {
		return report, err
	}
	query := store.ReportQuery{By: meta.By, Since: meta.Since, Until: meta.Until, Actor: filter.Actor,
		Within: reportTime, ClientID: clientToRead(callerOf(c), filter.Own)}
	ctx := c.Request().Context()
	end, err := h.beginReport(ctx, callerOf(c).ClientID)
	if err != nil {
		return report, err
	}
	defer end()
	return h.store.ReportRedemptions(ctx, query)
}

// beginReport waits until the client has no other report running, and others fewer than maxReports. end must be called
// after the report.
func (s *service) beginReport(ctx context.Context, clientID string) (end func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, reportWait, tooManyReports)
	defer cancel()
	if end, err = s.reports.enter(ctx, clientID); errors.Is(err, errLaneFull) {
		err = tooManyReports
	}
	return end, err
}
