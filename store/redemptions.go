package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"example.com/perks/api"
)

// RedemptionColumns are those of redemptions that ScanRedemption reads. status is r.status, or r.first_status for a
// redemption as it was made: nothing else of it changes.
func (d *Dialect) RedemptionColumns(status string) string {
	return `r.id, ` + d.PerkOfRedemption + `, r.user_id, r.redeemed_at, ` + status + `, r.metadata`
}

// ScanRedemption reads RedemptionColumns.
func ScanRedemption(r Scanner) (redemption api.Redemption, err error) {
	var metadata string
	err = r.Scan(&redemption.ID, &redemption.PerkID, &redemption.UserID, &redemption.RedeemedAt, &redemption.Status,
		&metadata)
	redemption.Metadata = json.RawMessage(metadata)
	return redemption, err
}

// scanRedemptionRecord reads what selectRedemptions selects.
func scanRedemptionRecord(r Scanner) (record api.RedemptionRecord, err error) {
	var isVoided bool
	record.Redemption, err = ScanRedemption(ScanAfter(r, &record.ClientID, &record.Actor, &record.DecidedAt,
		&record.DecidedBy, &record.DecidedActor, &record.Reason, &record.ExpiresAt, &isVoided))
	if isVoided {
		record.Status = api.StatusVoided
	}
	return record, err
}

// redemptionOrder sorts redemptions AS r. redeemedAt is the time or what follows from it.
func (d *Dialect) redemptionOrder(redeemedAt string) Order {
	return Order{ID: `r.id`, Columns: map[string]SortColumn{
		"redeemed_at": {redeemedAt, false, true}, "status": {`r.status`, false, false},
		"perk_id": {d.PerkOfRedemption, false, false},
		"user_id": {`r.user_id`, false, false}, "id": {`r.id`, false, false},
	}}
}

// orderOfUser sorts the redemptions of a user, also by the fields of perks AS p.
func (d *Dialect) orderOfUser() Order {
	redemptions, perks := d.redemptionOrder(`r.redeemed_at`), d.PerkOrder
	perks.Columns, perks.ID = maps.Clone(perks.Columns), redemptions.ID
	maps.Copy(perks.Columns, redemptions.Columns)
	perks.Columns["created_at"] = redemptions.Columns["redeemed_at"]
	perks.Columns["updated_at"] = SortColumn{`coalesce(r.decided_at, r.redeemed_at)`, false, false}
	return perks
}

// sortsByPerks tells whether the order needs more than the redemptions. A list in such an order has no cursors.
func (q RedemptionQuery) sortsByPerks() bool {
	return slices.ContainsFunc(q.Sort, func(key api.SortKey) bool { return redemptionSortValues[key.Field] == nil })
}

// redemptionSortValues are what redemptions sort by, as redemptionOrder has it in SQL.
var redemptionSortValues = map[string]func(api.RedemptionRecord) any{
	"id":          func(r api.RedemptionRecord) any { return r.ID },
	"perk_id":     func(r api.RedemptionRecord) any { return r.PerkID },
	"user_id":     func(r api.RedemptionRecord) any { return r.UserID },
	"redeemed_at": func(r api.RedemptionRecord) any { return r.RedeemedAt },
	"created_at":  func(r api.RedemptionRecord) any { return r.RedeemedAt },
	"updated_at":  func(r api.RedemptionRecord) any { return *cmp.Or(r.DecidedAt, &r.RedeemedAt) },
	"status":      func(r api.RedemptionRecord) any { return string(r.Specified().Status) },
}

