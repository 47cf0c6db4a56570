package store

import (
	"context"
	"unicode/utf8"

	"example.com/perks/api"
)

// UserQuery says which users, and which page of them.
type UserQuery struct {
	api.UserFilter
	Window Window
	After  *Cursor // of a list of users: the page begins there, and the number of Window's page only counts
}

func (o Operations) ListUsers(ctx context.Context, query UserQuery) (List[User], error) {
	return inSnapshot(ctx, o, "list users", o.db.Snapshot,
		func(q Querier) (List[User], error) { return listUsers(q, query) })
}

func listUsers(q Querier, query UserQuery) (list List[User], err error) {
	count, page, args := UserTexts(query)
	if list.Total, err = One(q, ScanValue[int64], count, args); err != nil {
		return list, err
	}
	list.Total, list.IsMore = min(list.Total, MaxCounted), list.Total > MaxCounted
	if list.Items, err = All(q, scanUser, page, args); err != nil {
		return list, err
	}
	if per := query.Window.PerPage; len(list.Items) > per {
		list.Items = list.Items[:per]
		list.Next = &Cursor{ID: list.Items[per-1].ID}
	}
	return list, nil
}

func scanUser(r Scanner) (u User, err error) { return u, r.Scan(&u.ID) }

// UserTexts returns the statement that counts the users up to MaxCounted and one more, and the statement that reads a
// page and what begins the next. Both read one range of the index of ids.
func UserTexts(query UserQuery) (count, page string, args Named) {
	args = Named{"prefix": query.Prefix, "take": query.Window.PerPage + 1, "skip": query.Window.Offset(),
		"counted": MaxCounted + 1}
	where, from := ``, `id >= @prefix`
	if end := prefixEnd(query.Prefix); end != "" {
		where, args["end"] = ` AND id < @end`, end
	}
	// Without an order, PostgreSQL would search the whole table for a frequent prefix.
	count = `SELECT count(*) FROM (SELECT 1 FROM users WHERE ` + from + where +
		` ORDER BY id LIMIT @counted) AS counted`
	if query.After != nil {
		args["skip"] = int64(0)
		if query.After.ID >= query.Prefix {
			from, args["after"] = `id > @after`, query.After.ID
		}
	}
	return count, `SELECT id FROM users WHERE ` + from + where + ` ORDER BY id LIMIT @take OFFSET @skip`, args
}

// prefixEnd returns the first text by code point after all that begin with the prefix, or "" if there is none.
func prefixEnd(prefix string) string {
	for prefix != "" {
		last, size := utf8.DecodeLastRuneInString(prefix)
		prefix = prefix[:len(prefix)-size]
		switch {
		case last == utf8.MaxRune:
			continue
		case last == 0xD7FF: // surrogates are not characters
			last = 0xDFFF
		}
		return prefix + string(last+1)
	}
	return ""
}
