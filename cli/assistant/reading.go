package assistant

import (
	"context"
	"slices"
	"strings"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/operation"
	"example.com/perks/cli/explain"
)

// The params of records.
var (
	perkID       = id("perk", "the id of a perk")
	userID       = id("user", "the id of a user")
	redemptionID = id("redemption", "the id of a redemption")
	propertyID   = id("property", "the id of a property, a rental listing")
)

// readingTools are the tools that change nothing.
func readingTools() []tool {
	perkSort, propertySort := api.PerkSortFields(), api.PropertySortFields()
	ownSort, redemptionSort := api.RedemptionSortFields(), api.RedemptionRecordSortFields()
	dimensions := api.Texts(api.ReportDimensions())
	return []tool{
		{
			name: "search_perks", title: "Search perks", does: "Search the perks that can be redeemed.",
			params: filterParams(api.PerkFilterFields, perkSort),
			run: lister(api.PerkFilterFields, perkSort, func(c *client.Client, ctx context.Context, _ arguments,
				filter api.PerkFilter, o client.ListOptions) client.Pages[api.Perk] {
				return c.PerkPages(ctx, filter, o)
			}),
		},
		{
			name: "get_perk", title: "Get a perk", does: "Show one perk.", params: []param{perkID},
			run: func(ctx context.Context, a *assistant, args arguments) (answer, error) {
				record, _, err := a.client.PerkSeen(ctx, args.text(perkID.name))
				return one(a, record, err)
			},
		},
		{
			name: "check_eligibility", title: "Check eligibility", params: []param{userID, perkID},
			does: "Say whether a user can redeem a perk now, and if not, why. The status is pending if it needs approval. " +
				"Nothing is redeemed.",
			run: func(ctx context.Context, a *assistant, args arguments) (answer, error) {
				reply, err := a.client.Eligibility(ctx, args.text(perkID.name), args.text(userID.name))
				return one(a, reply, err)
			},
		},
		{
			name: "list_user_perks", title: "List a user's perks", does: "List the perks that a user can redeem now.",
			params: append([]param{userID}, filterParams(api.PerkFilterFields, perkSort)...),
			run: lister(api.PerkFilterFields, perkSort, func(c *client.Client, ctx context.Context, args arguments,
				filter api.PerkFilter, o client.ListOptions) client.Pages[api.Perk] {
				return c.UserPerkPages(ctx, args.text(userID.name), filter, o)
			}),
		},
		{
			name: "list_user_redemptions", title: "List a user's redemptions", params: []param{userID, cursor},
			does: "List what a user has redeemed, in every status, the newest first.",
			run: lister(nil, ownSort, func(c *client.Client, ctx context.Context, args arguments,
				_ struct{}, o client.ListOptions) client.Pages[api.Redemption] {
				return c.UserRedemptionPages(ctx, args.text(userID.name), o)
			}),
		},
		{
			name: "list_redemptions", title: "List redemptions",
			does:   "List redemptions of the client, or with the right to it of all clients, the newest first.",
			params: filterParams(api.RedemptionFilterFields, redemptionSort),
			run: lister(api.RedemptionFilterFields, redemptionSort, func(c *client.Client, ctx context.Context,
				_ arguments, filter api.RedemptionFilter, o client.ListOptions) client.Pages[api.RedemptionRecord] {
				return c.RedemptionPages(ctx, filter, o)
			}),
		},
		{
			name: "get_redemption", title: "Get a redemption", does: "Show one redemption.",
			params: []param{redemptionID},
			run: func(ctx context.Context, a *assistant, args arguments) (answer, error) {
				record, _, err := a.client.Redemption(ctx, args.text(redemptionID.name))
				return one(a, record, err)
			},
		},
		{
			name: "list_properties", title: "List properties", does: "List properties, the rental listings.",
			params: filterParams(api.PropertyFilterFields, propertySort),
			run: lister(api.PropertyFilterFields, propertySort, func(c *client.Client, ctx context.Context,
				_ arguments, filter api.PropertyFilter, o client.ListOptions) client.Pages[api.Property] {
				return c.PropertyPages(ctx, filter, o)
			}),
		},
		{
			name: "get_property", title: "Get a property", does: "Show one property, a rental listing.",
			params: []param{propertyID},
			run: func(ctx context.Context, a *assistant, args arguments) (answer, error) {
				record, _, err := a.client.Property(ctx, api.PropertyID(args.text(propertyID.name)))
				return one(a, record, err)
			},
		},
		{
			name: "get_perk_history", title: "Get a perk's history", params: []param{perkID, cursor},
			does: "Show what changed in a perk, when and by whom, the newest first.",
			run:  historyOf(operation.Perks, perkID),
		},
		{
			name: "get_property_history", title: "Get a property's history", params: []param{propertyID, cursor},
			does: "Show what changed in a property of the client, when and by whom, the newest first.",
			run:  historyOf(operation.Properties, propertyID),
		},
		{
			name: "report_redemptions", title: "Count redemptions",
			does: "Count redemptions by day, perk, city, status or actor: of the last 30 days, or of since to until.",
			params: append([]param{{name: "by", does: "what to count by", values: dimensions, required: true}},
				filterParams(api.ReportFilterFields(), nil)...),
			run: report,
		},
		{
			name: "explain", title: "Explain fields",
			does: "Explain the fields of records: type, rule and example. Without a record, list the records.",
			params: []param{
				{name: "record", does: "a record, such as perk"}, {name: "field", does: "one of its fields, such as valid_to"},
				cursor,
			},
			run: explained,
		},
	}
}

