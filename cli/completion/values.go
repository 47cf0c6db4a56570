package completion

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/cli/bulk"
	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

// register adds the completions of every command. A value without a completion offers nothing, not the names of files.
func register(root *cobra.Command, s *session.Session) {
	s.Streams, _, _ = command.BufferedStreams("")
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	v := newValues(s)
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		if complete := v.ofArguments(path(cmd)); complete != nil && cmd.ValidArgsFunction == nil {
			cmd.ValidArgsFunction = complete
		}
		cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
			if complete := v.ofFlag(flag); complete != nil {
				_ = cmd.RegisterFlagCompletionFunc(flag.Name, complete) // fails if the command has its own
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

// values completes from the configuration and the service.
type values struct {
	session  *session.Session
	deadline time.Time
	now      func() time.Time
}

// EnvTimeout names the variable that limits how long a completion takes, such as 1s.
const EnvTimeout = "PERKSCTL_COMPLETION_TIMEOUT"

const defaultLimit = 300 * time.Millisecond

func newValues(s *session.Session) *values {
	limit, err := time.ParseDuration(s.Env(EnvTimeout))
	if err != nil || limit <= 0 {
		limit = defaultLimit
	}
	return &values{session: s, deadline: time.Now().Add(limit), now: time.Now}
}

// ofArguments returns the completion of a command's arguments, nil if there is none.
func (v *values) ofArguments(path string) cobra.CompletionFunc {
	switch path {
	case "perk get":
		return v.perks
	case "perk redeem", "redeem", "open":
		return first(v.perks)
	case "user perks":
		return first(v.users)
	case "user can":
		return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return v.users(cmd, args, typed)
			}
			return second(v.perks)(cmd, args, typed)
		}
	case "property get":
		return v.properties(false)
	case "property delete":
		return v.properties(true)
	case "property update", "property edit":
		return first(v.properties(true))
	case "redemption get":
		return v.redemptions("")
	case "redemption approve", "redemption reject":
		return v.redemptions(api.StatusPending)
	case "redemption wait":
		return first(v.redemptions(api.StatusPending))
	case "redemption void":
		return v.redemptions(api.StatusApproved)
	case "bulk status", "bulk undo":
		return first(files(inputs...))
	case "profile use", "profile set", "profile rename", "profile delete":
		return first(v.profiles)
	case "api":
		return first(methods)
	}
	return nil
}

func methods(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	names := "GET HEAD POST PUT PATCH DELETE"
	if typed != "" && typed == strings.ToLower(typed) {
		names = strings.ToLower(names)
	}
	return Fixed(strings.Fields(names)...)(cmd, args, typed)
}

// ofFlag returns the completion of a flag's value, nil if there is none. A flag means the same in every command.
func (v *values) ofFlag(flag *pflag.Flag) cobra.CompletionFunc {
	switch flag.Name {
	case "output":
		return Fixed(output.Formats()...)
	case "fields":
		return list(recordFields)
	case "sort":
		return list(sortKeys)
	case "set":
		return propertyFields
	case "method":
		return methods
	case "profile", "confirm-profile":
		return v.profiles
	case "perk":
		return v.perks
	case "user":
		return v.users
	case "by":
		return Fixed("day", "perk", "city", "status")
	case "query":
		return v.query
	case "category":
		return v.categories
	case "city":
		return v.cities
	case "type":
		return types
	case "format":
		return Fixed("csv", "tsv", "json", "jsonl")
	case "file":
		return files(inputs...)
	case "job":
		return jobs
	case "from-file":
		return files("json")
	}
	if choices := flag.Annotations[command.ValuesAnnotation]; choices != nil {
		return Fixed(choices...)
	}
	if value, _ := pflag.UnquoteUsage(flag); value == "file" {
		return files()
	}
	return nil
}

// inputs are the endings of files with rows.
var inputs = []string{"csv", "tsv", "json", "jsonl"}

// jobs completes the jobs beside the file with the rows, or in the folder of their results.
func jobs(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	file, _ := cmd.Flags().GetString("file") // bulk status has none
	if len(args) > 0 {
		file = args[0]
	}
	folder := filepath.Dir(file)
	if results, err := cmd.Flags().GetString("results"); err == nil && results != "" {
		folder = results
	}
	return Fixed(bulk.Jobs(folder)...)(cmd, args, typed)
}

func types(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	names := []string{"available\twhat the user can redeem now", "redeemed\twhat the user has redeemed"}
	if path(cmd) == "events" {
		names = nil
		for _, name := range api.EventTypes() {
			names = append(names, string(name))
		}
	}
	return Fixed(names...)(cmd, args, typed)
}

