package endurance

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/cmd/dev/programs"
)

// memoryOfStreams is what the server may take, in KiB, with streams that are never read.
const memoryOfStreams = 256 << 10

// TestStreamsThatAreNeverReadTakeLittleMemory opens streams behind many events, all from the start, and reads none of
// them. The long form has as many as the fault was found with, and more than one client may have.
func TestStreamsThatAreNeverReadTakeLittleMemory(t *testing.T) {
	clients, redemptions, changes := 10, 400, 150
	if isLong() {
		clients, redemptions, changes = 63, 4000, 1500
		allowManyFiles(t)
	}
	for name, log := range map[string]func(t *testing.T, url, token string){
		"redemptions with metadata": func(t *testing.T, url, token string) {
			redeemWithMetadata(t, url, token, redemptions)
		},
		"long listings": func(t *testing.T, url, token string) { changeLongListing(t, url, token, changes) },
	} {
		t.Run(name, func(t *testing.T) {
			i := programs.Install(t)
			i.ImportCSV("users", usersCSV(redemptions))
			i.ImportCSV("perks", perkCSV("rush", redemptions))
			server := i.Start("--metrics-addr", "127.0.0.1:0", "--audit-rate", "0") // the entries must be many
			metrics := server.MetricsURL(t)
			id, secret := i.Client("Busy", "--scope", strings.ReplaceAll(api.AllScopes().String(), " ", ","))
			token := programs.TokenOf(t, http.DefaultClient, server.URL, id, secret).AccessToken
			starts := []string{eventsNow(t, server.URL, token)}
			log(t, server.URL, token)
			for range 7 {
				page, err := (&eventReaders{T: t, token: token}).page(t.Context(), server.URL, starts[len(starts)-1], 0)
				if err != nil {
					t.Fatal(err)
				}
				starts = append(starts, page.Next)
			}
			begun := time.Now()
			inParallel(t, 32, 32, token, http.MethodGet, server.URL+"/v2/partners/events?per_page=1",
				func(int) string { return "" })
			t.Logf("32 callers see the newest event within %s", time.Since(begun).Round(time.Millisecond))
			before := memory(t, server)
			var opened sync.WaitGroup
			begun = time.Now()
			for c := range clients {
				id, secret := i.Client("Hostile", "--scope", "redemptions:read,redemptions:read-all,properties:read")
				own := programs.TokenOf(t, http.DefaultClient, server.URL, id, secret).AccessToken
				for range clientStreams {
					opened.Go(func() { openSilently(t, server.URL, own, starts[c%len(starts)]) })
				}
			}
			opened.Wait()
			opening := time.Since(begun)
			begun = time.Now()
			if status := programs.StatusOf(t, server.URL+"/v2/partners/perks", token); status != http.StatusOK {
				t.Errorf("another caller gets %d", status)
			}
			took := time.Since(begun)
			peak := memory(t, server)
			t.Logf("%d streams that are not read begin within %s and take %d MiB, %d before; "+
				"another caller is answered within %s", clients*clientStreams,
				opening.Round(time.Millisecond), peak>>10, before>>10, took.Round(time.Millisecond))
			if peak > memoryOfStreams {
				t.Errorf("the server takes %d MiB, want at most %d", peak>>10, memoryOfStreams>>10)
			}
			if !isLong() {
				return
			}
			const ended = `perks_event_listeners_ended_total{reason="slow"} `
			took = eventually(t, time.Minute, "all streams ended that took nothing for 30 s", func() bool {
				_, rest, _ := strings.Cut(metricsAt(t, metrics), ended)
				count, _, _ := strings.Cut(rest, "\n")
				n, _ := strconv.Atoi(count)
				return n >= clients*clientStreams
			})
			t.Logf("they were ended within %s", took.Round(time.Second))
		})
	}
}

// clientStreams is how many streams a client may have.
const clientStreams = 16

// openSilently begins a stream, waits until it has begun, and reads no more.
func openSilently(t *testing.T, url, token, after string) {
	dialer := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) error {
		return raw.Control(func(fd uintptr) {
			_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096)
		})
	}}
	conn, err := dialer.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Error(err)
		return
	}
	t.Cleanup(func() { conn.Close() })
	_, err = fmt.Fprintf(conn, "GET /v2/partners/events HTTP/1.1\r\nHost: perks.example\r\nAccept: "+
		"text/event-stream\r\nLast-Event-ID: %s\r\nAuthorization: Bearer %s\r\n\r\n", after, token)
	if err != nil {
		t.Error(err)
		return
	}
	first := make([]byte, len("HTTP/1.1 200"))
	if _, err := io.ReadFull(conn, first); err != nil || string(first) != "HTTP/1.1 200" {
		t.Errorf("a stream begins with %q: %v", first, err)
	}
}

// eventsNow returns the position of now.
func eventsNow(t *testing.T, url, token string) string {
	t.Helper()
	e := &eventReaders{T: t, token: token}
	page, err := e.page(t.Context(), url, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	return page.Next
}

func redeemWithMetadata(t *testing.T, url, token string, n int) {
	t.Helper()
	metadata := `{"note":"` + strings.Repeat("m", 16<<10-20) + `"}`
	inParallel(t, n, 8, token, http.MethodPost, url+"/v2/partners/perks/rush/redeem", func(i int) string {
		return fmt.Sprintf(`{"user_id":%q,"metadata":%s}`, userNumber(i), metadata)
	})
}

// changeLongListing makes entries of 220 KB in the audit log.
func changeLongListing(t *testing.T, url, token string, n int) {
	t.Helper()
	const listing = `{"title":"Flat","price_pw":"100"}`
	response, body, err := asClient(token).send(http.MethodPost, url+"/v2/partners/properties", listing, nil)
	if err != nil {
		t.Fatal(err)
	}
	var created api.Property
	if err := json.Unmarshal(body, &created); err != nil || response.StatusCode != http.StatusCreated {
		t.Fatalf("the property: %d, %v", response.StatusCode, err)
	}
	inParallel(t, n, 8, token, http.MethodPatch, fmt.Sprintf("%s/v2/update-property/%d", url, created.ID), longPatch)
}

func longPatch(n int) string {
	var images []string
	for i := range api.MaxImages {
		images = append(images, fmt.Sprintf(`"https://example.com/%d/%d/%s"`, n, i, strings.Repeat("i", 2000)))
	}
	return `{"images":[` + strings.Join(images, ",") + `]}`
}

// inParallel sends n requests, which must succeed.
func inParallel(t *testing.T, n, atOnce int, token, method, url string, body func(int) string) {
	t.Helper()
	var sending sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for i := range n {
		slots <- struct{}{}
		sending.Go(func() {
			defer func() { <-slots }()
			response, text, err := asClient(token).send(method, url, body(i), nil)
			if err != nil || response.StatusCode >= http.StatusMultipleChoices {
				t.Errorf("%s %s: %v, %s", method, url, err, text)
			}
		})
	}
	sending.Wait()
}
