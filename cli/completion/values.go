package completion

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

// register makes the completions of every command. What no function is known for completes to nothing, rather than to the
// names of files that lie about.
func register(root *cobra.Command, s *session.Session) {
	s.Streams, _, _ = command.BufferedStreams("")
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	v := values{s, newLive(s)}
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		if complete := v.ofArguments(path(cmd)); complete != nil && cmd.ValidArgsFunction == nil {
			cmd.ValidArgsFunction = complete
		}
		cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
			if complete := v.ofFlag(flag); complete != nil {
				_ = cmd.RegisterFlagCompletionFunc(flag.Name, complete) // fails where the command has made its own, which is better
			}
			_, flag.Usage = pflag.UnquoteUsage(flag)
		})
		for _, member := range cmd.Commands() {
			visit(member)
		}
	}
	visit(root)
}

func path(cmd *cobra.Command) string {
	_, words, _ := strings.Cut(cmd.CommandPath(), " ")
	return words
}

type values struct {
	session *session.Session
	live    *live
}

// ofArguments returns the completion of a command's arguments, nil if there is none.
func (v values) ofArguments(path string) cobra.CompletionFunc {
	switch path {
	case "perk get":
		return v.perks
	case "perk redeem":
		return first(v.perks)
	case "profile use", "profile delete":
		return first(v.profiles)
	case "api":
		return first(func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			methods := "GET HEAD POST PUT PATCH DELETE"
			if typed != "" && typed == strings.ToLower(typed) { // shells drop what does not begin as typed
				methods = strings.ToLower(methods)
			}
			return Fixed(strings.Fields(methods)...)(cmd, args, typed)
		})
	}
	return nil
}

// ofFlag returns the completion of a flag's value, nil if there is none. A flag means the same wherever it stands, so that
// its name is enough.
func (v values) ofFlag(flag *pflag.Flag) cobra.CompletionFunc {
	switch flag.Name {
	case "output":
		return Fixed(output.Formats()...)
	case "fields":
		return list(recordFields)
	case "sort":
		return list(sortKeys)
	case "set":
		return settings
	case "profile":
		return v.profiles
	case "category":
		return v.categories
	case "city":
		return v.cities
	case "type":
		return Fixed("available\twhat the user can redeem now", "redeemed\twhat the user has redeemed")
	case "format":
		return Fixed("csv", "json", "jsonl")
	case "file":
		return files("csv", "json", "jsonl")
	case "from-file":
		return files("json")
	}
	if value, _ := pflag.UnquoteUsage(flag); value == "file" {
		return files()
	}
	return nil
}

func sortKeys(cmd *cobra.Command) []string {
	fields := api.PerkSortFields()
	if kind, err := cmd.Flags().GetString("type"); err == nil && kind == "redeemed" {
		fields = api.RedemptionSortFields()
	}
	var keys []string
	for _, field := range fields {
		keys = append(keys, field, "-"+field)
	}
	return keys
}

// settings completes the name before the = of --set.
func settings(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, field := range api.PropertyPatchFields() {
		names = append(names, field+"=")
	}
	return beginning(names, typed), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

func first(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return cobra.NoFileCompletions(cmd, args, typed)
		}
		return complete(cmd, args, typed)
	}
}

// Fixed completes to the choices, in their order. A choice may have a description behind a tab.
func Fixed(choices ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return beginning(choices, typed), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// files has the shell complete names of files, only those with the extensions if there are any.
func files(extensions ...string) cobra.CompletionFunc {
	if len(extensions) == 0 {
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	}
	return cobra.FixedCompletions(extensions, cobra.ShellCompDirectiveFilterFileExt)
}

// list completes the last entry of a comma-separated list, with what stands before it left in place. An entry that is
// there is not offered again, in either direction of sorting.
func list(all func(*cobra.Command) []string) cobra.CompletionFunc {
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
		return beginning(choices, typed), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveKeepOrder
	}
}

