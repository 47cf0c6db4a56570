package endurance

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"example.com/perks/cmd/dev/programs"
)

// catalogWalk follows a list of all perks from page to page, while another process adds perks and lets others expire. A
// perk comes at most once, and each that stays comes.
type catalogWalk struct {
	*testing.T
	installed *programs.Installation
	url       string
	token     string
	perks     int      // at first; every fourth may expire
	staying   []string // perks that never expire
	writes    int
}

const (
	walkWrites  = 15 // in a walk
	walkChanges = 40 // perks that are added in a write, and as many that expire
)

// walkOrders have many perks with equal keys: all were created at one moment, and there are few cities and merchants.
// Some perks have no merchant.
var walkOrders = []string{"", "city", "-merchant_name"}

func TestAWalkHasEachPerkOnceWhileOthersWrite(t *testing.T) {
	overEachStore(t, func(t *testing.T, i *programs.Installation, _ int) {
		w := &catalogWalk{T: t, installed: i, perks: 3_000}
		if isLong() {
			w.perks = 1_000_000
		}
		var text strings.Builder
		for n := range w.perks {
			text.WriteString(w.row(w.id(n), n, ""))
			if n%4 != 0 {
				w.staying = append(w.staying, w.id(n))
			}
		}
		w.installed.ImportCSV("perks", walkHeader+text.String())
		server := w.installed.Start()
		w.url, w.token = server.URL, w.installed.Token(server.URL)
		for _, order := range walkOrders {
			w.walk(order)
		}
	})
}

// walk follows the list in one order. The writes are spread over it: the next begins after that many pages, and the
// page after those waits for the one before.
func (w *catalogWalk) walk(order string) {
	const perPage = 100
	pagesPerWrite := w.perks / perPage / walkWrites
	turns, written := make(chan struct{}), make(chan []string)
	go func() {
		var added []string
		for range turns { // to the end, because the walk waits for each turn
			ids, err := w.write()
			if err != nil {
				w.Error(err)
			}
			added = append(added, ids...)
		}
		written <- added
	}()

	seen, pages := map[string]int{}, 0
	for next := w.url + "/v2/partners/perks?per_page=" + fmt.Sprint(perPage) + "&sort=" + order; next != ""; pages++ {
		if pages%pagesPerWrite == 1 {
			turns <- struct{}{}
		}
		var ids []string
		var err error
		if ids, next, err = w.page(next); err != nil {
			w.Errorf("page %d sorted by %q: %v", pages+1, order, err)
		}
		for _, id := range ids {
			seen[id]++
		}
	}
	close(turns)
	added := <-written

	var twice, missed []string
	for id, times := range seen {
		if times > 1 {
			twice = append(twice, id)
		}
	}
	for _, id := range w.staying {
		if seen[id] == 0 {
			missed = append(missed, id)
		}
	}
	w.Logf("sorted by %q: %d perks on %d pages, while %d were added", order, len(seen), pages, len(added))
	if len(twice)+len(missed) > 0 {
		w.Errorf("sorted by %q, %d perks come twice, such as %q, and %d are missing that stayed, such as %q",
			order, len(twice), first(twice), len(missed), first(missed))
	}
	w.staying = append(w.staying, added...)
}

// first returns a few of the ids, for a message.
func first(ids []string) []string { return ids[:min(len(ids), 3)] }

var linkToNext = regexp.MustCompile(`<([^>]*)>; rel="next"`)

// page returns the ids of a page, and the address that it links to as the next, "" if it links to none.
func (w *catalogWalk) page(address string) (ids []string, next string, err error) {
	response, body, err := asClient(w.token).send(http.MethodGet, address, "", nil)
	if err != nil {
		return nil, "", err
	}
	var page struct{ Data []struct{ ID string } }
	if err := json.Unmarshal(body, &page); err != nil || response.StatusCode != http.StatusOK {
		return nil, "", fmt.Errorf("status %d, %w", response.StatusCode, err)
	}
	for _, perk := range page.Data {
		ids = append(ids, perk.ID)
	}
	if link := linkToNext.FindStringSubmatch(response.Header.Get("Link")); link != nil {
		next = link[1]
	}
	return ids, next, nil
}

// write adds perks in all places of all orders, and lets others expire. It returns the ids of those that it added.
func (w *catalogWalk) write() (added []string, err error) {
	text := walkHeader
	for i := range walkChanges {
		n := w.writes*walkChanges + i
		added = append(added, fmt.Sprintf("perk-%07d-added", spread(n, w.perks)))
		text += w.row(added[i], n, "")
		expiring := 4 * spread(n, w.perks/4)
		text += w.row(w.id(expiring), expiring, "2020-01-01T00:00:00Z")
	}
	w.writes++
	command := w.installed.Command("import", "perks", "--format", "csv", "-")
	command.Stdin = strings.NewReader(text)
	_, err = programs.Output(command)
	return added, err
}

// spread returns a number below limit for each n, another one for each n below limit, and neighbours far apart.
func spread(n, limit int) int { return n * 7919 % limit } // 7919 is prime and divides no limit here

func (w *catalogWalk) id(n int) string { return fmt.Sprintf("perk-%07d", n) }

const walkHeader = "id,title,description,city,merchant_name,valid_to\n"

// row is the row of a perk in a file to import. Its number determines its city and merchant.
func (w *catalogWalk) row(id string, n int, validTo string) string {
	city, merchant := []string{"Bath", "Leeds", "York"}[n%3], []string{"", "Acme", "Zoo"}[n/3%3]
	return fmt.Sprintf("%s,Tea,For two,%s,%s,%s\n", id, city, merchant, validTo)
}
