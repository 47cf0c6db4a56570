package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"example.com/perks/api"
	"example.com/perks/server"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

// loopback lets webhooks lead to receivers of a test.
func loopback(config *server.Config) {
	config.WebhookAllow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
}

// webhookReceiver takes what is posted to it, and answers as it is told.
type webhookReceiver struct {
	*httptest.Server
	got chan received

	mu     sync.Mutex
	answer func(w http.ResponseWriter, r received)
}

// received is one request.
type received struct {
	ID, Type, Subject string
	Data              api.Event
	header            http.Header
	body              []byte
	at                time.Time
}

func newWebhookReceiver(t *testing.T, answer func(http.ResponseWriter, received)) *webhookReceiver {
	t.Helper()
	w := &webhookReceiver{got: make(chan received, 10_000), answer: answer}
	w.Server = httptest.NewServer(http.HandlerFunc(w.serve))
	t.Cleanup(func() { w.CloseClientConnections(); w.Close() })
	return w
}

func (w *webhookReceiver) serve(out http.ResponseWriter, in *http.Request) {
	body, _ := io.ReadAll(in.Body)
	r := received{ID: in.Header.Get("webhook-id"), header: in.Header, body: body, at: time.Now()}
	_ = json.Unmarshal(body, &r)
	r.Subject = r.Data.Subject
	w.got <- r
	w.mu.Lock()
	answer := w.answer
	w.mu.Unlock()
	if answer != nil {
		answer(out, r)
	}
}

func (w *webhookReceiver) set(answer func(http.ResponseWriter, received)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answer = answer
}

func replying(status int, header ...string) func(http.ResponseWriter, received) {
	return func(w http.ResponseWriter, _ received) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		fmt.Fprint(w, "so\x00 it is")
	}
}

// next waits for a request.
func (w *webhookReceiver) next(t *testing.T) received {
	t.Helper()
	select {
	case r := <-w.got:
		return r
	case <-time.After(webhookWait):
		t.Fatal("nothing was sent in time")
		return received{}
	}
}

// webhookWait bounds each wait for a request.
const webhookWait = time.Minute

// hooked is a server with a client that has webhooks.
type hooked struct {
	*servertest.Server
	t     *testing.T
	id    string // of the client
	token string
	users int
}

func newHooked(t *testing.T, options ...func(*server.Config)) *hooked {
	t.Helper()
	h := &hooked{Server: servertest.Start(t, append([]func(*server.Config){loopback}, options...)...), t: t}
	h.id, h.token = h.Caller()
	h.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "tea"}}, store.PerkRecord{Perk: api.Perk{ID: "spa"}})
	return h
}

func (h *hooked) hooks() string { return h.LiveURL() + "/webhooks" }

// create makes a webhook, and returns it.
func (h *hooked) create(url string, types ...api.EventType) (hook api.WebhookSecret) {
	h.t.Helper()
	body, _ := json.Marshal(api.NewWebhook{URL: url, Types: types})
	if status := h.Do(h.Request(h.token, "POST", h.hooks(), string(body)), &hook); status != http.StatusCreated {
		h.t.Fatalf("a webhook at %s is %d", url, status)
	}
	return hook
}

// redeem redeems a perk for a new user, and returns the subject of its events.
func (h *hooked) redeem() string {
	h.t.Helper()
	h.users++
	user := fmt.Sprint("user", h.users)
	h.ImportUsers(user)
	var made api.Redemption
	if status := h.Do(h.Request(h.token, "POST", h.LiveURL()+"/perks/tea/redeem", `{"user_id":"`+user+`"}`),
		&made); status != http.StatusCreated {
		h.t.Fatalf("redeeming is %d", status)
	}
	return "redemption/" + made.ID
}

// change changes a perk, which is an event of the perk.
func (h *hooked) change(perk, title string) {
	h.t.Helper()
	if status := h.Status(h.token, "PATCH", h.LiveURL()+"/perks/"+perk, `{"title":"`+title+`"}`); status != 200 {
		h.t.Fatalf("a change is %d", status)
	}
}

func (h *hooked) get(id string) (hook api.Webhook) {
	h.t.Helper()
	hook, _ = servertest.Read[api.Webhook](h.Server, h.token, h.hooks()+"/"+id)
	return hook
}

// until reads a webhook until it is as it should be.
func (h *hooked) until(id, what string, is func(api.Webhook) bool) {
	h.t.Helper()
	h.eventually(what, func() bool { return is(h.get(id)) })
}