func (o Operations) Eligibility(ctx context.Context, pairs []api.Pair) (map[api.Pair]Eligibility, error) {
	type of struct {
		api.Pair
		Eligibility
	}
	var rows strings.Builder
	var args []any
	for _, pair := range pairs {
		if rows.Len() > 0 {
			rows.WriteString(`, `)
		}
		args = append(args, pair.PerkID, pair.UserID)
		fmt.Fprintf(&rows, `(CAST($%d AS text), CAST($%d AS text))`, len(args)-1, len(args))
	}
	// The approval is in no index, so it is read by itself: for p.approval PostgreSQL reads all of perk_stock where there
	// are 20,000 perks, which takes four times as long.
	read, err := Read(ctx, o.db, "check whether perks can be redeemed", func(q Querier) ([]of, error) {
		return All(q, func(r Scanner) (e of, err error) {
			return e, r.Scan(&e.PerkID, &e.UserID, &e.ValidFrom, &e.ValidTo, &e.Approval, &e.SoldOut, &e.UserKnown,
				&e.UserHasPerk)
		}, `
			WITH pair (perk_id, user_id) AS (VALUES `+rows.String()+`)
			SELECT pair.perk_id, pair.user_id, p.valid_from, p.valid_to,
				(SELECT approval FROM perks WHERE `+o.db.PerkKey+` = p.`+o.db.PerkKey+`),
				coalesce(s.held >= s.stock, FALSE),
				EXISTS (SELECT 1 FROM users WHERE id = pair.user_id),
				EXISTS (SELECT 1 FROM redemptions AS r WHERE r.user_id = pair.user_id
					AND `+o.db.RedemptionPerk+` = p.`+o.db.PerkKey+` AND r.status <> 'rejected')
			FROM pair JOIN perks AS p ON p.id = pair.perk_id `+o.db.Stock, args...)
	})
	eligibility := map[api.Pair]Eligibility{}
	for _, e := range read {
		eligibility[e.Pair] = e.Eligibility
	}
	return eligibility, err
}

func (o Operations) Redemption(ctx context.Context, id string) (api.RedemptionRecord, error) {
	return Read(ctx, o.db, "read a redemption",
		func(q Querier) (api.RedemptionRecord, error) { return o.db.redemption(q, id) })
}

func (d *Dialect) redemption(q Querier, id string) (api.RedemptionRecord, error) {
	return OneOr(RedemptionNotFound(id), q, scanRedemptionRecord,
		d.selectRedemptions(d.Redemptions)+` WHERE r.id = $1`, id)
}

// selectRedemptions selects records. A voided redemption is stored as rejected, because both are not live.
func (d *Dialect) selectRedemptions(from string) string {
	return `SELECT r.client_id, r.actor, r.decided_at, r.decided_by, r.decided_actor, r.reason, r.expires_at,
		r.voided, ` + d.RedemptionColumns(`r.status`) + ` FROM ` + from
}

func (o Operations) ExportRedemptions(
	ctx context.Context, status api.RedemptionStatus,
) iter.Seq2[api.RedemptionRecord, error] {
	where, _, _ := o.db.redemptionConditions(RedemptionQuery{RedemptionFilter: api.RedemptionFilter{Status: status}})
	return stream(ctx, o.db, "export redemptions", scanRedemptionRecord,
		o.db.selectRedemptions(o.db.Redemptions)+` WHERE `+where+` ORDER BY r.id`)
}

// redemptionConditions are on redemptions AS r, each of whose filters leads to an index with the order of the list. Few
// redemptions are not approved, so those have indexes of their own, for all, a client and a perk. SQLite uses them only
// if the statuses are literals, and the condition of the index is repeated. Of = 'approved' it would expect few, and
// sort them.
func (d *Dialect) redemptionConditions(query RedemptionQuery) (where string, args Named, order Order) {
	conditions, args, order := []string{`true`}, Named{}, d.redemptionOrder(d.FilteredTime)
	add := func(condition, name string, value any) {
		conditions, args[name] = append(conditions, condition), value
	}
	isLive := query.Status == "" || query.Status == api.StatusApproved
	if query.UserID != "" || isLive && query.PerkID == "" && query.ClientID == "" && query.Actor == "" {
		order = d.redemptionOrder(`r.redeemed_at`)
	}
	if query.byMetadata() {
		order = d.redemptionOrder(`m.redeemed_at`)
	}
	conditions = append(conditions, metadataConditions(query.Metadata, query.byMetadata(), args)...)
	at := order.Columns["redeemed_at"].Text
	if query.UserID != "" {
		add(`r.user_id = @user`, "user", query.UserID)
	}
	if query.PerkID != "" {
		add(d.IndexedPerk+` = (SELECT `+d.PerkKey+` FROM perks WHERE id = @perk)`, "perk", query.PerkID)
	}
	if query.ClientID != "" {
		add(`r.client_id = @client`, "client", query.ClientID)
	}
	if query.Actor != "" {
		add(`r.actor = @actor`, "actor", query.Actor)
	}
	if !query.Since.IsZero() {
		add(at+` >= @since`, "since", query.Since.UTC())
	}
	if !query.Until.IsZero() {
		add(at+` < @until`, "until", query.Until.UTC())
	}
	switch query.Status {
	case "":
	case api.StatusApproved:
		conditions = append(conditions, `r.status NOT IN ('pending', 'rejected')`)
	case api.StatusVoided:
		conditions = append(conditions, `r.status <> 'approved' AND r.status = 'rejected' AND r.voided = TRUE`)
	default:
		conditions = append(conditions,
			fmt.Sprintf(`r.status <> 'approved' AND r.status = '%s' AND r.voided = FALSE`, query.Status))
	}
	return strings.Join(conditions, ` AND `), args, order
}

