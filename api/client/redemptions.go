package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"example.com/perks/api"
)

// Redemptions returns one page of the matching redemptions.
func (c *Client) Redemptions(
	ctx context.Context, filter api.RedemptionFilter, options ListOptions,
) (api.Page[api.RedemptionRecord], error) {
	return onePage(c.RedemptionPages(ctx, filter, options))
}

// RedemptionPages returns the pages of matching redemptions, from options.Page on.
func (c *Client) RedemptionPages(
	ctx context.Context, filter api.RedemptionFilter, options ListOptions,
) Pages[api.RedemptionRecord] {
	call, err := c.listCall(c.redemptionsPath(), filter.Values(), options)
	return orUnsupported(ListOfRedemptions, walk[api.RedemptionRecord](ctx, c, call, err))
}

// RefusedPages returns the pages of refused redemptions, from options.Page on.
func (c *Client) RefusedPages(
	ctx context.Context, filter api.RefusedFilter, options ListOptions,
) Pages[api.RefusedRedemption] {
	call, err := c.listCall(c.redemptionsPath()+"/refused", filter.Values(), options)
	return orUnsupported("list of refused redemptions", walk[api.RefusedRedemption](ctx, c, call, err))
}

// Redemption returns a redemption and its ETag.
func (c *Client) Redemption(ctx context.Context, id string) (api.RedemptionRecord, string, error) {
	path, err := c.redemptionPath(id, "")
	if err != nil {
		return api.RedemptionRecord{}, "", err
	}
	return c.redemption(ctx, get(path, nil), id)
}

// Decide approves, rejects or voids a redemption, with the ETag of ifMatch only while that is the current version. The
// same decision again changes nothing, so a request whose response was lost is repeated.
func (c *Client) Decide(ctx context.Context, id string, status api.RedemptionStatus, reason,
	ifMatch string) (api.RedemptionRecord, string, error) {
	verb, ok := map[api.RedemptionStatus]string{api.StatusApproved: "approve", api.StatusRejected: "reject",
		api.StatusVoided: "void"}[status]
	if !ok {
		return api.RedemptionRecord{}, "", fmt.Errorf("a redemption cannot be decided to be %q", status)
	}
	path, err := c.redemptionPath(id, "/"+verb)
	if err != nil {
		return api.RedemptionRecord{}, "", err
	}
	call, err := call{method: http.MethodPost, path: path,
		repeatable: true}.withJSON(api.DecisionRequest{Reason: reason})
	if err != nil {
		return api.RedemptionRecord{}, "", err
	}
	return c.redemption(ctx, call.withHeader("If-Match", ifMatch), id)
}

// FourEyes returns why the client may not approve or void a redemption that it has made itself, if the service has
// shown that it refuses that; nil if it may, or if that is not known.
func (c *Client) FourEyes(record api.RedemptionRecord, decision api.RedemptionStatus) error {
	if c == nil || !c.seen.fourEyes.Load() {
		return nil
	}
	return record.FourEyes(decision, c.config.ClientID, c.config.Actor)
}

// How long AwaitDecision pauses between two looks: at first, and at most.
const (
	firstLook   = time.Second
	longestLook = 10 * time.Second
)

// AwaitDecision looks at a redemption until it is not pending any more: after each event about it, or again and again
// where there are no events. With an error it returns the redemption as it was read last.
func (c *Client) AwaitDecision(ctx context.Context, id string) (record api.RedemptionRecord, err error) {
	for page, failure := range c.FollowEvents(ctx, "", func(error) {}) {
		isNews := func(e api.Event) bool { return e.Redemption != nil && api.SameID(e.Redemption.ID, id) }
		switch {
		case IsMissing(failure):
			return c.pollDecision(ctx, id)
		case failure != nil:
			return record, failure
		case record.ID == "" || slices.ContainsFunc(page.Data, isNews):
			if record, err = c.readAgain(ctx, id, record); err != nil || record.Status != api.StatusPending {
				return record, err
			}
		}
	}
	return record, ctx.Err()
}

// readAgain returns the redemption as it was known before if it cannot be read.
func (c *Client) readAgain(
	ctx context.Context, id string, known api.RedemptionRecord,
) (api.RedemptionRecord, error) {
	record, _, err := c.Redemption(ctx, id)
	if err != nil {
		return known, err
	}
	return record, nil
}

func (c *Client) pollDecision(ctx context.Context, id string) (record api.RedemptionRecord, err error) {
	ctx, cancel := c.limited(ctx)
	defer cancel()
	for pause := firstLook; ; pause = min(2*pause, longestLook) {
		if record, err = c.readAgain(ctx, id, record); err != nil || record.Status != api.StatusPending {
			return record, err
		}
		if err := c.config.Clock.Wait(ctx, pause); err != nil {
			return record, err
		}
	}
}

func (c *Client) redemption(ctx context.Context, call call,
	id string) (record api.RedemptionRecord, etag string, err error) {
	res, err := c.fetchRecord(ctx, call, &record, func() bool { return record.ID != "" }, "id", "perk_id")
	if IsMissing(err) && !c.lists(ctx, c.redemptionsPath()) {
		err = unsupported("addresses of redemptions", err)
	}
	if err == nil && !api.SameID(record.ID, id) {
		err = c.unreadable(call, res, fmt.Errorf("it is the redemption %q", record.ID))
	}
	if err != nil {
		return api.RedemptionRecord{}, "", err
	}
	return record, res.Header().Get("ETag"), nil
}

