package completion

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/cli/session"
)

// Flag declares how the value of a command's flag is completed.
func Flag(cmd *cobra.Command, name string, complete cobra.CompletionFunc) {
	_ = cmd.RegisterFlagCompletionFunc(name, complete) // fails only for a flag that does not exist, or has one
}

// Fixed completes to the choices, in their order. A choice may have a description behind a tab.
func Fixed(choices ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return Beginning(choices, typed), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// Files completes the names of files, only those with the extensions if there are any.
func Files(extensions ...string) cobra.CompletionFunc {
	if len(extensions) == 0 {
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	}
	return cobra.FixedCompletions(extensions, cobra.ShellCompDirectiveFilterFileExt)
}

// InOrder completes each argument in another way, and none after those.
func InOrder(complete ...cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= len(complete) {
			return cobra.NoFileCompletions(cmd, args, typed)
		}
		return complete[len(args)](cmd, nil, typed)
	}
}

// List completes the last entry of a comma-separated list. It does not offer an entry twice, in either direction of
// sorting.
func List(all func(*cobra.Command) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndexByte(typed, ',')+1]
		used := map[string]bool{}
		for entry := range strings.SplitSeq(before, ",") {
			used[strings.TrimPrefix(strings.TrimSpace(entry), "-")] = true
		}
		var choices []string
		for _, choice := range all(cmd) {
			if !used[strings.TrimPrefix(choice, "-")] {
				choices = append(choices, before+choice)
			}
		}
		return Beginning(choices, typed), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace |
			cobra.ShellCompDirectiveKeepOrder
	}
}

// Beginning returns the choices that begin as typed.
func Beginning(choices []string, typed string) (found []string) {
	for _, choice := range choices {
		if strings.HasPrefix(choice, typed) {
			found = append(found, choice)
		}
	}
	return found
}

// Query completes the last part of a query: a key, or a value as the flag of its field does.
func Query[F any](fields []api.FilterField[F]) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		c := api.CompleteQuery(fields, typed, len(typed))
		choices, directive := c.Choices, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveKeepOrder
		if c.Field == nil {
			directive |= cobra.ShellCompDirectiveNoSpace // a value follows
		} else if complete, known := cmd.GetFlagCompletionFunc(c.Field.Flag); known && choices == nil {
			choices, _ = complete(cmd, nil, c.Prefix)
		}
		before := typed[:c.From]
		unquoted := strings.TrimLeft(strings.ReplaceAll(before, `"`, ""), "+-")
		if !isInsertable(unquoted + "x") { // the shell puts it on the line
			return nil, directive
		}
		lines := make([]string, len(choices))
		for i, choice := range choices {
			value, title, _ := strings.Cut(choice, "\t")
			lines[i] = cobra.CompletionWithDesc(before+api.QuoteQuery(value), title)
		}
		return lines, directive
	}
}

// Perks completes the ids of perks; if none begins as typed, those whose titles have the typed words. It leaves out ids
// that are on the line already, as the others below do.
func Perks(s *session.Session) cobra.CompletionFunc { return offering(s, askPerks, newest) }

// Properties completes the ids of listings, or of the client's own, as Perks does for perks.
func Properties(s *session.Session, own bool) cobra.CompletionFunc {
	return offering(s, askProperties(own), newest)
}

// Redemptions completes the ids of the newest redemptions with the status, or of all.
func Redemptions(s *session.Session, status api.RedemptionStatus) cobra.CompletionFunc {
	ask := func(ctx context.Context, c *client.Client, _ string) (reply, error) {
		page, err := c.Redemptions(ctx, api.RedemptionFilter{Status: status}, largestPage)
		return replyOf(page, err, func(r api.RedemptionRecord) item {
			return item{ID: r.ID, Title: fmt.Sprintf("%s by %s, %s", r.PerkID, r.UserID, r.Status)}
		})
	}
	return offering(s, source{"redemptions " + string(status), ask}, newest)
}

// Events completes the ids of the newest events.
func Events(s *session.Session) cobra.CompletionFunc {
	ask := func(ctx context.Context, c *client.Client, _ string) (reply, error) {
		page, err := c.Events(ctx, "", api.MaxPerPage, 0)
		slices.Reverse(page.Data) // the newest first
		return replyOf(api.Page[api.Event]{Data: page.Data}, err, func(e api.Event) item {
			return item{ID: e.ID, Title: string(e.Type)}
		})
	}
	return offering(s, source{"events", ask}, newest)
}

// Webhooks completes the ids of the client's webhooks.
func Webhooks(s *session.Session) cobra.CompletionFunc {
	ask := func(ctx context.Context, c *client.Client, _ string) (reply, error) {
		page, err := c.Webhooks(ctx, largestPage)
		return replyOf(page, err, func(w api.Webhook) item { return item{ID: w.ID, Title: w.URL} })
	}
	return offering(s, source{"webhooks", ask}, newest)
}

// Users completes the ids of users, for a client that may list them.
func Users(s *session.Session) cobra.CompletionFunc {
	ask := func(ctx context.Context, c *client.Client, prefix string) (reply, error) {
		page, err := c.Users(ctx, api.UserFilter{Prefix: prefix}, largestPage)
		return replyOf(page, err, func(u api.User) item { return item{ID: u.ID} })
	}
	return offering(s, source{"users", ask}, newest)
}

