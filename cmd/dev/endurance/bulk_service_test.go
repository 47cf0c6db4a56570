package endurance

import (
	"encoding/json"
	"fmt"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/cmd/dev/specserver"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

// service is a server behind a proxy, with a client's id and secret.
type service struct {
	proxy       *faultProxy
	id, secret  string
	prepare     func([]wanted)           // before the rows are sent
	redemptions func() map[string]wanted // those made since, by id
	tokens      func() int               // how many were issued; nil at ourService
	args        []string                 // that a run there needs
}

// ourService is perksd over a database. Each row needs a unique pair of user and perk.
func ourService(t *testing.T) service {
	t.Helper()
	server := servertest.Start(t)
	for n := range 3 {
		server.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: perkID(n)}})
	}
	root, err := url.Parse(server.Root())
	if err != nil {
		t.Fatal(err)
	}
	s := service{proxy: newFaultProxy(t, httputil.NewSingleHostReverseProxy(root))}
	s.id, s.secret = server.Client()
	s.prepare = func(all []wanted) { server.ImportUsers(usersOf(all)...) }
	s.redemptions = func() map[string]wanted {
		all := map[string]wanted{}
		for r, err := range server.Live.ExportRedemptions(t.Context(), "") {
			if err != nil {
				t.Fatal(err)
			}
			all[r.ID] = wanted{r.PerkID, r.UserID, canonical(r.Metadata)}
		}
		return all
	}
	return s
}

// foreignService is a server of the specification that ignores idempotency keys, where everything was redeemed once
// before. One reply in ten is lost, and one redeem in fifty. Only the run redeems there, which it learns from
// --assume-mine, and nothing is still carried out after five seconds, which it learns from --resend-unknown.
func foreignService(t *testing.T, o specserver.Options) service {
	o.MostPerPage = 15
	server := specserver.New(o)
	s := service{
		proxy: newFaultProxy(t, server), id: specserver.ClientID, secret: specserver.ClientSecret,
		args: []string{"--assume-mine", "--resend-unknown"},
	}
	s.proxy.dropEvery, s.proxy.loseEvery = 10, 50
	s.prepare = func(all []wanted) {
		server.AddUsers(usersOf(all)...)
		for _, w := range all {
			server.AddRedemption(w.perk, w.user, json.RawMessage(w.metadata), time.Minute)
		}
	}
	s.redemptions = func() map[string]wanted {
		all := map[string]wanted{}
		for _, r := range server.Record().Redemptions {
			if r.Request > 0 {
				all[r.ID] = wanted{r.PerkID, r.UserID, canonical(r.Metadata)}
			}
		}
		return all
	}
	s.tokens = func() int { return len(server.Record().Tokens) }
	return s
}

// rowsOf returns n rows for both services: each for its own user, with a number.
func rowsOf(n int) rowSet {
	return rowSet{rows: n, who: everyone, note: itsNumber, format: csv, suffix: ".csv"}
}

// repeatedRows returns n rows without metadata for few users, so that each occurs many times.
func repeatedRows(n int) rowSet {
	return rowSet{rows: n, who: among(max(n/40, 1)), format: jsonl, suffix: ".jsonl"}
}

// rowSet is the rows of one test: their content and their format.
type rowSet struct {
	rows int
	// who returns the perk and user of a row. Rows with the same pair are in order.
	who func(n int) (perk, user int)
	// note returns the metadata of a row, or is nil: then rows of one perk and user are equal.
	note func(n int) string
	// format formats the rows.
	format func(wanted []wanted) (text string, lines []int)
	suffix string // of the file's name
}

// wanted is a redemption that a row requests.
type wanted struct{ perk, user, metadata string }

func (r rowSet) wanted() []wanted {
	var all []wanted
	for n := range r.rows {
		perk, user := r.who(n)
		w := wanted{perkID(perk), fmt.Sprintf("u-%05d", user), "{}"}
		if r.note != nil {
			w.metadata = fmt.Sprintf(`{"row":%q}`, r.note(n))
		}
		all = append(all, w)
	}
	return all
}

// perkID is the same at both services.
func perkID(n int) string { return specserver.Freedoms{}.PerkID(n + 1) }

func everyone(n int) (perk, user int) { return n % 3, n }

func inPairs(n int) (perk, user int) { return 0, n / 2 }

// among cycles through few users and three perks.
func among(few int) func(n int) (perk, user int) {
	return func(n int) (perk, user int) { return n / few % 3, n % few }
}

func itsNumber(n int) string { return fmt.Sprint("number ", n) }

// twoLines is a text that takes two lines of a file.
func twoLines(n int) string { return fmt.Sprintf("number %d,\nthe \"best\" of all", n) }

// csv writes each row's metadata in its own cell, and returns the lines on which the rows start.
func csv(all []wanted) (string, []int) {
	var text strings.Builder
	lines := make([]int, 0, len(all))
	text.WriteString("perk_id,user_id,metadata.row\n")
	line := 2
	for _, w := range all {
		var metadata struct {
			Row string `json:"row"`
		}
		_ = json.Unmarshal([]byte(w.metadata), &metadata) // it was written above
		row := fmt.Sprintf("%s,%s,%s\n", w.perk, w.user, quoted(metadata.Row))
		text.WriteString(row)
		lines = append(lines, line)
		line += strings.Count(row, "\n")
	}
	return text.String(), lines
}

func quoted(cell string) string {
	if cell == "" {
		return ""
	}
	return `"` + strings.ReplaceAll(cell, `"`, `""`) + `"`
}

// jsonl writes the metadata as it is.
func jsonl(all []wanted) (string, []int) {
	var text strings.Builder
	lines := make([]int, 0, len(all))
	for n, w := range all {
		fmt.Fprintf(&text, `{"user":%q,"perk":%q,"metadata":%s}`+"\n", w.user, w.perk, w.metadata)
		lines = append(lines, n+1)
	}
	return text.String(), lines
}

// usersOf returns the users of the rows.
func usersOf(all []wanted) []string {
	var users []string
	for _, w := range all {
		users = append(users, w.user)
	}
	slices.Sort(users)
	return slices.Compact(users)
}
