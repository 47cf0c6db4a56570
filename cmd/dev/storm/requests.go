package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// world is what a generator knows of the target.
type world struct {
	perks, users, properties []string
	secrets, tokens          map[string]string // by client
}

// header is one line of a request's head.
type header struct{ name, value string }

// request is one request before it goes over the wire.
type request struct {
	number  int
	method  string
	target  string // path and query, as they are sent
	headers []header
	body    []byte
	hasBody bool
	torn    func([]byte) []byte // what happens to the bytes on the wire; nil is nothing
}

// bytes is the request as it goes over the wire.
func (r *request) bytes(host string) []byte {
	var wire bytes.Buffer
	fmt.Fprintf(&wire, "%s %s HTTP/1.1\r\nHost: %s\r\n", r.method, r.target, host)
	for _, h := range r.headers {
		fmt.Fprintf(&wire, "%s: %s\r\n", h.name, h.value)
	}
	if r.hasBody {
		fmt.Fprintf(&wire, "Content-Length: %d\r\n", len(r.body))
	}
	wire.WriteString("\r\n")
	if r.hasBody {
		wire.Write(r.body)
	}
	if r.torn != nil {
		return r.torn(wire.Bytes())
	}
	return wire.Bytes()
}

func (r *request) set(name, value string) {
	for i := range r.headers {
		if r.headers[i].name == name {
			r.headers[i].value = value
			return
		}
	}
	r.headers = append(r.headers, header{name, value})
}

// generator makes requests. The same seed, world and number make the same request.
type generator struct {
	seed uint64
	world
}

func newGenerator(seed uint64, w world) *generator { return &generator{seed: seed, world: w} }

// dice is the chance in one request.
type dice struct{ *rand.Rand }

func pick[T any](d dice, from ...T) T { return from[d.IntN(len(from))] }

// in is true once in n times.
func (d dice) in(n int) bool { return d.IntN(n) == 0 }

// request makes the request of a number: a valid one, of which a third stay as they are.
func (g *generator) request(number int) *request {
	d := dice{rand.New(rand.NewPCG(g.seed, uint64(number)))}
	r := g.valid(d)
	r.number = number
	for range pick(d, 0, 1, 1, 2, 2, 4) {
		g.mutate(d, r)
	}
	return r
}

// operations are the valid requests, each as often as it is listed.
var operations = []func(*generator, dice, *request){
	(*generator).list, (*generator).list, (*generator).list,
	(*generator).userPerks, (*generator).userPerks,
	(*generator).redeem, (*generator).redeem, (*generator).redeem, (*generator).redeem,
	(*generator).perk, (*generator).categories, (*generator).probe,
	(*generator).property, (*generator).updateProperty, (*generator).updateProperty, (*generator).updateProperty,
	(*generator).token, (*generator).deleteProperty,
}

func (g *generator) valid(d dice) *request {
	r := &request{method: "GET"}
	client := pick(d, "owner", "owner", "owner", "owner", "other", "reader", "sandbox")
	r.headers = []header{
		{"Authorization", "Bearer " + g.tokens[client]},
		{"X-Forwarded-For", fmt.Sprintf("203.0.%d.%d", d.IntN(256), d.IntN(256))},
	}
	pick(d, operations...)(g, d, r)
	return r
}

func (g *generator) base(d dice) string {
	return pick(d, "/v2/partners", "/v2/partners", "/v2/sandbox/partners")
}

func (g *generator) list(d dice, r *request) { r.target = g.base(d) + "/perks" + g.listQuery(d) }

func (g *generator) userPerks(d dice, r *request) {
	query := pick(d, "", "?type=available", "?type=redeemed", "?type=redeemed&page=2&sort=-redeemed_at", "?type=available&per_page=3")
	r.target = g.base(d) + "/perks/users/" + pick(d, g.users...) + query
}