func (o Operations) ListRedemptions(
	ctx context.Context, query RedemptionQuery,
) (List[api.RedemptionRecord], error) {
	return inSnapshot(ctx, o, "list redemptions", o.db.SnapshotInOrder,
		func(q Querier) (List[api.RedemptionRecord], error) {
			return o.listRedemptions(q, query)
		})
}

func (o Operations) listRedemptions(q Querier, query RedemptionQuery) (list List[api.RedemptionRecord], err error) {
	list.Items = []api.RedemptionRecord{}
	switch {
	case IsUnstorable(query.UserID) && !query.AnyUser:
		return list, UserNotFound(query.UserID)
	case IsUnstorable(query.UserID), IsUnstorable(query.PerkID), IsUnstorable(query.Actor):
		return list, nil
	}
	if list.Total, list.IsMore, err = o.countRedemptions(q, query); err != nil {
		return list, err
	}
	parts, args, err := o.db.RedemptionPage(query)
	if err != nil {
		return list, err
	}
	per := query.Window.PerPage
	for i := 0; i < len(parts) && len(list.Items) <= per; i++ {
		args["take"] = per + 1 - len(list.Items)
		more, err := All(q, scanRedemptionRecord, parts[i], args)
		if err != nil {
			return list, err
		}
		list.Items = append(list.Items, more...)
	}
	if len(list.Items) > per {
		list.Items = list.Items[:per]
		if query.sortsByPerks() {
			return list, nil
		}
		last := list.Items[per-1]
		list.Next = &Cursor{ID: last.ID}
		for _, key := range query.Sort {
			list.Next.Values = append(list.Next.Values, redemptionSortValues[key.Field](last))
		}
	}
	return list, nil
}

// countRedemptions looks for the user only where there is nothing to count.
func (o Operations) countRedemptions(q Querier, query RedemptionQuery) (total int64, isMore bool, err error) {
	most := int64(MaxCounted)
	if query.UserID != "" {
		most = math.MaxInt64 - 1
	}
	text, args := o.db.RedemptionCount(query, most+1)
	total, err = One(q, ScanValue[int64], text, args)
	if err != nil || total > 0 || query.UserID == "" || query.AnyUser {
		return min(total, most), total > most, err
	}
	_, err = OneOr(UserNotFound(query.UserID), q, ScanValue[int64], `SELECT 1 FROM users WHERE id = $1`, query.UserID)
	return 0, false, err
}

// RedemptionCount counts the matching redemptions, at most most of them. The order makes PostgreSQL read the index of
// the filter: it would look through any other one for enough of what it supposes to be spread evenly.
func (d *Dialect) RedemptionCount(query RedemptionQuery, most int64) (text string, args Named) {
	where, args, order := d.redemptionConditions(query)
	args["most"] = most
	by := ``
	if query.UserID == "" {
		by = ` ORDER BY ` + order.Columns["redeemed_at"].Text
	}
	return `SELECT count(*) FROM (SELECT 1 FROM ` + query.from(`redemptions AS r`) + ` WHERE ` + where + by +
		` LIMIT @most) AS counted`, args
}