// eventually polls: the server tells nobody when it has kept something.
func (h *hooked) eventually(what string, is func() bool) {
	h.t.Helper()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for deadline := time.Now().Add(webhookWait); !is(); <-poll.C {
		if time.Now().After(deadline) {
			h.t.Fatalf("%s: it is not so", what)
		}
	}
}

// deliveries returns what was sent, oldest first, when there is that much.
func (h *hooked) deliveries(id string, least int) (sent []api.WebhookDelivery) {
	h.t.Helper()
	h.eventually(fmt.Sprint(least, " deliveries are kept"), func() bool {
		page, _ := servertest.Read[api.Page[api.WebhookDelivery]](h.Server, h.token, h.hooks()+"/"+id+"/deliveries")
		sent = page.Data
		return len(sent) >= least
	})
	slices.Reverse(sent)
	return sent
}

func (h *hooked) post(id, verb, body string, into any) int {
	h.t.Helper()
	return h.Do(h.Request(h.token, "POST", h.hooks()+"/"+id+"/"+verb, body), into)
}

func TestEventsArriveSignedAndInOrder(t *testing.T) {
	h := newHooked(t)
	receiver := newWebhookReceiver(t, replying(http.StatusOK))
	hook := h.create(receiver.URL+"/x?y=1", api.EventRedemptionMade, api.EventPerkChanged)
	reference, err := standardwebhooks.NewWebhook(hook.Secret)
	if err != nil {
		t.Fatal(err)
	}
	subject := h.redeem()
	for _, title := range []string{"A", "B", "C"} {
		h.change("spa", title)
	}
	if status := h.Status(h.token, "POST", h.LiveURL()+"/perks/tea/stock", `{"set":9}`); status != 200 {
		t.Fatal(status) // an event of a type that it does not get
	}
	h.change("tea", "Tea!")
	var order []string
	for range 5 {
		r := receiver.next(t)
		if err := reference.Verify(r.body, r.header); err != nil || r.ID != r.Data.ID || r.Data.Cursor == "" {
			t.Fatalf("%s of %s: %v", r.body, r.ID, err)
		}
		order = append(order, r.Type+" "+r.Subject)
		if r.Subject == subject && r.Data.Redemption == nil {
			t.Errorf("the event has no redemption: %s", r.body)
		}
	}
	slices.Sort(order)
	want := []string{"perk.changed perk/spa", "perk.changed perk/spa", "perk.changed perk/spa", "perk.changed perk/tea",
		"redemption.made " + subject}
	if !slices.Equal(order, want) {
		t.Errorf("it got %q", order)
	}
	events, _ := servertest.Read[api.EventPage](h.Server, h.token, h.LiveURL()+"/events?type=redemption.made")
	sent := h.deliveries(hook.ID, 5)
	if sent[0].Attempt != 1 || *sent[0].Status != 200 || sent[0].Error != nil || sent[0].Answer != "so  it is" ||
		!slices.ContainsFunc(sent, func(d api.WebhookDelivery) bool { return d.EventID == events.Data[0].ID }) {
		t.Errorf("the deliveries are %+v", sent)
	}
}