func (g *generator) listQuery(d dice) string {
	values := url.Values{}
	for _, parameter := range []struct {
		name   string
		values []string
	}{
		{"page", []string{"1", "2", "10", "400"}},
		{"per_page", []string{"1", "5", "25", "100"}},
		{"sort", []string{"title", "-created_at", "title,-created_at", "city,category,merchant_name,-valid_to"}},
		{"q", []string{"coffee", "spa day", "Käse", "2 for 1"}},
		{"category", []string{"food", "Wellness", "travel"}},
		{"city", []string{"Berlin", "münchen", "Bath"}},
		{"include_expired", []string{"true", "false"}},
	} {
		if d.in(4) {
			values.Set(parameter.name, pick(d, parameter.values...))
		}
	}
	if d.in(4) {
		values.Set("lat", fmt.Sprintf("%.3f", d.Float64()*180-90))
		values.Set("lng", fmt.Sprintf("%.3f", d.Float64()*360-180))
		values.Set("radius", pick(d, "1", "10", "500"))
	}
	if len(values) == 0 {
		return ""
	}
	return "?" + values.Encode()
}

func (g *generator) perk(d dice, r *request) { r.target = g.base(d) + "/perks/" + pick(d, g.perks...) }

func (g *generator) categories(d dice, r *request) { r.target = g.base(d) + "/perks/categories" }

func (g *generator) probe(d dice, r *request) {
	r.target = pick(d, "/livez", "/readyz", "/v2/health", "/v2/health", "/v2/openapi.json", "/v2/nothing", "/docs")
}

func (g *generator) redeem(d dice, r *request) {
	r.method, r.target = "POST", g.base(d)+"/perks/"+pick(d, g.perks...)+"/redeem"
	body := map[string]any{"user_id": pick(d, g.users...)}
	if d.in(2) {
		body["metadata"] = map[string]any{"till": d.IntN(9), "note": pick(d, nasty...)}
	}
	if d.in(2) {
		r.set("Idempotency-Key", fmt.Sprintf("key-%d", d.IntN(5000)))
	}
	r.json(body)
}

func (g *generator) property(d dice, r *request) {
	r.target = "/v2/get-property/" + pick(d, g.properties...)
}

func (g *generator) deleteProperty(d dice, r *request) {
	r.method, r.target = "DELETE", "/v2/delete-property/"+pick(d, g.properties...)
	if !d.in(20) { // or soon there would be none
		r.set("If-Match", `"another"`)
	}
}

func (g *generator) updateProperty(d dice, r *request) {
	r.method, r.target = "PATCH", "/v2/update-property/"+pick(d, g.properties...)
	fields := []struct {
		name  string
		value any
	}{
		{"title", "A flat " + pick(d, nasty...)}, {"description", pick(d, nasty...)}, {"address", "1 High Street"}, {"city", "Bath"}, {"postcode", "BA1"},
		{"images", []string{"https://img.example/1.jpg"}}, {"price_pw", pick[any](d, "120.50", 120.5, "0", 99)}, {"bedrooms", d.IntN(9)},
		{"bathrooms", d.IntN(3)}, {"lat", pick[any](d, 51.4, nil)}, {"lng", pick[any](d, -2.3, nil)}, {"deposit", 250},
	}
	body := map[string]any{}
	for _, f := range fields {
		if d.in(3) {
			body[f.name] = f.value
		}
	}
	if d.in(5) {
		form := url.Values{}
		for name, value := range body {
			if value != nil && name != "images" {
				form.Set(name, fmt.Sprint(value))
			}
		}
		r.set("Content-Type", "application/x-www-form-urlencoded")
		r.body, r.hasBody = []byte(form.Encode()), true
		return
	}
	r.json(body)
}

