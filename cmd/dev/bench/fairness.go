package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/perks/api"
	"example.com/perks/api/client"
)

const (
	hostileRequests = 64  // in progress at once, of one client
	modestRequests  = 150 // of each kind, of another
	modestPause     = 5 * time.Millisecond
	acceptableTime  = 20 * time.Millisecond // five times of it is too long, however quiet it was before
)

// hostileLists are lists that cost most, each in its own way. The last is a report.
var hostileLists = []listFilter{
	{"one page, by an index", "sort=title&page=2"},
	{"by description, page 5000", "sort=description&page=5000&per_page=100"},
	{"by description", "sort=description"},
	{"by four long fields", "sort=terms,image_url,discount_text,description"},
	{"words by description, page 2000", "q=a&sort=-description&page=2000"},
	{"words in a circle by description", "q=a&lat=50&lng=10&radius=500&sort=description"},
	{"words", "q=a"},
	{"page 4500", "page=4500"},
	{"a report by perk", ""},
}

// measureFairness compares what one client waits while another sends costly lists with what it waits while nobody does.
func measureFairness(ctx context.Context, l *harness) (*table, error) {
	t := newTable("One client beside a hostile one (`fairness`)",
		append([]string{"hostile requests", "store"}, modestKinds...)...)
	for _, store := range []struct {
		kind  string
		perks int64
	}{{"SQLite", allPerks}, {"PostgreSQL", 300_000}} {
		if err := l.addFairness(ctx, t, store.kind, store.perks); err != nil {
			return nil, fmt.Errorf("over %s: %w", store.kind, err)
		}
	}
	t.note("p99 of %d requests of each kind, one after the other: alone, and while another client has %d requests of "+
		"the row in progress. SQLite has %s perks, PostgreSQL 300,000. The ratio is that of the worst kind, to its "+
		"time alone or to %s, whichever is longer. No request of the first client was refused.",
		modestRequests, hostileRequests, grouped(allPerks), acceptableTime)
	return t, nil
}

func (l *harness) addFairness(ctx context.Context, t *table, kind string, perks int64) error {
	database, err := l.databaseWith(ctx, kind, perks)
	if err != nil {
		return err
	}
	load, err := l.newRedeemLoad(ctx, database, redeemUsers)
	if err != nil {
		return err
	}
	hostile := load.service
	modest := &modestClient{address: hostile.url("")}
	if modest.credentials, err = l.NewClient(ctx, "modest", "--database", database); err != nil {
		return err
	}
	own, err := hostile.client(nil)
	if err != nil {
		return err
	}
	token, err := own.Token(ctx, modest.credentials)
	if err != nil {
		return err
	}
	modest.token = token.AccessToken
	for i, list := range hostileLists {
		modest.perk = hotPerk(i)
		alone, err := modest.work(ctx)
		if err != nil {
			return fmt.Errorf("alone: %w", err)
		}
		address := "/partners/perks?" + list.query
		if list.query == "" {
			address = report(api.ReportByPerk, time.Now().UTC().AddDate(0, 0, -91), time.Now().UTC())
		}
		replies, stop := hostile.attack(ctx, address)
		beside, err := modest.work(ctx)
		if failed := stop(); err == nil {
			err = failed
		}
		if err != nil {
			return fmt.Errorf("beside %s: %w", list.name, err)
		}
		worst, cells := 0.0, []string{list.name, kind}
		for k := range modestKinds {
			quiet, attacked := percentile(alone[k], 99), percentile(beside[k], 99)
			worst = max(worst, float64(attacked)/float64(max(quiet, acceptableTime)))
			cells = append(cells, milliseconds(quiet)+", "+milliseconds(attacked))
		}
		l.logf("%s over %s, %d replies: %s", list.name, kind, replies.Load(), strings.Join(cells[2:], "; "))
		t.add(worst, target{5, atMost}, cells...)
	}
	return nil
}

// attack keeps many requests in progress until stop is called, and counts the replies, whatever they are.
func (s *service) attack(ctx context.Context, path string) (replies *atomic.Int64, stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	replies = new(atomic.Int64)
	transport := &http.Transport{MaxIdleConnsPerHost: hostileRequests}
	var running errgroup.Group
	for range hostileRequests {
		running.Go(func() error {
			for ctx.Err() == nil {
				request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url(path), nil)
				if err != nil {
					return err
				}
				request.Header.Set("Authorization", "Bearer "+s.token)
				response, err := transport.RoundTrip(request)
				if err != nil {
					continue // it has ended, or the service keeps it out
				}
				_, _ = io.Copy(io.Discard, response.Body)
				response.Body.Close()
				replies.Add(1)
			}
			return nil
		})
	}
	return replies, func() error {
		cancel()
		defer transport.CloseIdleConnections()
		return running.Wait()
	}
}

var modestKinds = []string{"get", "list", "redeem", "token"}

// modestClient does one thing after the other.
type modestClient struct {
	address     string // of the API
	token, perk string
	credentials client.Credentials
	redeemed    int64
}

// work returns how long the requests of each kind took. It fails if one is refused.
func (m *modestClient) work(ctx context.Context) (took [4][]time.Duration, err error) {
	for range modestRequests {
		for kind, name := range modestKinds {
			request, err := m.request(ctx, name)
			if err != nil {
				return took, err
			}
			begun := time.Now()
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				return took, err
			}
			body, err := io.ReadAll(response.Body)
			response.Body.Close()
			if err == nil && response.StatusCode >= 300 {
				err = fmt.Errorf("%s got status %d: %s", name, response.StatusCode, body)
			}
			if err != nil {
				return took, err
			}
			took[kind] = append(took[kind], time.Since(begun))
			select {
			case <-time.After(modestPause):
			case <-ctx.Done():
				return took, ctx.Err()
			}
		}
	}
	return took, nil
}

func (m *modestClient) request(ctx context.Context, kind string) (request *http.Request, err error) {
	switch kind {
	case "get":
		request, err = http.NewRequestWithContext(ctx, http.MethodGet, m.address+"/partners/perks/"+m.perk, nil)
	case "list":
		request, err = http.NewRequestWithContext(ctx, http.MethodGet, m.address+"/partners/perks", nil)
	case "redeem":
		body := fmt.Sprintf(`{"user_id":"u-%06d"}`, shuffled(m.redeemed))
		m.redeemed++
		request, err = http.NewRequestWithContext(ctx, http.MethodPost, m.address+"/partners/perks/"+m.perk+"/redeem",
			strings.NewReader(body))
	case "token":
		request, err = http.NewRequestWithContext(ctx, http.MethodPost, m.address+"/auth/token", nil)
	}
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+m.token)
	if kind == "token" {
		request.SetBasicAuth(m.credentials.ID, m.credentials.Secret)
	}
	return request, nil
}
