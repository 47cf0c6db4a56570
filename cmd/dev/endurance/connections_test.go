package endurance

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/perks/cmd/dev/programs"
)

// probeTime is how soon a caller is answered while others hold the connections. The timeout of a probe is often a
// second.
const probeTime = time.Second

// crowd is a server with few connections, and callers who hold them.
type crowd struct {
	*testing.T
	server       *programs.Server
	installation *programs.Installation
	token        string // of a caller who is well-behaved
	id, secret   string
}

const crowdConnections = 300

func newCrowd(t *testing.T, flags ...string) *crowd {
	t.Helper()
	i := programs.Install(t)
	server := i.Start(append([]string{"--max-connections", fmt.Sprint(crowdConnections)}, flags...)...)
	c := &crowd{T: t, installation: i, server: server}
	c.id, c.secret = i.Client("Good")
	c.token = programs.TokenOf(t, http.DefaultClient, c.server.URL, c.id, c.secret).AccessToken
	return c
}

// hostile is the token of a new client that may do little.
func (c *crowd) hostile() string {
	c.Helper()
	id, secret := c.installation.Client("Hostile", "--scope", "properties:create")
	return programs.TokenOf(c.T, http.DefaultClient, c.server.URL, id, secret).AccessToken
}

// open sends the beginning of a request on a connection of its own, which stays open until the end of the test.
func (c *crowd) open(request string) net.Conn {
	c.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.server.URL, "http://"))
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, request); err != nil {
		c.Fatal(err)
	}
	return conn
}

// stream opens a stream and returns the response, whose body it does not read.
func (c *crowd) stream(token string) *http.Response {
	c.Helper()
	conn := c.open("GET /v2/partners/events HTTP/1.1\r\nHost: perks.example\r\nAccept: text/event-stream\r\n" +
		"Authorization: Bearer " + token + "\r\n\r\n")
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		c.Fatal(err)
	}
	return response
}

// isOpenTo checks that others are answered soon, on new connections: probes and token requests, and all else if isAll.
func (c *crowd) isOpenTo(what string, isAll bool) {
	c.Helper()
	fresh := &http.Client{Timeout: probeTime, Transport: &http.Transport{DisableKeepAlives: true}}
	ask := func(method, path string, authorise func(*http.Request)) {
		c.Helper()
		request, err := http.NewRequest(method, c.server.URL+path, nil)
		if err != nil {
			c.Fatal(err)
		}
		authorise(request)
		var response *http.Response
		for range 8 { // the machine may be busy with other tests; whoever holds the connections does so for 10 s
			if response, err = fresh.Do(request); err == nil {
				break
			}
		}
		if err != nil {
			c.Errorf("%s: %v", what, err)
			return
		}
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			c.Errorf("%s: %s %s is %d", what, method, path, response.StatusCode)
		}
	}
	ask(http.MethodGet, "/readyz", func(*http.Request) {})
	ask(http.MethodGet, "/livez", func(*http.Request) {})
	ask(http.MethodPost, "/v2/auth/token", func(r *http.Request) { r.SetBasicAuth(c.id, c.secret) })
	if isAll {
		ask(http.MethodGet, "/v2/partners/perks",
			func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+c.token) })
	}
}

// TestOneClientsStreamsKeepNobodyOut opens as many streams as there are connections, in the long form within the rate
// limit.
func TestOneClientsStreamsKeepNobodyOut(t *testing.T) {
	t.Parallel()
	var flags []string
	if isLong() {
		flags = []string{"--rate-limit", "20/s"}
	}
	c := newCrowd(t, flags...)
	token := c.hostile()
	var ended atomic.Int64
	var reading sync.WaitGroup
	for n := range crowdConnections {
		response := c.stream(token)
		for response.StatusCode == http.StatusTooManyRequests {
			<-time.After(busyInterval)
			response = c.stream(token)
		}
		if response.StatusCode != http.StatusOK {
			t.Fatalf("the stream %d begins with %d", n, response.StatusCode)
		}
		reading.Go(func() {
			if _, err := io.Copy(io.Discard, response.Body); err == nil { // with the last chunk
				ended.Add(1)
			}
		})
	}
	c.isOpenTo("beside the streams of one client", true)
	eventually(t, atLast, "the older streams end",
		func() bool { return ended.Load() >= crowdConnections-clientStreams })
	if n := ended.Load(); n > crowdConnections-clientStreams {
		t.Errorf("%d streams ended, want %d", n, crowdConnections-clientStreams)
	}
	c.server.Terminate()
	reading.Wait()
}

// TestManyClientsStreamsLeaveHalfOfTheConnections also opens waits, which count as streams.
func TestManyClientsStreamsLeaveHalfOfTheConnections(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	begun, refused := 0, 0
	for range crowdConnections/clientStreams + 1 {
		token := c.hostile()
		for range clientStreams {
			switch response := c.stream(token); {
			case response.StatusCode == http.StatusOK:
				begun++
			case response.StatusCode == http.StatusServiceUnavailable && response.Header.Get("Retry-After") != "":
				refused++
			default:
				t.Fatalf("a stream begins with %d and %s", response.StatusCode, response.Header)
			}
		}
	}
	if begun != crowdConnections/2 || refused == 0 {
		t.Errorf("%d streams began, and %d were refused", begun, refused)
	}
	c.isOpenTo("beside the streams of many clients", true)
	reader := &eventReaders{T: t, token: c.token}
	page, err := reader.page(t.Context(), c.server.URL, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = reader.page(t.Context(), c.server.URL, page.Next, 1)
	if err == nil || !strings.HasPrefix(err.Error(), "503 ") {
		t.Errorf("a wait beside as many streams as there may be: %v", err)
	}
}

// TestAWaitThatIsReplacedEndsWithAnEmptyPage begins more waits than one client may have.
func TestAWaitThatIsReplacedEndsWithAnEmptyPage(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	page, err := (&eventReaders{T: t, token: c.token}).page(t.Context(), c.server.URL, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := make(chan error, clientStreams+1)
	for range clientStreams + 1 {
		go func() {
			again, err := (&eventReaders{T: t, token: c.token}).page(ctx, c.server.URL, page.Next, 10)
			if err == nil && (len(again.Data) > 0 || again.Next != page.Next) {
				err = fmt.Errorf("it has %d events", len(again.Data))
			}
			first <- err
		}()
	}
	if err := <-first; err != nil {
		t.Error(err)
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("the oldest wait ended after %s", took)
	}
}

// TestConnectionsThatDoNothingKeepNobodyOut has idle ones, and some whose requests never become complete.
func TestConnectionsThatDoNothingKeepNobodyOut(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	const get = "GET /v2/health HTTP/1.1\r\nHost: perks.example\r\n\r\n"
	for range crowdConnections {
		conn := c.open(get)
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			t.Fatal(err)
		}
	}
	c.isOpenTo("beside idle connections", true)

	unfinished := "POST /v2/partners/perks/spa/redeem HTTP/1.1\r\nHost: perks.example\r\n" +
		"Content-Type: application/json\r\nContent-Length: 100\r\nAuthorization: Bearer " + c.token + "\r\n\r\n"
	for range crowdConnections {
		c.open(unfinished)
	}
	c.isOpenTo("beside requests that do not end", false)
	c.isOpenTo("again", false)
}