func beginning(choices []string, typed string) []string {
	return slices.DeleteFunc(slices.Clone(choices), func(choice string) bool { return !strings.HasPrefix(choice, typed) })
}

// EnvTimeout names the variable that says how long a completion may take, such as 1s.
const EnvTimeout = "PERKSCTL_COMPLETION_TIMEOUT"

// defaultLimit is what a person bears after pressing a key.
const defaultLimit = 300 * time.Millisecond

// live is what the service and the configuration know at this moment.
type live struct {
	session *session.Session
	end     time.Time // nothing is waited for after it
	now     func() time.Time
}

func newLive(s *session.Session) *live {
	limit, err := time.ParseDuration(s.Env(EnvTimeout))
	if err != nil || limit <= 0 {
		limit = defaultLimit
	}
	return &live{session: s, end: time.Now().Add(limit), now: time.Now}
}

type item struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	City  string `json:"city,omitempty"`
}

type answer struct {
	At    time.Time `json:"at"`
	Items []item    `json:"items"`
	All   bool      `json:"all"` // there is nothing beyond the items
}

// ask returns the service's answer to a question: one of the last minute, or a new one, or, if that is not there in time,
// an old one. It returns none where nobody is logged in, and never an error, which nobody could do anything about.
func (l *live) ask(question string, fetch func(context.Context, *client.Client) (answer, error)) answer {
	s := l.session
	connection, err := s.Connection()
	if err != nil {
		return answer{}
	}
	if place, _, err := s.SecretPlace(connection); !connection.HasToken() && (err != nil || place == "") {
		return answer{} // there is neither a token nor a secret
	}
	kept := loadCache(s, connection)
	old := kept.Answers[question]
	if age := l.now().Sub(old.At); age >= 0 && age < fresh {
		return old
	}
	fetched, err := l.inTime(fetch)
	var refused *client.Error
	switch {
	case errors.As(err, &refused) && (refused.Status == http.StatusUnauthorized || refused.Status == http.StatusForbidden):
		return answer{} // the service takes the login no more
	case err != nil:
		return old
	}
	fetched.At = l.now()
	kept.keep(question, fetched)
	return fetched
}

// inTime leaves behind what takes too long, even if that does not heed its context, as a keyring may not.
func (l *live) inTime(fetch func(context.Context, *client.Client) (answer, error)) (answer, error) {
	ctx, cancel := context.WithDeadline(context.Background(), l.end)
	defer cancel()
	type result struct {
		answer answer
		err    error
	}
	results := make(chan result, 1)
	go func() {
		c, _, err := l.session.Connect()
		if err != nil {
			results <- result{err: err}
			return
		}
		fetched, err := fetch(ctx, c)
		results <- result{fetched, err}
	}()
	select {
	case r := <-results:
		return r.answer, r.err
	case <-ctx.Done():
		return answer{}, ctx.Err()
	}
}

// newest asks for the newest perks, or for the newest of those in which a word begins so.
func (l *live) newest(word string) answer {
	return l.ask("perks "+word, func(ctx context.Context, c *client.Client) (answer, error) {
		page, err := c.Perks(ctx, client.PerkListOptions{
			PerkFilter:  api.PerkFilter{Query: word},
			ListOptions: client.ListOptions{PerPage: api.MaxPerPage, Sort: "-created_at"},
		})
		a := answer{All: page.Meta.Total <= int64(len(page.Data))}
		for _, perk := range page.Data {
			a.Items = append(a.Items, item{perk.ID, describe(perk.Title), perk.City})
		}
		return a, err
	})
}