// RedemptionPage returns statements whose results, one after the other, are the page, and begin the next one if there
// are more. Each reads @take redemptions.
func (d *Dialect) RedemptionPage(query RedemptionQuery) (parts []string, args Named, err error) {
	where, args, order := d.redemptionConditions(query)
	from := query.from(d.Redemptions)
	if query.UserID != "" {
		from, order = d.RedemptionsOfUser, d.orderOfUser()
		if query.sortsByPerks() {
			from += d.PerkOfEach
		}
	}
	by, err := order.By(query.Sort, false)
	if err != nil {
		return nil, nil, err
	}
	args["take"], args["skip"] = query.Window.PerPage+1, query.Window.Offset()
	ranges := []string{`true`}
	if query.After != nil {
		args["skip"] = int64(0)
		ranges = order.Ranges(query.Sort, query.After, args)
	}
	for _, part := range ranges {
		parts = append(parts, d.selectRedemptions(from)+`
			WHERE `+where+` AND (`+part+`) ORDER BY `+by+` LIMIT @take OFFSET @skip`)
	}
	return parts, args, nil
}

// decisions has the action of each decision in the audit log.
var decisions = map[api.RedemptionStatus]string{
	api.StatusApproved: ActionApprove, api.StatusRejected: ActionReject, api.StatusVoided: ActionVoid,
}

func (o Operations) DecideRedemption(
	ctx context.Context, id string, decision Decision, by Actor, at time.Time,
) (api.RedemptionRecord, error) {
	if decisions[decision.Status] == "" {
		return api.RedemptionRecord{}, fmt.Errorf("a redemption cannot be decided to be %q", decision.Status)
	}
	return writeFor(ctx, o, "decide a redemption", func(tx Tx) (api.RedemptionRecord, error) {
		if err := lock(tx, o.db.LockStock, id); err != nil {
			return api.RedemptionRecord{}, err
		}
		before, err := o.db.redemption(tx, id)
		before = before.At(at)
		if err == nil && decision.Check != nil {
			err = decision.Check(before)
		}
		switch {
		case err != nil:
			return before, err
		case before.HasExpired() && decision.Status != api.StatusVoided:
			return before, RedemptionExpired(id, *before.ExpiresAt)
		case before.Status == decision.Status:
			return before, nil
		case before.Status != decision.Status.DecidedFrom():
			return before, RedemptionDecided(id, before.Status, decision.Status)
		}
		after, decidedAt := before, at.UTC().Truncate(time.Microsecond)
		after.Status, after.DecidedAt, after.Reason = decision.Status, &decidedAt, OrNull(decision.Reason)
		return o.db.decide(tx, before, after, by)
	})
}

// decide writes a decision, with its entry in the audit log, and returns the redemption with who made it. The stock of
// the perk is locked.
func (d *Dialect) decide(tx Tx, before, after api.RedemptionRecord, by Actor) (api.RedemptionRecord, error) {
	clientID, actor, _ := by.Client()
	after.DecidedBy, after.DecidedActor = OrNull(clientID), OrNull(actor)
	_, err := tx.Exec(`UPDATE redemptions SET status = $2, voided = $3, decided_at = $4, reason = $5, decided_by = $6,
		decided_actor = $7 WHERE id = $1`,
		after.ID, string(after.Specified().Status), after.Status == api.StatusVoided, after.DecidedAt, after.Reason,
		after.DecidedBy, after.DecidedActor)
	if err == nil && after.Status != api.StatusApproved {
		_, err = tx.Exec(`UPDATE perk_stock SET held = held - 1
			WHERE `+d.StockPerk+` = (SELECT `+d.StockPerk+` FROM redemptions WHERE id = $1)`, after.ID)
	}
	if err != nil {
		return before, err
	}
	return after, Audit(tx, *after.DecidedAt, by, decisions[after.Status], RedemptionSubject(after.ID), before, after)
}