func sortKeys(cmd *cobra.Command) []string {
	fields := api.PerkSortFields()
	if kind, err := cmd.Flags().GetString("type"); err == nil && kind == "redeemed" {
		fields = api.RedemptionSortFields()
	}
	switch path(cmd) {
	case "redemption list":
		fields = api.RedemptionRecordSortFields()
	case "property list":
		fields = api.PropertySortFields()
	}
	var keys []string
	for _, field := range fields {
		keys = append(keys, field, "-"+field)
	}
	return keys
}

// propertyFields completes the name before the = of --set.
func propertyFields(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
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

func second(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) != 1 {
			return cobra.NoFileCompletions(cmd, args, typed)
		}
		return complete(cmd, nil, typed)
	}
}

// Fixed completes to the choices, in their order. A choice may have a description behind a tab.
func Fixed(choices ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return beginning(choices, typed), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// files completes the names of files, only those with the extensions if there are any.
func files(extensions ...string) cobra.CompletionFunc {
	if len(extensions) == 0 {
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	}
	return cobra.FixedCompletions(extensions, cobra.ShellCompDirectiveFilterFileExt)
}

// list completes the last entry of a comma-separated list. It does not offer an entry twice, in either direction of sorting.
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

type item struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	City  string `json:"city,omitempty"`
}

// reply is the service's reply to a question.
type reply struct {
	At    time.Time `json:"at"`
	Items []item    `json:"items"`
	All   bool      `json:"all"` // there are no other items
}

// fresh is how long a cached reply is used without asking again: whoever presses TAB at every letter asks once.
const fresh = time.Minute

// ask returns a fresh reply from the cache, a new one, or, if that does not come in time, an old one. It returns none if nobody is
// logged in, and no error, which nobody could do anything about.
func (v *values) ask(question string, fetch func(context.Context, *client.Client) (reply, error)) reply {
	s := v.session
	connection, err := s.Connection()
	if err != nil {
		return reply{}
	}
	if location, _, err := s.SecretLocation(connection); !connection.HasToken() && (err != nil || location == "") {
		return reply{} // there is neither a token nor a secret
	}
	cached := loadCache(s, connection)
	old := cached.Replies[question]
	if age := v.now().Sub(old.At); age >= 0 && age < fresh {
		return old
	}
	fetched, err := v.inTime(fetch)
	var refused *client.Error
	switch {
	case errors.As(err, &refused) && (refused.LoginNeeded() || refused.Status == http.StatusForbidden):
		return reply{}
	case err != nil:
		return old
	}
	fetched.At = v.now()
	cached.add(question, fetched)
	return fetched
}

// inTime returns at the deadline even if fetch does not, as when a keyring hangs.
func (v *values) inTime(fetch func(context.Context, *client.Client) (reply, error)) (fetched reply, err error) {
	ctx, cancel := context.WithDeadline(context.Background(), v.deadline)
	defer cancel()
	done := make(chan func() (reply, error), 1)
	go func() {
		var r reply
		c, _, err := v.session.Connect()
		if err == nil {
			r, err = fetch(ctx, c)
		}
		done <- func() (reply, error) { return r, err }
	}()
	select {
	case result := <-done:
		return result()
	case <-ctx.Done():
		return reply{}, ctx.Err()
	}
}

// maxReplies bounds the file of a cache.
const maxReplies = 32

// cache is the replies that one client got at an address, live or in the sandbox.
type cache struct {
	path    string           // "" if nothing can be saved
	Replies map[string]reply `json:"answers"` // by their questions
}

// loadCache returns an empty cache if there is none, or none that can be read.
func loadCache(s *session.Session, c session.Connection) *cache {
	loaded := &cache{}
	if folder, err := s.Folder(); err == nil {
		key := session.HashOf(c.ProfileName, c.APIURL, c.ClientID, s.Env(session.EnvToken), strconv.FormatBool(c.Sandbox))
		loaded.path = filepath.Join(folder, "cache", "completion-"+key+".json")
	}
	if command.ReadPrivateJSON(loaded.path, loaded) != nil || loaded.Replies == nil {
		loaded.Replies = map[string]reply{}
	}
	return loaded
}

// add saves a reply for later completions, if it can.
func (c *cache) add(question string, r reply) {
	c.Replies[question] = r
	for len(c.Replies) > maxReplies {
		oldest := slices.MinFunc(slices.Collect(maps.Keys(c.Replies)), func(a, b string) int { return c.Replies[a].At.Compare(c.Replies[b].At) })
		delete(c.Replies, oldest)
	}
	if c.path != "" {
		_ = command.WritePrivateJSON(c.path, c)
	}
}