// perks completes the ids of perks that begin as typed. Where none does, it offers those in whose titles each typed word
// begins one. Ids that are on the line already are left out.
func (v values) perks(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	known := v.live.newest("")
	items := known.Items
	if all := words(typed); !known.All && len(all) > 0 {
		items = append(slices.Clip(items), v.live.newest(all[0]).Items...)
	}
	var ids, titles []item
	for _, perk := range items {
		switch {
		case slices.Contains(args, perk.ID):
		case strings.HasPrefix(perk.ID, typed):
			ids = append(ids, perk)
		case hasWords(perk.Title, typed):
			titles = append(titles, perk)
		}
	}
	if len(ids) == 0 {
		ids = titles
	}
	return offer(ids), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// categories completes ids, which unlike names hold nothing that a shell would take for its own.
func (v values) categories(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	known := v.live.ask("categories", func(ctx context.Context, c *client.Client) (answer, error) {
		categories, err := c.Categories(ctx)
		a := answer{All: true}
		for _, category := range categories {
			a.Items = append(a.Items, item{ID: category.ID, Title: describe(category.Name)})
		}
		return a, err
	})
	found := slices.DeleteFunc(slices.Clone(known.Items), func(category item) bool {
		return !strings.HasPrefix(category.ID, typed) && !hasWords(category.Title, typed)
	})
	return offer(found), cobra.ShellCompDirectiveNoFileComp
}

// cities completes the cities of the newest perks.
func (v values) cities(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	var found []item
	for _, perk := range v.live.newest("").Items {
		if strings.HasPrefix(perk.City, typed) {
			found = append(found, item{ID: perk.City})
		}
	}
	slices.SortFunc(found, func(a, b item) int { return strings.Compare(a.ID, b.ID) })
	return offer(found), cobra.ShellCompDirectiveNoFileComp
}

func (v values) profiles(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	var found []item
	if c, err := v.session.LoadConfig(); err == nil {
		for _, name := range c.Names() {
			if strings.HasPrefix(name, typed) {
				profile := c.Profiles[name]
				found = append(found, item{ID: name, Title: describe(profile.APIURL + " as " + profile.ClientID)})
			}
		}
	}
	return offer(found), cobra.ShellCompDirectiveNoFileComp
}

func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// hasWords tells whether each word that was typed begins a word of the title.
func hasWords(title, typed string) bool {
	wanted, there := words(typed), words(title)
	for _, word := range wanted {
		if !slices.ContainsFunc(there, func(w string) bool { return strings.HasPrefix(w, word) }) {
			return false
		}
	}
	return len(wanted) > 0
}

// recordFields returns the fields of what a command writes. Records that a command keeps to itself are listed here by their
// names; the tests ask every command whether the list is right.
func recordFields(cmd *cobra.Command) []string {
	switch path(cmd) {
	case "perk list", "perk get":
		return output.FieldsOf(api.Perk{})
	case "perk categories":
		return output.FieldsOf(api.Category{})
	case "perk redeem":
		return output.FieldsOf(api.Redemption{})
	case "user perks":
		if kind, err := cmd.Flags().GetString("type"); err == nil && kind == "redeemed" {
			return output.FieldsOf(api.Redemption{})
		}
		return output.FieldsOf(api.Perk{})
	case "property get":
		return append(output.FieldsOf(api.Property{}), "etag")
	case "property update", "property edit", "property delete":
		return []string{"propertyId", "message"}
	case "profile list", "profile use", "profile show", "profile delete":
		return []string{"name", "current", "api_url", "client_id", "sandbox", "insecure_http", "ca_cert", "secret_in"}
	case "login", "auth login", "auth status", "auth logout":
		return []string{"profile", "api_url", "client_id", "sandbox", "logged_in", "secret_in", "secret_file", "scopes", "expires_at"}
	case "auth token":
		return []string{"access_token", "expires_at"}
	case "doctor":
		return []string{"check", "outcome", "found", "advice"}
	case "version":
		return []string{"version", "commit", "date", "modified", "go", "os", "arch"}
	case "tui":
		return []string{"action", "keys", "does"}
	case "completion":
		return output.FieldsOf(script{})
	}
	return nil
}
