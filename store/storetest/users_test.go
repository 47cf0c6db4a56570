package storetest_test

import (
	"slices"
	"strings"
	"unicode/utf8"

	"example.com/perks/api"
	"example.com/perks/store"
)

var userTests = []test{
	{"users are found by the beginning of their ids, by pages and by cursors", func(f *fixture) {
		const lastOfAll = string(utf8.MaxRune)
		ids := []string{"Ann", "ann", "anna", "ann\uD7FF", "ann\uE000", "ano", "anné", "b", "b%", "b_", "ba",
			"é", "éa", "é́", lastOfAll, lastOfAll + "a", lastOfAll + lastOfAll}
		f.addUsers(ids...)
		slices.Sort(ids)
		for _, prefix := range []string{"", "a", "an", "ann", "Ann", "ann\uD7FF", "anné", "b%", "b_", "é", "é́",
			lastOfAll, lastOfAll + lastOfAll, "x"} {
			want := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !strings.HasPrefix(id, prefix) })
			for _, byCursor := range []bool{false, true} {
				got := []string{}
				query := store.UserQuery{UserFilter: api.UserFilter{Prefix: prefix},
					Window: store.Window{Page: 1, PerPage: 2}}
				for {
					list := must(f.ListUsers(f.ctx, query))(f)
					f.equal("total", list.Total, int64(len(want)))
					for _, user := range list.Items {
						got = append(got, user.ID)
					}
					if list.Next == nil {
						break
					}
					if query.Window.Page++; byCursor {
						query.After = must(store.ParseCursor(list.Next.Text(nil), nil))(f)
					}
				}
				f.equal("users with "+prefix, got, want)
			}
		}
	}},
	{"a cursor before the prefix finds only users with the prefix", func(f *fixture) {
		f.addUsers("a", "b", "c")
		for after, want := range map[string][]store.User{"": {{ID: "b"}}, "a": {{ID: "b"}}, "b": {}, "z": {}} {
			query := store.UserQuery{UserFilter: api.UserFilter{Prefix: "b"}, Window: store.Window{Page: 1, PerPage: 9},
				After: &store.Cursor{ID: after}}
			f.equal("after "+after, must(f.ListUsers(f.ctx, query))(f).Items, want)
		}
	}},
	{"users are counted up to a bound", func(f *fixture) {
		f.addUsers(numbered("u", store.MaxCounted)...)
		query := store.UserQuery{Window: store.Window{Page: 1, PerPage: 1}}
		list := must(f.ListUsers(f.ctx, query))(f)
		f.equal("counted", []any{list.Total, list.IsMore}, []any{int64(store.MaxCounted), false})
		f.addUsers("one more")
		list = must(f.ListUsers(f.ctx, query))(f)
		f.equal("beyond the bound", []any{list.Total, list.IsMore}, []any{int64(store.MaxCounted), true})
	}},
}
