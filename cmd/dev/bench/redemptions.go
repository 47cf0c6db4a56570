package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/store"
)

// redemptionSizes is how many redemptions there are. The last is compared with the first.
var redemptionSizes = []int64{10_000, 1_000_000}

const (
	listedPerks  = 20 // each has as many redemptions as the others
	decidedShare = 100
	decidedOf    = 4 // one of that many is decided, among those of its perk
)

// The perk that needs approval is one more than the hot ones.
const manualPerk = "manual"

// redemptionFilters are those of redemptions. MIDDLE is a time when half of them were made.
var redemptionFilters = []listFilter{
	{"none", ""}, {"own", "own=true"}, {"perk", "perk=" + hotPerk(hotPerks)}, {"user", "user=u-000001"},
	{"pending", "status=pending"}, {"approved", "status=approved"}, {"rejected", "status=rejected"},
	{"voided", "status=voided"},
	{"since", "since=MIDDLE"}, {"until", "until=MIDDLE"}, {"own, pending", "own=true&status=pending"},
	{"perk, approved", "perk=" + hotPerk(hotPerks) + "&status=approved"},
	{"perk, pending", "perk=" + manualPerk + "&status=pending"},
	{"own, perk, until", "own=true&until=MIDDLE&perk=" + hotPerk(hotPerks)},
}

// measureRedemptions compares pages of redemptions, with every filter in both orders, at a million with the same at ten
// thousand.
func measureRedemptions(ctx context.Context, l *harness) (*table, error) {
	t := newTable("Lists of redemptions (`redemptions`)", "filter", "store", "grows most", "10,000 redemptions",
		"1,000,000 redemptions")
	for _, kind := range []string{"PostgreSQL", "SQLite"} {
		var ask []askList
		var lists []*redemptionLists
		for _, size := range redemptionSizes {
			r, err := l.newRedemptionLists(ctx, kind, size)
			if err != nil {
				return nil, fmt.Errorf("making %s redemptions over %s: %w", grouped(size), kind, err)
			}
			ask, lists = append(ask, r.ask), append(lists, r)
		}
		if err := l.compareFilters(ctx, t, kind, redemptionFilters, everyOrder(api.RedemptionRecordSortFields()),
			ask); err != nil {
			return nil, err
		}
		if err := l.compareReports(ctx, t, kind, lists); err != nil {
			return nil, err
		}
	}
	t.note("Over HTTP, one connection, pages of %d, in both orders from the start and from the middle; p50 of %d "+
		"requests each, alternating. Two clients made as many each; one of %d perks needs approval, and 1 of %d "+
		"redemptions is rejected, and voided.",
		api.DefaultPerPage,
		l.rounds*listRequests, listedPerks, decidedShare)
	return t, nil
}

// askList requests a page several times over one connection. MIDDLE in the place is the cursor of the list's middle.
type askList func(ctx context.Context, filter, place string) ([]time.Duration, error)

// everyOrder is the first page and one far inside, in each order by one of the fields.
func everyOrder(fields []string) (places []string) {
	for _, field := range fields {
		places = append(places, "sort="+field, "sort=-"+field, "sort="+field+"&after=MIDDLE",
			"sort=-"+field+"&after=MIDDLE")
	}
	return places
}

// compareFilters is compareAs for lists that may not take longer.
func (l *harness) compareFilters(ctx context.Context, t *table, kind string, filters []listFilter, places []string,
	ask []askList) error {
	return l.compareAs(ctx, t, noSlower, kind, filters, places, ask)
}

// compareAs adds a row for each filter: the place where a page at the last size takes longest beside the same at the
// first.
func (l *harness) compareAs(ctx context.Context, t *table, wanted target, kind string, filters []listFilter,
	places []string, ask []askList) error {
	for _, filter := range filters {
		var worst float64
		var cells []string
		for _, place := range places {
			times := make([][]time.Duration, len(ask))
			for range l.rounds {
				for i, ask := range ask { // in turn, so that what else the machine does slows down both
					took, err := ask(ctx, filter.query, place)
					if err != nil {
						return fmt.Errorf("%s, %s over %s: %w", filter.name, place, kind, err)
					}
					times[i] = append(times[i], took...)
				}
			}
			small, large := percentile(times[0], 50), percentile(times[len(ask)-1], 50)
			if ratio := float64(large) / float64(small); ratio > worst {
				worst, cells = ratio, []string{filter.name, kind,
					strings.ReplaceAll(place, "&after=MIDDLE", ", far inside"), milliseconds(small),
					milliseconds(large)}
			}
		}
		t.add(worst, wanted, cells...)
		l.logf("%s on %s grows %.2f times", filter.name, kind, worst)
	}
	return nil
}

