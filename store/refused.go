package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/perks/api"
)

// Refused is an attempt to redeem a perk that was refused. Its id is unique.
type Refused struct {
	ID string
	api.RefusedRedemption
}

// RefusedQuery says which refused redemptions, in which order, and which page of them.
type RefusedQuery struct {
	api.RefusedFilter        // Own is ignored
	ClientID          string // only those of this client, unless it is ""
	// Sort has one field of api.RefusedSortFields. Ties are ordered by id, in the same direction.
	Sort   []api.SortKey
	Window Window
	After  *Cursor // as in PerkQuery
}

const refusedColumns = `id, at, client_id, perk_id, user_id, code, message, actor`

func scanRefused(r Scanner) (refused Refused, err error) {
	return refused, r.Scan(&refused.ID, &refused.At, &refused.ClientID, &refused.PerkID, &refused.UserID, &refused.Code,
		&refused.Message, &refused.Actor)
}

var refusedOrder = Order{ID: `f.id`, Columns: map[string]SortColumn{"at": {`f.at`, false, true}}}

func (o Operations) RecordRefused(ctx context.Context, refused []Refused) error {
	return o.db.Write(ctx, "record refused redemptions", func(tx Tx) error {
		for some := range slices.Chunk(refused, rowsAtOnce) {
			rows := make([][]any, len(some))
			for i, r := range some {
				rows[i] = []any{r.ID, r.At, r.ClientID, r.PerkID, r.UserID, string(r.Code), r.Message, r.Actor}
			}
			if err := insertRows(tx, `refused_redemptions (`+refusedColumns+`)`, rows); err != nil {
				return err
			}
		}
		return nil
	})
}

// insertRows adds rows to the columns of a table with one statement, but for those that are there.
func insertRows(tx Tx, into string, rows [][]any) error {
	var args []any
	values := make([]string, len(rows))
	for i, row := range rows {
		places := make([]string, len(row))
		for j := range row {
			places[j] = fmt.Sprintf(`$%d`, len(args)+j+1)
		}
		values[i], args = `(`+strings.Join(places, `, `)+`)`, append(args, row...)
	}
	_, err := tx.Exec(`INSERT INTO `+into+` VALUES `+strings.Join(values, `, `)+` ON CONFLICT DO NOTHING`, args...)
	return err
}

func (o Operations) ListRefused(ctx context.Context, query RefusedQuery) (List[Refused], error) {
	return inSnapshot(ctx, o, "list refused redemptions", o.db.SnapshotInOrder,
		func(q Querier) (list List[Refused], err error) {
			count, pages, args, err := RefusedTexts(query)
			if err != nil {
				return list, err
			}
			return readCounted(q, count, pages, args, query.Window, scanRefused,
				func(r Refused) *Cursor { return &Cursor{Values: []any{r.At}, ID: r.ID} })
		})
}

// readCounted reads a page, and counts up to MaxCounted. cursor returns the place after a record.
func readCounted[T any](
	q Querier, count string, pages []string, args Named, window Window, scan func(Scanner) (T, error),
	cursor func(T) *Cursor,
) (list List[T], err error) {
	if list.Total, err = One(q, ScanValue[int64], count, args); err != nil {
		return list, err
	}
	list.Items, list.Total, list.IsMore = []T{}, min(list.Total, MaxCounted), list.Total > MaxCounted
	per := window.PerPage
	for i := 0; i < len(pages) && len(list.Items) <= per; i++ {
		args["take"] = per + 1 - len(list.Items)
		more, err := All(q, scan, pages[i], args)
		if err != nil {
			return list, err
		}
		list.Items = append(list.Items, more...)
	}
	if len(list.Items) > per {
		list.Items = list.Items[:per]
		list.Next = cursor(list.Items[per-1])
	}
	return list, nil
}

// RefusedTexts returns the statement that counts the refused redemptions up to MaxCounted and one more, and the
// statements whose results, one after the other, are the page, and begin the next one if there are more.
func RefusedTexts(query RefusedQuery) (count string, pages []string, args Named, err error) {
	conditions, args := []string{`true`}, Named{}
	for _, is := range []struct {
		condition, name string
		value           any
		isGiven         bool
	}{
		{`f.client_id = @client`, "client", query.ClientID, query.ClientID != ""},
		{`f.perk_id = @perk`, "perk", query.PerkID, query.PerkID != ""},
		{`f.user_id = @user`, "user", query.UserID, query.UserID != ""},
		{`f.code = @code`, "code", string(query.Reason), query.Reason != ""},
		{`f.actor = @actor`, "actor", query.Actor, query.Actor != ""},
		{`f.at >= @since`, "since", query.Since.UTC(), !query.Since.IsZero()},
		{`f.at < @until`, "until", query.Until.UTC(), !query.Until.IsZero()},
	} {
		if is.isGiven {
			conditions, args[is.name] = append(conditions, is.condition), is.value
		}
	}
	texts := countedTexts{refusedColumns, ` FROM refused_redemptions AS f WHERE ` + strings.Join(conditions, ` AND `),
		refusedOrder}
	return texts.build(args, query.Sort, query.Window, query.After)
}

// countedTexts are the parts of the statements for a list of which at most MaxCounted are counted.
type countedTexts struct {
	columns, from string // the latter ends with a condition
	order         Order
}

// build returns what RefusedTexts does. args are those of from.
func (t countedTexts) build(args Named, sort []api.SortKey, window Window, after *Cursor) (
	count string, pages []string, all Named, err error,
) {
	args["counted"], args["skip"] = MaxCounted+1, window.Offset()
	by, err := t.order.By(sort, false)
	if err != nil {
		return "", nil, nil, err
	}
	ranges := []string{`true`}
	if after != nil {
		args["skip"] = int64(0)
		ranges = t.order.Ranges(sort, after, args)
	}
	for _, part := range ranges {
		pages = append(pages, `SELECT `+t.columns+t.from+` AND (`+part+`) ORDER BY `+by+` LIMIT @take OFFSET @skip`)
	}
	count = `SELECT count(*) FROM (SELECT 1` + t.from + ` ORDER BY ` + by + ` LIMIT @counted) AS counted`
	return count, pages, args, nil
}

func (o Operations) PurgeRefused(ctx context.Context, before time.Time) (purged int64, err error) {
	return o.purge(ctx, "delete refused redemptions", `
		WITH old AS MATERIALIZED (
			SELECT id FROM refused_redemptions WHERE at < $1 ORDER BY at LIMIT $2`+o.db.SkipLocked+`)
		DELETE FROM refused_redemptions WHERE id IN (SELECT id FROM old)`, before)
}