func (g *generator) token(d dice, r *request) {
	id := pick(d, "owner", "other", "reader", "sandbox")
	secret := g.secrets[id]
	if d.in(3) {
		secret = pick(d, nasty...)
	}
	r.method, r.target = "POST", "/v2/auth/token"
	r.set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(id+":"+secret)))
	switch d.IntN(4) {
	case 0:
		r.json(map[string]any{"grant_type": "client_credentials", "scope": pick(d, "perks:read", "perks:read properties:read", "all")})
	case 1:
		r.set("Content-Type", "application/x-www-form-urlencoded")
		r.body, r.hasBody = []byte("grant_type=client_credentials&scope=perks%3Aread"), true
	}
}

// json puts a body in. Go writes the members of a map in order, so that chance alone decides.
func (r *request) json(body any) {
	encoded, err := json.Marshal(body)
	if err != nil {
		panic(fmt.Sprintf("a generated body cannot be written: %v", err)) // the generator's own fault
	}
	r.set("Content-Type", "application/json")
	r.body, r.hasBody = encoded, true
}

// path and query are the parts of the target.
func (r *request) path() string  { path, _, _ := strings.Cut(r.target, "?"); return path }
func (r *request) query() string { _, query, _ := strings.Cut(r.target, "?"); return query }

// answer is what came back for a request: nothing where the server has only closed the connection.
type answer struct {
	*http.Response
	body []byte
}

// wire is one connection to the server, made anew whenever it has to be.
type wire struct {
	address string
	conn    net.Conn
	reader  *bufio.Reader
}

const (
	// answerTime is more than the server takes to answer anything, or to give up on it.
	answerTime = 45 * time.Second
	// tornTime is how long an answer is waited for to what may be no whole request, for whose rest the server waits in turn.
	tornTime = 300 * time.Millisecond
)

// send sends the request and returns what was sent, and the answer. A connection that the server has closed meanwhile, as
// HTTP lets it, is replaced once. What is no request needs no answer.
func (w *wire) send(r *request) (sent []byte, a answer, err error) {
	sent = r.bytes(w.address)
	whole := r.torn == nil && isRequest(sent) // Go's server is stricter about a Host than what reads requests here
	fresh := w.conn == nil
	a, err = w.exchange(r, sent, whole)
	if isClosed(err) && !fresh && whole {
		a, err = w.exchange(r, sent, whole)
	}
	if err != nil && !whole {
		return sent, answer{}, nil
	}
	return sent, a, err
}

// maxHead is how long the head of a request may be; of a longer one the server reads no more.
const maxHead = 64 << 10

func isRequest(sent []byte) bool {
	head, _, _ := bytes.Cut(sent, []byte("\r\n\r\n"))
	if len(head) > maxHead {
		return false
	}
	request, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(sent)))
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, request.Body)
	return err == nil
}

func isClosed(err error) bool {
	var failure *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &failure) && !failure.Timeout()
}

func (w *wire) exchange(r *request, sent []byte, whole bool) (a answer, err error) {
	if err := w.open(); err != nil {
		return a, err
	}
	defer func() {
		if err != nil || r.torn != nil || a.Response != nil && a.Close {
			w.close()
		}
	}()
	patience := answerTime
	if !whole {
		patience = tornTime
	}
	if err := w.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return a, err
	}
	// A server may answer and close before it has read all: then the answer counts, and not that writing failed.
	_, writing := w.conn.Write(sent)
	response, err := http.ReadResponse(w.reader, &http.Request{Method: r.method})
	if err != nil {
		return a, errors.Join(err, writing)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return a, fmt.Errorf("reading the answer: %w", err)
	}
	return answer{response, body}, nil
}

func (w *wire) open() error {
	if w.conn != nil {
		return nil
	}
	conn, err := net.Dial("tcp", w.address)
	if err != nil {
		return err
	}
	w.conn, w.reader = conn, bufio.NewReader(conn)
	return nil
}

func (w *wire) close() {
	if w.conn != nil {
		_ = w.conn.Close() // all that mattered was read
		w.conn = nil
	}
}