func TestAFailedSubjectWaitsAndOthersDoNot(t *testing.T) {
	t.Parallel()
	h := newHooked(t)
	broken := true
	receiver := newWebhookReceiver(t, nil)
	receiver.set(func(w http.ResponseWriter, r received) {
		if r.Subject == "perk/spa" && broken { // under receiver.mu no other answer is begun
			broken = false
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	hook := h.create(receiver.URL)
	h.change("spa", "first")
	first := receiver.next(t)
	h.until(hook.ID, "it fails", func(w api.Webhook) bool { return w.FailingSince != nil })
	h.change("spa", "second")
	h.change("tea", "other")
	if r := receiver.next(t); r.Subject != "perk/tea" {
		t.Fatalf("after the failure came %s", r.Subject)
	}
	again, second := receiver.next(t), receiver.next(t)
	if again.ID != first.ID || second.Subject != "perk/spa" || second.ID == first.ID ||
		string(again.body) != string(first.body) {
		t.Errorf("then came %s and %s, after %s", again.body, second.body, first.body)
	}
	if wait := again.at.Sub(first.at); wait < 4*time.Second || wait > 30*time.Second {
		t.Errorf("it was tried again after %s", wait)
	}
	h.until(hook.ID, "nothing fails", func(w api.Webhook) bool { return w.FailingSince == nil })
}

func TestAnEndpointThatIsGoneIsDisabledWithAnEvent(t *testing.T) {
	t.Parallel()
	h := newHooked(t)
	gone, other := newWebhookReceiver(t, replying(http.StatusGone)), newWebhookReceiver(t, nil)
	hook := h.create(gone.URL, api.EventPerkChanged) // not its own events, which come in no order with these
	h.create(other.URL, api.EventWebhookDisabled)
	_, stranger := h.Caller(api.ScopeWebhooksWrite)
	h.change("spa", "A")
	first := gone.next(t)
	h.until(hook.ID, "disabled", func(w api.Webhook) bool { return !w.Enabled && w.Reason != nil })
	event := other.next(t)
	if event.Type != string(api.EventWebhookDisabled) || event.Subject != "webhook/"+hook.ID {
		t.Errorf("the other one got %s", event.body)
	}
	for token, want := range map[string]int{h.token: 1, stranger: 0} {
		page, _ := servertest.Read[api.EventPage](h.Server, token, h.LiveURL()+"/events?type=webhook.disabled")
		if len(page.Data) != want {
			t.Errorf("a client sees %d such events, want %d", len(page.Data), want)
		}
	}
	gone.set(nil)
	h.change("spa", "B")
	if status := h.Status(h.token, "PATCH", h.hooks()+"/"+hook.ID, `{"enabled":true}`); status != http.StatusOK {
		t.Fatal(status)
	}
	again, second := gone.next(t), gone.next(t)
	if again.ID != first.ID || second.ID == first.ID || h.get(hook.ID).Reason != nil {
		t.Errorf("it goes on with %s and %s", again.ID, second.ID)
	}
}

func TestADeadEndpointDelaysNoOther(t *testing.T) {
	t.Parallel()
	h := newHooked(t)
	release := make(chan struct{})
	defer close(release)
	receiver := newWebhookReceiver(t, nil)
	hostile := map[string]string{} // ids of webhooks by what they say of themselves
	for says, answer := range map[string]func(http.ResponseWriter, received){
		"within 10 seconds":                         func(http.ResponseWriter, received) { <-release },
		"The answer was 500 Internal Server Error.": replying(http.StatusInternalServerError),
		"reset": func(w http.ResponseWriter, _ received) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_ = conn.(*net.TCPConn).SetLinger(0)
				conn.Close()
			}
		},
		"redirects are not followed": replying(http.StatusFound, "Location", receiver.URL),
		"400 Bad Request": func(w http.ResponseWriter, _ received) {
			w.WriteHeader(http.StatusBadRequest)
			for range 64 {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		},
		"server response headers exceeded": func(w http.ResponseWriter, _ received) {
			for i := range 100 {
				w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("x", 1<<10))
			}
		},
		"503 Service Unavailable": replying(http.StatusServiceUnavailable, "Retry-After", "3600"),
	} {
		hostile[says] = h.create(newWebhookReceiver(t, answer).URL).ID
	}
	h.create(receiver.URL)
	begun := time.Now()
	for i := range 20 {
		h.change([]string{"spa", "tea"}[i%2], fmt.Sprint(i))
	}
	for range 20 {
		receiver.next(t)
	}
	if took := time.Since(begun); took > 15*time.Second {
		t.Errorf("it took %s", took)
	}
	for says, id := range hostile {
		d := h.deliveries(id, 1)[0]
		if d.Error == nil || !strings.Contains(*d.Error, says) || d.NextAt == nil || len(d.Answer) > api.MaxWebhookAnswer {
			t.Errorf("%s: %+v, %v", says, d, d.Error)
		}
		if says[:3] == "503" && time.Until(*d.NextAt) < 50*time.Minute {
			t.Errorf("who asked for an hour is tried again at %s", d.NextAt)
		}
	}
	if len(receiver.got) > 0 {
		t.Error("a redirect was followed")
	}
}

func TestAddressesThatAreNotPublicAreRefused(t *testing.T) {
	s := servertest.Start(t)
	_, token := s.Caller()
	for _, url := range []string{
		"", "x", "ftp://example.com/", "https://", "https:///x", "https://u:p@example.com/", "https://example.com/#x",
		"https://example.com:0/", "https://example.com:65536/", "https://exa mple.com/", "http://93.184.216.34/",
		"https://127.0.0.1/", "https://10.1.2.3/", "https://169.254.169.254/latest", "https://[::1]/",
		"https://[::ffff:127.0.0.1]/", "https://[fe80::1%25eth0]/", "https://[fd00::1]/", "https://[64:ff9b::7f00:1]/",
		"https://100.64.0.1/", "https://0.0.0.0/", "https://localhost/", "http://localhost/",
		"https://" + strings.Repeat("a", 2100),
	} {
		body, _ := json.Marshal(map[string]string{"url": url})
		var refusal api.ErrorBody
		if status := s.Do(s.Request(token, "POST", s.LiveURL()+"/webhooks", string(body)), &refusal); status != 422 ||
			len(refusal.Errors["url"]) == 0 {
			t.Errorf("%.60s is %d with %v", url, status, refusal.Errors)
		}
	}
	for body, field := range map[string]string{
		`{"types":["perk.changed"]}`: "url", `{"url":"https://93.184.216.34/","types":["x"]}`: "types",
		`{"url":"https://93.184.216.34/","secret":"x"}`:   "secret",
		`{"url":"https://93.184.216.34/","enabled":true}`: "enabled",
	} {
		var refusal api.ErrorBody
		if s.Do(s.Request(token, "POST", s.LiveURL()+"/webhooks", body), &refusal); len(refusal.Errors[field]) == 0 {
			t.Errorf("%s: %v", body, refusal)
		}
	}
	if status := s.Status(token, "POST", s.LiveURL()+"/webhooks",
		`{"url":"https://93.184.216.34:8443/x","types":["webhook.disabled"]}`); status != 201 {
		t.Errorf("a public address is %d", status)
	}
}

func TestSecretsAreShownOnceAndRotate(t *testing.T) {
	var log logged
	h := newHooked(t, servertest.LogTo(&log))
	receiver := newWebhookReceiver(t, nil)
	body := `{"url":"` + receiver.URL + `"}`
	create := func() (response *http.Response, hook api.WebhookSecret) {
		request := h.Request(h.token, "POST", h.hooks(), body)
		request.Header.Set("Idempotency-Key", "k")
		response, text := h.Send(request)
		_ = json.Unmarshal(text, &hook)
		return response, hook
	}
	response, hook := create()
	if response.Header.Get("Location") != h.hooks()+"/"+hook.ID {
		t.Errorf("it is at %s", response.Header.Get("Location"))
	}
	again, same := create()
	if same.Secret != hook.Secret || same.ID != hook.ID || again.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("the key gives %v and then %v", hook.ID, same.ID)
	}
	var rotated api.WebhookSecret
	if status := h.post(hook.ID, "rotate-secret", "", &rotated); status != 200 || rotated.Secret == hook.Secret {
		t.Fatalf("rotating is %d", status)
	}
	if response, _ := create(); response.StatusCode != http.StatusConflict {
		t.Errorf("the key is %d after a rotation", response.StatusCode)
	}
	var tested api.WebhookDelivery
	if status := h.post(hook.ID, "test", "", &tested); status != 200 || tested.Error != nil || *tested.Status != 200 {
		t.Fatalf("a test is %d, %+v", status, tested)
	}
	r := receiver.next(t)
	for _, secret := range []string{hook.Secret, rotated.Secret} {
		reference, _ := standardwebhooks.NewWebhook(secret)
		if err := reference.Verify(r.body, r.header); err != nil || r.Type != "webhook.test" {
			t.Errorf("%s: %v", r.body, err)
		}
	}
	kept, err := h.Live.Webhook(t.Context(), h.id, hook.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"", "/" + hook.ID, "/" + hook.ID + "/deliveries"} {
		_, text := h.Get(h.token, h.hooks()+address)
		for _, secret := range []string{hook.Secret, rotated.Secret} {
			plain := strings.TrimPrefix(secret, "whsec_")
			if strings.Contains(string(text)+log.String()+string(kept.Secrets), plain) {
				t.Errorf("a secret is in a response, the log or the database")
			}
		}
	}
}

