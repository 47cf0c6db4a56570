package specserver

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Server is an http.Handler that many may use at once. Its addresses begin with /v2.
type Server struct {
	Options
	URL string // of the API, such as http://127.0.0.1:8080/v2; set by Start

	mu         sync.Mutex
	record     Record
	perks      []perk
	users      map[string]bool
	properties map[string]*property
	replies    map[string]keyed // by idempotency key
	struck     map[int]int      // how many requests each fault has matched
	held       []held
}

// response is a response before it is written.
type response struct {
	status int
	header map[string]string
	body   []byte
}

// keyed is the first response to an idempotency key, and what it was for.
type keyed struct {
	request string
	response
}

// New returns a server that nothing was asked yet.
func New(options Options) *Server {
	s := &Server{
		Options: options, users: map[string]bool{}, properties: map[string]*property{},
		replies: map[string]keyed{}, struck: map[int]int{},
	}
	s.fill()
	return s
}

// Start starts a server, which ends with the test. A test that fails is told the server's freedoms.
func Start(t testing.TB, options Options) *Server {
	t.Helper()
	s := New(options)
	listening := httptest.NewServer(s)
	s.URL = listening.URL + "/v2"
	t.Cleanup(func() {
		listening.Close()
		if t.Failed() {
			t.Logf("the server took the freedoms %v", s.Freedoms)
		}
	})
	return s
}

func (s *Server) now() time.Time {
	now := time.Now
	if s.Now != nil {
		now = s.Now
	}
	return now().Add(time.Duration(s.ClockOff))
}

// ServeHTTP answers a request, or lets it fail as a fault says.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	request := Request{
		Method: r.Method, Path: r.URL.EscapedPath(), Query: r.URL.Query(), Header: r.Header.Clone(), Body: string(body),
	}
	request.Header.Set("Host", r.Host)
	reply := s.take(&request)
	if reply.status == 0 {
		hangUp(w, request.Fault.Reply == ReplyReset)
		return
	}
	s.send(w, request, reply)
}

// take notes a request, and returns the reply to send.
func (s *Server) take(request *Request) response {
	s.mu.Lock()
	defer s.mu.Unlock()
	request.Number = len(s.record.Requests) + 1
	request.Fault = s.strike(*request)
	s.record.Requests = append(s.record.Requests, *request)
	reply := s.replyTo(*request)
	s.release(func(h held) bool {
		return h.after != "" && h.request.Number != request.Number && matches(h.after, *request)
	})
	s.record.Requests[request.Number-1].Status = reply.status
	return reply
}

// AddUsers adds users.
func (s *Server) AddUsers(ids ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		s.users[id] = true
	}
}

// AddRedemption adds a redemption of so long ago, which no request made.
func (s *Server) AddRedemption(perkID, userID string, metadata json.RawMessage, age time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record.Redemptions = append(s.record.Redemptions, Redemption{
		ID: fmt.Sprintf("red_%d", len(s.record.Redemptions)+1), PerkID: perkID, UserID: userID, Metadata: metadata,
		At: s.now().Add(-age), Status: s.NewStatus.word(),
	})
}

// RedeemByAnother redeems a perk without metadata as another client does, without a fault and without a key.
func (s *Server) RedeemByAnother(perkID, userID string) {
	s.byAnother(object{"user_id": userID}, func(r Request) response { return s.redeem(r, perkID) })
}

// ChangeByAnother updates fields of a property as another client does, without a fault.
func (s *Server) ChangeByAnother(propertyID string, fields map[string]any) {
	s.byAnother(fields, func(r Request) response { return s.changeProperty(r, propertyID) })
}

func (s *Server) byAnother(body object, do func(Request) response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	request := Request{Number: len(s.record.Requests) + 1, Body: string(encode(body))}
	s.record.Requests = append(s.record.Requests, request)
	s.record.Requests[request.Number-1].Status = do(request).status
}

func (s *Server) send(w http.ResponseWriter, request Request, reply response) {
	w.Header().Set("Date", s.now().UTC().Format(http.TimeFormat))
	isProxy := request.Fault != nil && request.Fault.Reply == ReplyPage
	if key := request.Header.Get("Idempotency-Key"); key != "" && s.EchoesKeys && !isProxy {
		w.Header().Set("Idempotency-Key", key)
	}
	for name, value := range reply.header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(reply.status)
	_, _ = w.Write(reply.body)
}