// newest asks for the newest perks, or the newest in which a word begins so.
func (v *values) newest(word string) reply {
	return v.ask("perks "+word, func(ctx context.Context, c *client.Client) (reply, error) {
		page, err := c.Perks(ctx, client.PerkListOptions{
			PerkFilter:  api.PerkFilter{Query: word},
			ListOptions: client.ListOptions{PerPage: api.MaxPerPage, Sort: "-created_at"},
		})
		r := reply{All: page.Meta.Total <= int64(len(page.Data))}
		for _, perk := range page.Data {
			r.Items = append(r.Items, item{perk.ID, describe(perk.Title), perk.City})
		}
		return r, err
	})
}

// newestProperties asks for the newest listings with the filter.
func (v *values) newestProperties(filter api.PropertyFilter) reply {
	return v.ask("properties "+filter.Values().Encode(), func(ctx context.Context, c *client.Client) (r reply, err error) {
		options := client.PropertyListOptions{PropertyFilter: filter, ListOptions: client.ListOptions{PerPage: api.MaxPerPage}}
		for page, err := range c.PropertyPages(ctx, options) {
			for _, property := range page.Data {
				r.Items = append(r.Items, item{string(property.PropertyID()), describe(property.Title), property.City})
			}
			r.All = page.Meta.MoreThan == 0 && page.Meta.TotalPages <= 1
			return r, err
		}
		return r, nil
	})
}

// properties completes the ids of listings, or of the client's own, as perks does for perks.
func (v *values) properties(own bool) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		return v.byIDOrTitle(func(word string) reply { return v.newestProperties(api.PropertyFilter{Query: word, Own: own}) }, args, typed)
	}
}

// perks completes the ids of perks; if none begins as typed, those whose titles have the typed words. It leaves out ids that are on the
// line already.
func (v *values) perks(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	return v.byIDOrTitle(v.newest, args, typed)
}