// logged is what a server logs.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func TestOnlyWhatTheClientMaySeeNowIsSent(t *testing.T) {
	t.Parallel()
	clock := clockAt(10)
	h := newHooked(t, servertest.WithClock(clock))
	receiver := newWebhookReceiver(t, nil)
	client, secret := h.Client(api.ScopeWebhooksWrite, api.ScopePerksRead, api.ScopeRedemptionsRead)
	other := *h
	other.id, other.token = client, h.TokenFor(client, secret)
	hook := other.create(receiver.URL)
	subject := h.redeem() // of another client
	h.change("spa", "A")
	if r := receiver.next(t); r.Subject != "perk/spa" {
		t.Fatalf("it got %s", r.Subject)
	}
	var refusal api.ErrorBody
	if status := other.post(hook.ID, "redeliver", `{"event_id":"`+subject+`"}`, &refusal); status != 404 {
		t.Errorf("sending another client's redemption again is %d", status)
	}
	witness := newWebhookReceiver(t, nil)
	h.create(witness.URL, api.EventPerkChanged)
	set := func(disabled bool) {
		if err := h.Live.SetClientDisabled(t.Context(), client, disabled, store.Operator, time.Now()); err != nil {
			t.Fatal(err)
		}
		clock.Advance(time.Minute) // clients are cached for seconds
	}
	set(true)
	h.change("spa", "B")
	if witness.next(t); len(receiver.got) > 0 {
		t.Errorf("a disabled client got %s", (<-receiver.got).body)
	}
	set(false)
	if r := receiver.next(t); r.Subject != "perk/spa" {
		t.Errorf("then it got %s", r.Subject)
	}
}

