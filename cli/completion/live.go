package completion

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/cli/session"
)

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

// item is what is kept of a perk or a category.
type item struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	City  string `json:"city,omitempty"`
}

// answer is what the service said.
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
	if err != nil || !canLogIn(s, connection) {
		return answer{}
	}
	kept := loadCache(s, connection)
	old := kept.Answers[question]
	if age := l.now().Sub(old.At); age >= 0 && age < fresh {
		return old
	}
	fetched, err := l.inTime(fetch)
	if err != nil {
		if isRefusal(err) {
			return answer{}
		}
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

// canLogIn tells whether there is a token, or a secret wherever it is kept.
func canLogIn(s *session.Session, c session.Connection) bool {
	place, _, err := s.SecretPlace(c)
	return c.HasToken() || err == nil && place != ""
}

// isRefusal tells whether the service takes the login no more.
func isRefusal(err error) bool {
	var refused *client.Error
	return errors.As(err, &refused) && (refused.Status == http.StatusUnauthorized || refused.Status == http.StatusForbidden)
}

// newest asks for the newest perks, or for the newest of those in which a word begins so.
func (l *live) newest(word string) answer {
	return l.ask("perks "+word, func(ctx context.Context, c *client.Client) (answer, error) {
		page, err := c.Perks(ctx, client.PerkListOptions{
			Query:       word,
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
	if word := firstWord(typed); !known.All && word != "" {
		items = append(slices.Clip(items), v.live.newest(word).Items...)
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
	var found []item
	for _, category := range known.Items {
		if strings.HasPrefix(category.ID, typed) || hasWords(category.Title, typed) {
			found = append(found, category)
		}
	}
	return offer(found), cobra.ShellCompDirectiveNoFileComp
}

// cities completes the cities of the newest perks.
func (v values) cities(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	seen := map[string]bool{}
	for _, perk := range v.live.newest("").Items {
		if strings.HasPrefix(perk.City, typed) {
			seen[perk.City] = true
		}
	}
	var found []item
	for _, city := range slices.Sorted(maps.Keys(seen)) {
		found = append(found, item{ID: city})
	}
	return offer(found), cobra.ShellCompDirectiveNoFileComp
}

// profiles completes names from the configuration.
func (v values) profiles(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	var found []item
	if c, err := v.session.LoadConfig(); err == nil {
		for _, name := range slices.Sorted(maps.Keys(c.Profiles)) {
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

func firstWord(text string) string {
	if all := words(text); len(all) > 0 {
		return all[0]
	}
	return ""
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
