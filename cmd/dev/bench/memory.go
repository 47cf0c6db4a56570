package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"

	"example.com/perks/api"
)

const (
	memoryRequests  = 1_000_000
	idleConnections = 2_000

	listedPages = 4_000 // requested in rotation; many are the same
	singlePages = 50    // whose perks are requested one by one
)

// measureMemory measures the memory of perksd over a million perks: at rest, after many requests of all kinds, and then
// while many connections are open.
func measureMemory(ctx context.Context, l *harness) (*table, error) {
	result := newTableOf("MiB", "Memory of perksd (`memory`)", "over 1,000,000 perks", "store")
	for _, kind := range []string{"SQLite", "PostgreSQL"} {
		if err := l.addMemory(ctx, result, kind); err != nil {
			return nil, fmt.Errorf("over %s: %w", kind, err)
		}
	}
	result.note("VmRSS of perksd's process, in MiB: at rest when it has given a token, then right after the last "+
		"response, without waiting for the system to get memory back. The requests come over %d connections: 70 of "+
		"100 for single perks, 20 for pages of lists, with every filter in %d orders and deep inside too, 10 "+
		"redeem. The connections have had one response each.", manyConnections, len(mixedOrders))
	return result, nil
}

// addMemory is measureMemory on one store.
func (l *harness) addMemory(ctx context.Context, result *table, kind string) error {
	database, err := l.databaseWith(ctx, kind, allPerks)
	if err != nil {
		return err
	}
	load, err := l.newRedeemLoad(ctx, database, redeemUsers)
	if err != nil {
		return err
	}
	perksd := load.service
	add := func(when string, most float64) error {
		resident, err := perksd.resident()
		result.add(float64(resident), target{most, atMost}, when, kind)
		l.logf("memory over %s, %s: %s", kind, when, resident)
		return err
	}

	if err := add("at rest", 40); err != nil {
		return err
	}
	requests, lists, err := mixedRequests(ctx, perksd)
	if err != nil {
		return err
	}
	// The first page of a list in an order takes longest. Many such at once would exceed the time that perksd gives a
	// request.
	if _, err := Run(ctx, Plan{Address: perksd.address, Connections: 2, Count: listedPages, Status: http.StatusOK,
		Request: lists}); err != nil {
		return err
	}
	if _, err := Run(ctx, Plan{Address: perksd.address, Connections: manyConnections, Count: memoryRequests,
		Request: requests}); err != nil {
		return err
	}
	if err := add(fmt.Sprintf("after %s requests", grouped(memoryRequests)), 120); err != nil {
		return err
	}
	closeAll, err := perksd.openIdle(ctx)
	if err == nil {
		err = add(fmt.Sprintf("with %s idle connections", grouped(idleConnections)), 160)
	}
	return errors.Join(err, closeAll())
}

// resident is the memory that the service takes now.
func (s *service) resident() (mebibytes, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid))
	if resident := memoryIn(status, "VmRSS"); err == nil && resident > 0 {
		return resident, nil
	}
	return 0, errors.Join(err, errors.New("this system does not report the memory of a process"))
}

// mixedRequests are requests of all kinds, in the same order each time, and those of them for lists.
func mixedRequests(ctx context.Context, s *service) (all, lists func([]byte, int64) []byte, err error) {
	var pages, singles [][]byte
	for n := range int64(listedPages) {
		pages = append(pages, s.get(mixedList(n)))
	}
	for n := range int64(singlePages) {
		page := 1 + n*allPerks/100/singlePages
		body, err := s.fetch(ctx, fmt.Sprintf("/partners/perks?per_page=100&include_expired=true&page=%d", page))
		if err != nil {
			return nil, nil, err
		}
		var found api.Page[api.Perk]
		if err := json.Unmarshal(body, &found); err != nil {
			return nil, nil, fmt.Errorf("reading a page: %w", err)
		}
		for _, perk := range found.Data {
			singles = append(singles, s.get("/partners/perks/"+perk.ID))
		}
	}
	redeem := redeemRequest(s.token, func(n int64) string { return hotPerk(hotPerks + int(n)%manyPerks) }, true)
	lists = func(buffer []byte, n int64) []byte { return append(buffer, pages[n%listedPages]...) }
	return func(buffer []byte, n int64) []byte {
		switch kind, n := n%10, n/10; {
		case kind == 0:
			return redeem(buffer, n)
		case kind%5 == 1: // 1 and 6
			return lists(buffer, 2*n+kind/5)
		default:
			return append(buffer, singles[(10*n+kind)*7919%int64(len(singles))]...)
		}
	}, lists, nil
}

// Where sample perks are, and words that begin some of theirs.
var (
	mixedPlaces = []struct {
		city     string
		lat, lng float64
	}{
		{"Berlin", 52.52, 13.405}, {"Paris", 48.8566, 2.3522}, {"London", 51.5072, -0.1276},
		{"Tokyo", 35.6762, 139.6503}, {"New York", 40.7128, -74.006}, {"Sydney", -33.8688, 151.2093},
		{"Nairobi", -1.2921, 36.8219}, {"Suva", -18.1248, 178.4501},
	}
	mixedWords = []string{"coffee", "pizza friend", "spa golden", "guid tour", "lantern", "haircut members", "museum",
		"red fox shoe"}
)

// mixedOrders are so few that perksd can keep the order of all the lists. Otherwise deep pages would search and sort
// again, for hours.
var mixedOrders = []string{"-created_at", "title"}

// mixedList is the address of one page of a list: with a filter or without, in any of the orders, at the start or deep
// inside.
func mixedList(n int64) string {
	const kinds, deep = 5, 1 << 14 // deep pages, all of which there are in a list without a filter
	kind, rest := n%kinds, n/kinds
	order, rest := mixedOrders[rest%int64(len(mixedOrders))], rest/int64(len(mixedOrders))
	at, page := rest%int64(len(mixedPlaces)), 1+rest/int64(len(mixedPlaces))
	var filter api.PerkFilter
	switch place := mixedPlaces[at]; kind {
	case 1:
		filter.City = place.city
	case 2:
		filter.Near = &api.Circle{Lat: place.lat, Lng: place.lng, RadiusKM: 10}
	case 3:
		filter.Query = mixedWords[at]
	case 4:
		page = 1 + n*7919%deep
	}
	return fmt.Sprintf("/partners/perks?sort=%s&page=%d&%s", order, page, filter.Values().Encode())
}

// openIdle opens many connections, each of which stays open after its first response, until closeAll.
func (s *service) openIdle(ctx context.Context) (closeAll func() error, err error) {
	var open []net.Conn
	closeAll = func() (err error) {
		for _, conn := range open {
			err = errors.Join(err, conn.Close())
		}
		return err
	}
	for range idleConnections {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.address)
		if err != nil {
			return closeAll, err
		}
		open = append(open, conn)
		if _, err := conn.Write(s.get("/health")); err != nil {
			return closeAll, err
		}
		if status, err := readResponse(bufio.NewReader(conn)); err != nil || status != http.StatusOK {
			return closeAll, fmt.Errorf("an idle connection got status %d, %w", status, err)
		}
	}
	return closeAll, nil
}