func TestAnEventIsSentAgain(t *testing.T) {
	h := newHooked(t)
	receiver := newWebhookReceiver(t, nil)
	hook := h.create(receiver.URL)
	subject := h.redeem()
	made := receiver.next(t)
	h.change("spa", "A")
	changed := receiver.next(t)
	for _, r := range []received{made, changed} {
		var again api.WebhookDelivery
		body, _ := json.Marshal(api.WebhookRedelivery{EventID: r.ID})
		if status := h.post(hook.ID, "redeliver", string(body), &again); status != 200 || again.EventID != r.ID ||
			again.Attempt != 0 {
			t.Errorf("%s again is %d, %+v", r.ID, status, again)
		}
		if got := receiver.next(t); got.ID != r.ID || got.Type != r.Type || got.Subject != r.Subject {
			t.Errorf("%s came as %s", r.ID, got.body)
		}
	}
	var refusal api.ErrorBody
	for _, id := range []string{"x", "perk/spa", subject + "/0123456789abcdef", "redemption/none"} {
		if status := h.post(hook.ID, "redeliver", `{"event_id":"`+id+`"}`, &refusal); status != 404 {
			t.Errorf("%s again is %d", id, status)
		}
	}
	limited := false
	for range 12 {
		limited = limited || h.post(hook.ID, "test", "", nil) == http.StatusTooManyRequests
	}
	if !limited {
		t.Error("tests are not limited")
	}
}

func TestAnArchivedPositionIsSaid(t *testing.T) {
	t.Parallel()
	h := newHooked(t)
	receiver := newWebhookReceiver(t, nil)
	hook := h.create(receiver.URL)
	begun := h.position(hook.ID)
	h.change("spa", "A")
	receiver.next(t)
	h.eventually("its position is kept", func() bool { return h.position(hook.ID) != begun })
	// As after a restore from an older copy: the position is later than the log.
	if _, err := h.Live.UpdateWebhook(t.Context(), h.id, hook.ID, store.Operator, time.Now(),
		func(w *store.Webhook) (string, error) {
			if w.Position = (store.AuditPlace{Since: "999999.999999"}); strings.Contains(string(begun.Since), ":") {
				w.Position.Since = "99999999:99999999:"
			}
			return store.ActionUpdateWebhook, nil
		}); err != nil {
		t.Fatal(err)
	}
	h.until(hook.ID, "disabled", func(w api.Webhook) bool {
		return w.Reason != nil && strings.Contains(*w.Reason, "newest events")
	})
	if status := h.Status(h.token, "PATCH", h.hooks()+"/"+hook.ID, `{"enabled":true}`); status != 200 {
		t.Fatal(status)
	}
	h.change("spa", "B")
	if r := receiver.next(t); r.Subject != "perk/spa" {
		t.Errorf("it goes on with %s", r.body)
	}
}

func (h *hooked) position(id string) store.AuditPlace {
	h.t.Helper()
	hook, err := h.Live.Webhook(context.Background(), h.id, id)
	if err != nil {
		h.t.Fatal(err)
	}
	return hook.Position
}

func TestTheSandboxHasItsOwnWebhooks(t *testing.T) {
	h := newHooked(t)
	receiver := newWebhookReceiver(t, nil)
	h.ImportSandboxPerks(store.PerkRecord{Perk: api.Perk{ID: "tea"}})
	var hook api.WebhookSecret
	if status := h.Do(h.Request(h.token, "POST", h.SandboxURL()+"/webhooks", `{"url":"`+receiver.URL+`"}`),
		&hook); status != 201 {
		t.Fatal(status)
	}
	h.change("tea", "live")
	if status := h.Status(h.token, "PATCH", h.SandboxURL()+"/perks/tea", `{"title":"x"}`); status != 200 {
		t.Fatal(status)
	}
	receiver.next(t)
	if len(receiver.got) > 0 || h.Status(h.token, "GET", h.hooks()+"/"+hook.ID, "") != 404 {
		t.Error("live and sandbox are not apart")
	}
}