// historyOf makes a tool's run from the versions of a kind of record.
func historyOf[I ~string, R any, P operation.Patch[R, P]](
	kind *operation.EditKind[I, R, P], of param,
) func(context.Context, *assistant, arguments) (answer, error) {
	return func(ctx context.Context, a *assistant, args arguments) (answer, error) {
		options, err := optionsOf(args, nil)
		if err != nil {
			return answer{}, err
		}
		return list(a, kind.Pages(a.client, ctx, I(args.text(of.name)), options), nil)
	}
}

// counted is a page of a report, which the service sends as a whole.
type counted struct {
	Rows []api.ReportRow `json:"rows"`
	Meta api.ReportMeta  `json:"meta"`
}

func report(ctx context.Context, a *assistant, args arguments) (answer, error) {
	filter, err := filterOf(api.ReportFilterFields(), args)
	if err != nil {
		return answer{}, err
	}
	page, err := pageOf(args.text(cursor.name))
	if err != nil {
		return answer{}, err
	}
	whole, err := a.client.Report(ctx, api.ReportBy(args.text("by")), filter)
	rows, next := slice(whole.Data, page)
	return answer{Source: &a.from, Data: counted{rows, whole.Meta}, NextCursor: next}, err
}

func explained(_ context.Context, _ *assistant, args arguments) (answer, error) {
	page, err := pageOf(args.text(cursor.name))
	if err != nil {
		return answer{}, err
	}
	words := slices.DeleteFunc([]string{args.text("record"), args.text("field")},
		func(word string) bool { return strings.TrimSpace(word) == "" })
	found, _, err := explain.Look(words...)
	rows, next := slice(found, page)
	return answer{Data: rows, NextCursor: next}, err
}

// slice is a page of rows that are all there, and the cursor of the next.
func slice[T any](rows []T, page int64) ([]T, string) {
	start := min(int64(len(rows)), (min(page, int64(len(rows))+1)-1)*rowsOfPage)
	end := min(int64(len(rows)), start+rowsOfPage)
	if end < int64(len(rows)) {
		return rows[start:end], cursorOf(page + 1)
	}
	return append([]T{}, rows[start:end]...), ""
}