// askPage is askList at one address.
func (s *service) askPage(ctx context.Context, path string) ([]time.Duration, error) {
	return s.askTimes(ctx, path, listRequests)
}

func (s *service) askTimes(ctx context.Context, path string, count int64) ([]time.Duration, error) {
	request := s.get(path)
	report, err := Run(ctx, Plan{
		Address: s.address, Connections: 1, Warmup: 2, Count: count, Status: http.StatusOK,
		Request: func(buffer []byte, _ int64) []byte { return append(buffer, request...) },
	})
	return report.Latencies, err
}

// redemptionLists is a service with redemptions.
type redemptionLists struct {
	*service
	// when the first were made, and soon reportedRedemptions, and half of them
	begun, early, middle time.Time
}

func (l *harness) newRedemptionLists(ctx context.Context, kind string, size int64) (*redemptionLists, error) {
	database, err := l.newDatabase(ctx, kind, fmt.Sprintf("redemptions-%d", size))
	if err != nil {
		return nil, err
	}
	load, err := l.newRedeemLoad(ctx, database, redeemUsers)
	if err != nil {
		return nil, err
	}
	perk := fmt.Sprintf(`{"id":%q,"title":"Manual","description":"To be approved","city":"Bath","approval":"manual"}`,
		manualPerk)
	if _, err := l.runPerksd(ctx, database, strings.NewReader(perk), "import", "perks", "--format", "jsonl",
		"-"); err != nil {
		return nil, err
	}
	s := load.service
	other, err := l.newToken(ctx, s, database)
	if err != nil {
		return nil, err
	}
	perks := []string{manualPerk}
	for i := range listedPerks - 1 {
		perks = append(perks, hotPerk(hotPerks+i))
	}
	r := redemptionLists{begun: time.Now().UTC()}
	for _, part := range []struct {
		token       string
		first, last int64
		end         *time.Time
	}{{s.token, 0, reportedRedemptions, &r.early}, {s.token, reportedRedemptions, size / 2, &r.middle},
		{other, size / 2, size, new(time.Time)}} {
		request := redeemRequest(part.token, func(n int64) string { return perks[(n+n/redeemUsers)%listedPerks] },
			false)
		if part.first < part.last {
			plan := Plan{Address: s.address, Connections: manyConnections, Count: part.last - part.first,
				Status:  http.StatusCreated,
				Request: func(buffer []byte, n int64) []byte { return request(buffer, part.first+n) }}
			if _, err := Run(ctx, plan); err != nil {
				return nil, err
			}
		}
		*part.end = time.Now().UTC()
	}
	l.logf("made %s redemptions over %s in %s", grouped(size), kind, time.Since(r.begun).Round(time.Second))
	r.service = s
	return &r, errors.Join(r.decide(ctx, api.StatusPending, api.StatusRejected, size/decidedShare),
		r.decide(ctx, api.StatusApproved, api.StatusVoided, size/decidedShare))
}

// decide gives that many redemptions of one status another: of the first perk's, or the second's, one of each few, from
// the newest on.
func (r *redemptionLists) decide(ctx context.Context, of, to api.RedemptionStatus, count int64) error {
	c, err := r.client(nil)
	if err != nil {
		return err
	}
	var decisions errgroup.Group
	decisions.SetLimit(manyConnections)
	options := client.RedemptionListOptions{RedemptionFilter: api.RedemptionFilter{Status: of},
		ListOptions: client.ListOptions{PerPage: api.MaxPerPage}}
	for page, err := range c.RedemptionPages(ctx, options) {
		if err != nil {
			return err
		}
		for i, redemption := range page.Data {
			if i%decidedOf != 0 || count == 0 {
				continue
			}
			decisions.Go(func() error {
				_, _, err := c.Decide(ctx, redemption.ID, to, "as a sample", "")
				return err
			})
			count--
		}
		if count == 0 {
			break
		}
	}
	return decisions.Wait()
}

func (r *redemptionLists) ask(ctx context.Context, filter, place string) ([]time.Duration, error) {
	sort, err := api.ParseSort(strings.TrimPrefix(strings.Split(place, "&")[0], "sort="),
		api.RedemptionRecordSortFields())
	if err != nil {
		return nil, err
	}
	cursor := (&store.Cursor{Values: []any{r.middle}}).Text(sort)
	middle := url.QueryEscape(r.middle.Format(time.RFC3339Nano))
	query := strings.ReplaceAll(place, "MIDDLE", cursor) + "&" + strings.ReplaceAll(filter, "MIDDLE", middle)
	return r.askPage(ctx, "/partners/redemptions?"+query)
}