// Categories completes ids: unlike names, they have no characters that a shell interprets.
func Categories(s *session.Session) cobra.CompletionFunc {
	ask := func(ctx context.Context, c *client.Client, _ string) (reply, error) {
		categories, err := c.Categories(ctx)
		page := api.Page[api.Category]{Data: categories}
		return replyOf(page, err, func(c api.Category) item { return item{ID: c.ID, Title: c.Name} })
	}
	return offering(s, source{"categories", ask}, sorted)
}

// Cities completes the cities of the newest perks.
func Cities(s *session.Session) cobra.CompletionFunc { return cities(s, askPerks) }

// CitiesOfProperties completes the cities of the newest listings.
func CitiesOfProperties(s *session.Session) cobra.CompletionFunc {
	return cities(s, askProperties(false))
}

func cities(s *session.Session, from source) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		var found []item
		for _, listed := range newValues(s).ask(from, "").Items {
			if strings.HasPrefix(listed.City, typed) {
				found = append(found, item{ID: listed.City})
			}
		}
		slices.SortFunc(found, func(a, b item) int { return strings.Compare(a.ID, b.ID) })
		return offer(found), sorted
	}
}

// Profiles completes the names of profiles.
func Profiles(s *session.Session) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		var found []item
		c, _ := s.LoadConfig() // none, if it cannot be read
		for _, name := range c.Names() {
			if profile := c.Profiles[name]; strings.HasPrefix(name, typed) {
				found = append(found, item{ID: name, Title: profile.APIURL + " as " + profile.ClientID})
			}
		}
		return offer(found), sorted
	}
}

// The order of the offered values: as they were found, or as the shell sorts them.
const (
	newest = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	sorted = cobra.ShellCompDirectiveNoFileComp
)

// item is a value with its description, and its city if it has one.
type item struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	City  string `json:"city,omitempty"`
}

// source is where items come from: all of them, or those in which a word begins so.
type source struct {
	name string
	ask  func(ctx context.Context, c *client.Client, word string) (reply, error)
}

var largestPage = client.ListOptions{PerPage: api.MaxPerPage}

var askPerks = source{"perks", func(ctx context.Context, c *client.Client, word string) (reply, error) {
	options := client.ListOptions{PerPage: api.MaxPerPage, Sort: "-created_at"}
	page, err := c.Perks(ctx, api.PerkFilter{Query: word}, options)
	return replyOf(page, err, func(p api.Perk) item { return item{p.ID, p.Title, p.City} })
}}

func askProperties(own bool) source {
	name := "properties"
	if own {
		name = "own properties"
	}
	return source{name, func(ctx context.Context, c *client.Client, word string) (reply, error) {
		page, err := c.Properties(ctx, api.PropertyFilter{Query: word, Own: own}, largestPage)
		return replyOf(page, err, func(p api.Property) item {
			return item{string(p.PropertyID()), p.Title, p.City}
		})
	}}
}

// longestTitle is more columns than any shell shows of one.
const longestTitle = 120

func replyOf[T any](page api.Page[T], err error, itemOf func(T) item) (reply, error) {
	r := reply{All: page.Next == "" && page.Meta.MoreThan == 0 && page.Meta.Total <= int64(len(page.Data))}
	for _, record := range page.Data {
		i := itemOf(record)
		i.Title = display.Cut(strings.TrimSpace(display.Line(i.Title)), longestTitle)
		r.Items = append(r.Items, i)
	}
	return r, err
}

// offering chooses among the items of a source, or, if there are more, among those in which a word begins as typed.
func offering(s *session.Session, from source, order cobra.ShellCompDirective) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		v := newValues(s)
		known := v.ask(from, "")
		items := known.Items
		if all := words(typed); !known.All && len(all) > 0 && len(items) > 0 {
			items = append(slices.Clip(items), v.ask(from, all[0]).Items...)
		}
		var ids, titles []item
		for _, i := range items {
			switch {
			case slices.Contains(args, i.ID):
			case strings.HasPrefix(i.ID, typed):
				ids = append(ids, i)
			case hasWords(i.Title, typed):
				titles = append(titles, i)
			}
		}
		if len(ids) == 0 {
			ids = titles
		}
		return offer(ids), order
	}
}

// offer writes values as the shells' scripts read them. It leaves out a value that a shell could treat as more than a
// word: bash evaluates the line at the next TAB, and would run a city called $(reboot).
func offer(items []item) []string {
	var lines []string
	seen := map[string]bool{}
	for _, i := range items {
		if !seen[i.ID] && isInsertable(i.ID) {
			seen[i.ID] = true
			lines = append(lines, cobra.CompletionWithDesc(i.ID, i.Title))
		}
	}
	return lines
}

// isInsertable reports whether a value begins with a letter or digit and has only those and marks that no shell
// interprets. An apostrophe is interpreted, but does no harm.
func isInsertable(value string) bool {
	for i, r := range value {
		isWord := unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r)
		if !isWord && (i == 0 || !strings.ContainsRune(" -_.,:+@/'", r)) {
			return false
		}
	}
	return value != "" && value == strings.TrimSpace(value)
}

func words(text string) []string {
	isMark := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	return strings.FieldsFunc(strings.ToLower(text), isMark)
}

// hasWords reports whether each typed word begins a word of the title.
func hasWords(title, typed string) bool {
	wanted, found := words(typed), words(title)
	return len(wanted) > 0 && !slices.ContainsFunc(wanted, func(word string) bool {
		return !slices.ContainsFunc(found, func(w string) bool { return strings.HasPrefix(w, word) })
	})
}