// work does what a request asks for.
func (s *Server) work(request Request) response {
	rest, isOurs := strings.CutPrefix(request.Path, "/v2/")
	parts := strings.Split(rest, "/")
	for i, part := range parts {
		decoded, err := url.PathUnescape(part)
		if err != nil {
			return s.refuse(400, "The address is not escaped correctly", nil)
		}
		parts[i] = decoded
	}
	endpoint := ""
	var handle func() response
	switch {
	case !isOurs:
	case rest == "auth/token":
		endpoint, handle = "POST", func() response { return s.issueToken(request) }
	case rest == "partners/perks":
		endpoint, handle = "GET", func() response { return s.listPerks(request) }
	case rest == "partners/perks/categories":
		endpoint, handle = "GET", s.listCategories
	case len(parts) == 4 && strings.HasPrefix(rest, "partners/perks/users/"):
		endpoint, handle = "GET", func() response { return s.listOfUser(request, parts[3]) }
	case len(parts) == 3 && strings.HasPrefix(rest, "partners/perks/"):
		endpoint, handle = "GET", func() response { return s.getPerk(parts[2]) }
	case len(parts) == 4 && strings.HasPrefix(rest, "partners/perks/") && parts[3] == "redeem":
		endpoint, handle = "POST", func() response { return s.redeem(request, parts[2]) }
	case len(parts) == 2 && parts[0] == "get-property":
		endpoint, handle = "GET", func() response { return s.getProperty(parts[1]) }
	case len(parts) == 2 && parts[0] == "update-property":
		endpoint, handle = "PATCH", func() response { return s.changeProperty(request, parts[1]) }
	case len(parts) == 2 && parts[0] == "delete-property":
		endpoint, handle = "DELETE", func() response { return s.changeProperty(request, parts[1]) }
	}
	switch {
	case handle == nil:
		return s.elsewhere()
	case request.Method != endpoint:
		return s.refuse(405, "Method not allowed", nil)
	case rest != "auth/token" && !s.isAuthenticated(request):
		return s.refuse(401, "Missing or invalid access token", nil)
	}
	return handle()
}

func (s *Server) elsewhere() response {
	switch s.Elsewhere {
	case ElsewherePage:
		return page(404)
	case ElsewhereLanding:
		return page(200)
	case ElsewhereNoMethod:
		return s.refuse(405, "Method not allowed", nil)
	}
	return s.refuse(404, "No such address", nil)
}

func page(status int) response {
	text := fmt.Sprintf("<!DOCTYPE html>\n<html><head><title>Edge %d</title></head><body>Sorry</body></html>\n", status)
	return response{status, map[string]string{"Content-Type": "text/html"}, []byte(text)}
}

func (s *Server) reply(status int, value any) response {
	return response{status, map[string]string{"Content-Type": "application/json"}, encode(value)}
}

func (s *Server) refuse(status int, message string, fields map[string][]string) response {
	body := object{"response": message}
	if fields != nil {
		body["errors"] = fields
	}
	switch s.Codes {
	case CodesWords:
		body["code"] = "ERR_" + strings.ToUpper(strings.ReplaceAll(http.StatusText(status), " ", "_"))
	case CodesNumbers:
		body["code"] = status
	}
	reply := s.reply(status, body)
	reply.header["Content-Type"] = cmp.Or(string(s.ErrorType), "application/json")
	return reply
}

func (s *Server) issueToken(request Request) response {
	basic, isBasic := strings.CutPrefix(request.Header.Get("Authorization"), "Basic ")
	decoded, err := base64.StdEncoding.DecodeString(basic)
	id, secret, _ := strings.Cut(string(decoded), ":")
	if s.Secrets == SecretsDecoded {
		id, _ = url.QueryUnescape(id) // what cannot be decoded becomes "", which is wrong too
		secret, _ = url.QueryUnescape(secret)
	}
	if !isBasic || err != nil || id != ClientID || secret != ClientSecret {
		return s.refuse(cmp.Or(int(s.LoginCode), 401), "Unknown client or wrong secret", nil)
	}
	const lifetime = time.Hour
	until := s.now().Add(lifetime)
	part := func(value object) string { return base64.RawURLEncoding.EncodeToString(encode(value)) }
	token := strings.Join([]string{part(object{"alg": "HS256", "typ": "JWT"}),
		part(object{"sub": ClientID, "exp": until.Unix(), "jti": request.Number}), part(object{"signed": true})}, ".")
	s.record.Tokens = append(s.record.Tokens, Token{Value: token, Until: until, Request: request.Number})
	body := object{"access_token": token, "token_type": "Bearer"}
	seconds := strconv.Itoa(int(lifetime.Seconds()))
	switch s.ExpiresIn {
	case ExpiresNumber:
		body["expires_in"] = json.RawMessage(seconds)
	case ExpiresText:
		body["expires_in"] = seconds
	case ExpiresFloat:
		body["expires_in"] = json.RawMessage(seconds + ".0")
	}
	return s.reply(200, s.withExtras(body))
}

func (s *Server) isAuthenticated(request Request) bool {
	for i, token := range s.record.Tokens {
		if request.Header.Get("Authorization") == "Bearer "+token.Value {
			s.record.Tokens[i].Uses++
			return s.now().Before(token.Until) && (s.TokenUses == 0 || token.Uses < s.TokenUses)
		}
	}
	return false
}