// byIDOrTitle chooses among the newest items, or the newest in which a word begins as typed.
func (v *values) byIDOrTitle(newest func(word string) reply, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	known := newest("")
	items := known.Items
	if all := words(typed); !known.All && len(all) > 0 {
		items = append(slices.Clip(items), newest(all[0]).Items...)
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

// redemptions completes the ids of the newest redemptions with the status, or of all.
func (v *values) redemptions(status api.RedemptionStatus) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		known := v.ask("redemptions "+string(status), func(ctx context.Context, c *client.Client) (r reply, err error) {
			options := client.RedemptionListOptions{RedemptionFilter: api.RedemptionFilter{Status: status}, ListOptions: client.ListOptions{PerPage: api.MaxPerPage}}
			for page, err := range c.RedemptionPages(ctx, options) {
				for _, redemption := range page.Data {
					r.Items = append(r.Items, item{ID: redemption.ID, Title: describe(fmt.Sprintf("%s by %s, %s", redemption.PerkID, redemption.UserID, redemption.Status))})
				}
				return r, err
			}
			return r, nil
		})
		found := slices.DeleteFunc(slices.Clone(known.Items), func(redemption item) bool {
			return slices.Contains(args, redemption.ID) || !strings.HasPrefix(redemption.ID, typed) && !hasWords(redemption.Title, typed)
		})
		return offer(found), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// users completes the ids of users, for a client that may list them.
func (v *values) users(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	with := func(prefix string) reply {
		return v.ask("users "+prefix, func(ctx context.Context, c *client.Client) (r reply, err error) {
			options := client.UserListOptions{UserFilter: api.UserFilter{Prefix: prefix}, ListOptions: client.ListOptions{PerPage: api.MaxPerPage}}
			for page, err := range c.UserPages(ctx, options) {
				for _, user := range page.Data {
					r.Items = append(r.Items, item{ID: user.ID})
				}
				r.All = page.Meta.Total > 0 && page.Meta.Total <= int64(len(page.Data))
				return r, err
			}
			return r, nil
		})
	}
	known := with("")
	if !known.All && len(known.Items) > 0 && typed != "" {
		known = with(typed)
	}
	found := slices.DeleteFunc(slices.Clone(known.Items), func(user item) bool { return !strings.HasPrefix(user.ID, typed) })
	return offer(found), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// categories completes ids: unlike names, they have no characters that a shell interprets.
func (v *values) categories(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	known := v.ask("categories", func(ctx context.Context, c *client.Client) (reply, error) {
		categories, err := c.Categories(ctx)
		r := reply{All: true}
		for _, category := range categories {
			r.Items = append(r.Items, item{ID: category.ID, Title: describe(category.Name)})
		}
		return r, err
	})
	found := slices.DeleteFunc(slices.Clone(known.Items), func(category item) bool {
		return !strings.HasPrefix(category.ID, typed) && !hasWords(category.Title, typed)
	})
	return offer(found), cobra.ShellCompDirectiveNoFileComp
}

// cities completes the cities of the newest perks, or of the newest listings.
func (v *values) cities(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	var found []item
	newest := v.newest
	if path(cmd) == "property list" {
		newest = func(string) reply { return v.newestProperties(api.PropertyFilter{}) }
	}
	for _, listed := range newest("").Items {
		if strings.HasPrefix(listed.City, typed) {
			found = append(found, item{ID: listed.City})
		}
	}
	slices.SortFunc(found, func(a, b item) int { return strings.Compare(a.ID, b.ID) })
	return offer(found), cobra.ShellCompDirectiveNoFileComp
}

// query completes the last part of a query: a key, or a value as the flag of its field does.
func (v *values) query(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	switch path(cmd) {
	case "property list":
		return completeQuery(v, cmd, api.PropertyFilterFields, typed)
	case "redemption list":
		return completeQuery(v, cmd, api.RedemptionFilterFields, typed)
	}
	return completeQuery(v, cmd, api.PerkFilterFields, typed)
}

func completeQuery[F any](v *values, cmd *cobra.Command, fields []api.FilterField[F], typed string) ([]string, cobra.ShellCompDirective) {
	c := api.CompleteQuery(fields, typed, len(typed))
	choices, directive := c.Choices, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveKeepOrder
	if c.Field == nil {
		directive |= cobra.ShellCompDirectiveNoSpace // a value follows
	} else if complete := v.ofFlag(cmd.Flags().Lookup(c.Field.Flag)); complete != nil && choices == nil {
		choices, _ = complete(cmd, nil, c.Prefix)
	}
	before := typed[:c.From]
	if !isInsertable(strings.TrimLeft(strings.ReplaceAll(before, `"`, ""), "+-") + "x") { // the shell puts it on the line again
		return nil, directive
	}
	lines := make([]string, len(choices))
	for i, choice := range choices {
		value, title, _ := strings.Cut(choice, "\t")
		lines[i] = cobra.CompletionWithDesc(before+api.QuoteQuery(value), title)
	}
	return lines, directive
}

func (v *values) profiles(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
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

// hasWords reports whether each typed word begins a word of the title.
func hasWords(title, typed string) bool {
	wanted, found := words(typed), words(title)
	return len(wanted) > 0 && !slices.ContainsFunc(wanted, func(word string) bool {
		return !slices.ContainsFunc(found, func(w string) bool { return strings.HasPrefix(w, word) })
	})
}

// recordFields returns the fields of what a command writes. A test compares the names that are written out here with each command's.
func recordFields(cmd *cobra.Command) []string {
	switch path(cmd) {
	case "perk list", "perk get":
		return output.FieldsOf(api.Perk{})
	case "perk categories":
		return output.FieldsOf(api.Category{})
	case "perk redeem", "redeem":
		return output.FieldsOf(api.Redemption{})
	case "events":
		return output.FieldsOf(api.Event{})
	case "redemption list", "redemption approve", "redemption reject", "redemption void", "redemption wait":
		return output.FieldsOf(api.RedemptionRecord{})
	case "redemption get":
		return append(output.FieldsOf(api.RedemptionRecord{}), "etag")
	case "report redemptions":
		return output.FieldsOf(api.ReportRow{})
	case "user list":
		return output.FieldsOf(api.User{})
	case "user can":
		return output.FieldsOf(api.Eligibility{})
	case "user perks":
		if kind, err := cmd.Flags().GetString("type"); err == nil && kind == "redeemed" {
			return output.FieldsOf(api.Redemption{})
		}
		return output.FieldsOf(api.Perk{})
	case "property list":
		return output.FieldsOf(api.Property{})
	case "property get", "property create":
		return append(output.FieldsOf(api.Property{}), "etag")
	case "property update", "property edit", "property delete":
		return []string{"propertyId", "message"}
	case "bulk status":
		return output.FieldsOf(bulk.Status{})
	case "bulk undo":
		return output.FieldsOf(bulk.Summary{})
	case "profile list", "profile use", "profile show", "profile set", "profile rename",
		"profile delete":
		return []string{"name", "current", "api_url", "client_id", "sandbox", "insecure_http", "ca_cert", "read_only", "protected", "secret_in"}
	case "login", "auth login", "whoami", "auth status", "logout", "auth logout":
		return []string{"profile", "api_url", "client_id", "sandbox", "logged_in", "secret_in", "secret_file", "scopes", "expires_at"}
	case "auth token":
		return []string{"access_token", "expires_at"}
	case "doctor":
		return []string{"check", "outcome", "found", "advice"}
	case "config list", "config get", "config set":
		return []string{"key", "value"}
	case "config path":
		return []string{"path"}
	case "man":
		return []string{"name", "file", "text"}
	case "open":
		return []string{"url"}
	case "explain":
		return []string{"name", "type", "rule", "description", "example"}
	case "version":
		return []string{"version", "commit", "date", "modified", "go", "os", "arch"}
	case "tui":
		return []string{"action", "keys", "does"}
	case "completion":
		return output.FieldsOf(script{})
	}
	return nil
}