// Eligibility tells whether a user can redeem a perk now, and if not, why.
func (c *Client) Eligibility(ctx context.Context, perkID, userID string) (answer api.Eligibility, err error) {
	path, err := c.perkPath(perkID)
	if err != nil {
		return answer, err
	}
	isRecord := func() bool { return answer.PerkID != "" || answer.UserID != "" }
	call := get(path+"/eligibility", url.Values{"user_id": {userID}})
	_, err = c.fetchRecord(ctx, call, &answer, isRecord, "eligible")
	if IsMissing(err) || isPage(err) {
		if _, failure := c.Perk(ctx, perkID); failure == nil {
			err = unsupported("check of eligibility", err)
		}
	}
	return answer, err
}

// Eligibilities is Eligibility for up to api.MaxPairs pairs, in their order. An unknown perk is an answer too. It asks
// one by one where the service knows no other way.
func (c *Client) Eligibilities(ctx context.Context, pairs []api.Pair) ([]api.Eligibility, error) {
	if len(pairs) > 1 {
		answers, err := c.manyEligibilities(ctx, pairs)
		if !IsMissing(err) && !isPage(err) {
			return answers, err
		}
	}
	var answers []api.Eligibility
	for _, pair := range pairs {
		answer, err := c.Eligibility(ctx, pair.PerkID, pair.UserID)
		if refused, is := errors.AsType[*Error](err); is && IsNotFound(err) && !refused.Unsupported {
			answer, err = api.Ineligible(pair, &api.Error{Code: refused.Code, Message: refused.Message}), nil
		}
		if err != nil {
			return nil, err
		}
		answers = append(answers, answer)
	}
	return answers, nil
}

func (c *Client) manyEligibilities(ctx context.Context, pairs []api.Pair) ([]api.Eligibility, error) {
	call, err := call{method: http.MethodPost, path: c.partnersPath("/eligibility"),
		isRead: true, repeatable: true}.withJSON(map[string]any{"pairs": pairs})
	if err != nil {
		return nil, err
	}
	var list api.EligibilityList
	res, err := c.fetch(ctx, call, &list)
	if err != nil {
		return nil, err
	}
	isOther := func(answer api.Eligibility, pair api.Pair) bool {
		return !api.SameID(answer.PerkID, pair.PerkID) || !api.SameID(answer.UserID, pair.UserID)
	}
	for i, pair := range pairs {
		if len(list.Data) != len(pairs) || isOther(list.Data[i], pair) {
			return nil, c.unreadable(call, res, errors.New("it answers about other pairs"))
		}
	}
	return list.Data, nil
}

func (c *Client) redemptionsPath() string { return c.partnersPath("/redemptions") }

func (c *Client) redemptionPath(id, rest string) (string, error) {
	part, err := pathSegment("redemption_id", id)
	return c.redemptionsPath() + "/" + part + rest, err
}

// IsMissing tells whether err may mean that the server does not have the address at all.
func IsMissing(err error) bool {
	refused, ok := errors.AsType[*Error](err)
	missing := []int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented}
	return ok && slices.Contains(missing, refused.Status) && !refused.CredentialsRefused
}

// isPage tells whether a web page came as a success, as proxies answer at addresses that the server does not have.
func isPage(err error) bool {
	refused, ok := errors.AsType[*Error](err)
	return ok && refused.NotFromService && refused.Status < 300
}

// IsUnsupported tells whether the service lacks what is beyond the specification.
func IsUnsupported(err error) bool {
	refused, ok := errors.AsType[*Error](err)
	return ok && refused.Unsupported
}

// lists tells whether the server has the list at the path, which a 404 of one of its records does not tell.
func (c *Client) lists(ctx context.Context, path string) bool {
	_, err := c.send(ctx, get(path, url.Values{"per_page": {"1"}}))
	return !IsMissing(err)
}

// orUnsupported replaces the error of a list whose address the server does not have.
func orUnsupported[T any](what string, pages Pages[T]) Pages[T] {
	return func(yield func(api.Page[T], error) bool) {
		for page, err := range pages {
			if IsMissing(err) {
				err = unsupported(what, err)
			}
			if !yield(page, err) {
				return
			}
		}
	}
}

// unsupported says that the server lacks what is beyond the service's specification. err is its refusal, or nil.
func unsupported(what string, err error) error {
	lacking := Error{}
	if refused, isRefusal := errors.AsType[*Error](err); isRefusal {
		lacking = *refused
	}
	lacking.Code, lacking.Status, lacking.Unsupported = api.CodeNotFound, http.StatusNotFound, true
	lacking.OutcomeUnknown, lacking.NotFromService = false, false // nothing is there that could have done it
	lacking.Message = "This service has no " + what +
		": the specification does not ask for it, and the service is another one than perksd, or an older version."
	return &lacking
}

// Report counts redemptions of a time, at most api.MaxReportDays, or only those that the client made.
func (c *Client) Report(ctx context.Context, by api.ReportBy,
	filter api.RedemptionFilter) (report api.Report, err error) {
	query := filter.Values()
	query.Set("by", string(by))
	call := get(c.partnersPath("/reports/redemptions"), query)
	res, err := c.fetch(ctx, call, &report)
	switch {
	case IsMissing(err):
		err = unsupported("reports", err)
	case err == nil && report.Data == nil:
		err = c.unreadable(call, res, errors.New("it holds no report"))
	}
	return report, err
}

// Users returns one page of the matching users.
func (c *Client) Users(
	ctx context.Context, filter api.UserFilter, options ListOptions,
) (api.Page[api.User], error) {
	return onePage(c.UserPages(ctx, filter, options))
}

// UserPages returns the pages of matching users, from options.Page on, in the order of their ids.
func (c *Client) UserPages(ctx context.Context, filter api.UserFilter, options ListOptions) Pages[api.User] {
	call, err := c.listCall(c.partnersPath("/users"), filter.Values(), options)
	return orUnsupported(ListOfUsers, walk[api.User](ctx, c, call, err))
}
