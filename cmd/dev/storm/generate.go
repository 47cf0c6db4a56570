// Package storm generates requests, valid ones and randomly changed ones, and checks the responses of a server to them.
// A request follows from the seed and its number alone, so that a failed one can be repeated.
package storm

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/perks/api"
)

const jsonType = "application/json"

// fixtures are what a generator knows of the target.
type fixtures struct {
	perks, users, properties, redemptions, webhooks []string
	versions                                        []version
	secrets, tokens                                 map[string]string // by client
}

// version is one of a property of the owner, that the property had at a time.
type version struct{ property, etag, at string }

// generator makes requests. The same seed, fixtures and number make the same request.
type generator struct {
	seed uint64
	fixtures
	operations []operation // each as often as it is worth
	parameters []string    // names of those in queries
}

// operation is one of the API description, at one address.
type operation struct {
	*openapi3.Operation
	method, path string
}

// weights say how often operations are sent, beside defaultWeight for the others: more of those in which most can go
// wrong, and little of the description itself, because to read its YAML takes longer than to check fifty other
// responses.
var weights = map[string]int{
	"listPerks": 12, "listUserPerks": 8, "redeemPerk": 16, "updateProperty": 24, "listProperties": 12,
	"createProperty": 8, "getProperty": 8, "deleteProperty": 8, "issueToken": 8, "restoreProperty": 8,
	"getDescriptionJSON": 1, "getDescriptionYAML": 1,
}

const defaultWeight = 4

// nowhere is the address of webhooks, where nobody listens.
const nowhere = "http://127.0.0.1:1/"

func newGenerator(seed uint64, w fixtures) *generator {
	document, err := openapi3.NewLoader().LoadFromData(api.OpenAPI())
	if err != nil {
		panic(fmt.Sprintf("reading the API description: %v", err)) // a fault of this module
	}
	g := &generator{seed: seed, fixtures: w, parameters: []string{"access_token", "unknown"}}
	for _, path := range document.Paths.Keys() {
		item := document.Paths.Value(path)
		for method, o := range item.Operations() {
			servers := item.Servers
			if servers == nil {
				servers = document.Servers
			}
			for _, server := range servers {
				one := operation{o, method, strings.TrimSuffix(server.URL, "/") + path}
				g.operations = append(g.operations,
					slices.Repeat([]operation{one}, cmp.Or(weights[o.OperationID], defaultWeight))...)
			}
			for _, p := range o.Parameters {
				if p.Value.In == openapi3.ParameterInQuery {
					g.parameters = append(g.parameters, p.Value.Name)
				}
			}
		}
	}
	slices.SortFunc(g.operations, func(a, b operation) int { return strings.Compare(a.method+a.path, b.method+b.path) })
	slices.Sort(g.parameters)
	return g
}

// random makes the choices of one request.
type random struct{ *rand.Rand }

func pick[T any](d random, from ...T) T { return from[d.IntN(len(from))] }

// oneIn is true once in n times.
func (d random) oneIn(n int) bool { return d.IntN(n) == 0 }

// request makes the request of a number: a valid one, of which a sixth stays as it is.
func (g *generator) request(number int) *request {
	d := random{rand.New(rand.NewPCG(g.seed, uint64(number)))}
	r := g.valid(d)
	r.number = number
	for range pick(d, 0, 1, 1, 2, 2, 4) {
		pick(d, mutations...)(g, d, r)
	}
	return r
}

// valid makes a request of one of the operations, with some of its parameters.
func (g *generator) valid(d random) *request {
	client := pick(d, "owner", "owner", "owner", "owner", "other", "reader", "sandbox")
	r := &request{method: "GET", headers: []header{
		{"Authorization", "Bearer " + g.tokens[client]},
		{"X-Forwarded-For", fmt.Sprintf("203.0.%d.%d", d.IntN(256), d.IntN(256))},
	}}
	if d.oneIn(30) {
		r.target = pick(d, "/v2/nothing", "/docs")
		return r
	}
	o := pick(d, g.operations...)
	r.method, r.target = o.method, o.path
	query, near := url.Values{}, d.oneIn(4)
	for _, p := range o.Parameters {
		name, value := p.Value.Name, fmt.Sprint(g.value(d, p.Value.Name, p.Value.Schema.Value, p.Value.Example))
		switch {
		case p.Value.In == openapi3.ParameterInPath:
			r.target = strings.Replace(r.target, "{"+name+"}", value, 1)
		case p.Value.In == openapi3.ParameterInHeader:
			if d.oneIn(4) {
				r.set(name, value)
			}
		case name == "lat" || name == "lng" || name == "radius": // which need each other
			if near {
				query.Set(name, value)
			}
		case d.oneIn(4) && name != "latitude" && name != "longitude": // other names, which must say the same
			query.Set(name, value)
		}
	}
	if len(query) > 0 {
		r.target += "?" + query.Encode()
	}
	switch {
	case o.OperationID == "issueToken":
		secret := g.secrets[client]
		if d.oneIn(3) {
			secret = pick(d, hostileTexts...)
		}
		r.set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(client+":"+secret)))
	case o.OperationID == "deleteProperty" && !d.oneIn(20): // or soon there would be none
		r.set("If-Match", `"another"`)
	}
	if o.OperationID == "restoreProperty" {
		v := pick(d, g.versions...)
		r.target = strings.Replace(o.path, "{propertyId}", v.property, 1)
		r.json(pick(d, map[string]string{}, map[string]string{"etag": v.etag}, map[string]string{"as_of": v.at}))
	} else if o.RequestBody != nil && (o.RequestBody.Value.Required || d.oneIn(2)) {
		r.json(g.body(d, o.RequestBody.Value.Content.Get(jsonType).Schema.Value))
	}
	return r
}

// body has all members that must be there, and some of the others.
func (g *generator) body(d random, schema *openapi3.Schema) map[string]any {
	if len(schema.AnyOf) > 0 { // an object, or what is ignored
		schema = schema.AnyOf[0].Value
	}
	body := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		if name != "propertyId" && (slices.Contains(schema.Required, name) || d.oneIn(3)) {
			body[name] = g.value(d, name, schema.Properties[name].Value, nil)
		}
	}
	return body
}

// value makes one that the schema of a parameter or member allows, as a rule.
func (g *generator) value(d random, name string, s *openapi3.Schema, example any) any {
	switch name {
	case "perkId", "perk":
		return pick(d, g.perks...)
	case "userId", "user_id", "user":
		return pick(d, g.users...)
	case "redemptionId":
		return pick(d, g.redemptions...)
	case "propertyId":
		return pick(d, g.properties...)
	case "webhookId":
		return pick(d, g.webhooks...)
	case "url":
		return pick(d, nowhere, "https://192.0.2.1/", "https://user@192.0.2.1/", "ftp://192.0.2.1/")
	case "types":
		return []any{pick(d, api.EventTypes()...)}
	case "as_of":
		return pick(d, g.versions...).at
	case "Idempotency-Key":
		return fmt.Sprintf("key-%d", d.IntN(5000))
	case "scope":
		return pick(d, "perks:read", "perks:read properties:read", "all")
	}
	if example == nil {
		example = s.Example
	}
	switch alternatives := slices.Concat(s.OneOf, s.AnyOf); {
	case len(alternatives) > 0:
		return g.value(d, name, pick(d, alternatives...).Value, nil)
	case s.Enum != nil:
		return pick(d, s.Enum...)
	case s.Nullable && d.oneIn(4):
		return nil
	case example != nil && (s.Pattern != "" || d.oneIn(2)):
		return example
	case s.Pattern != "":
		return strings.Trim(s.Pattern, "^$") // of those without an example, a word
	case s.Type.Is("boolean"):
		return d.oneIn(2)
	case s.Type.Is("array"):
		return []any{g.value(d, "", s.Items.Value, nil)}
	case s.Type.Is("object"):
		return map[string]any{"till": d.IntN(9), "note": pick(d, hostileTexts...)}
	case s.Type.Is("integer"), s.Type.Is("number"):
		low, high := 0.0, math.Inf(1)
		if s.Min != nil {
			low = *s.Min
		}
		if s.Max != nil {
			high = *s.Max
		}
		n := low + d.Float64()*min(high-low, 400)
		if s.Type.Is("integer") {
			return math.Floor(n)
		}
		return math.Round(n*1000) / 1000
	case d.oneIn(3):
		return pick(d, hostileTexts...)
	}
	return pick(d, "coffee", "spa day", "Käse", "2 for 1", "Wellness", "Berlin", "münchen", "1 High Street")
}

// hostileTexts are texts that have broken one program or another.
var hostileTexts = []string{
	"", " ", "\x00", "\t\r\n", "a\x00b", "null", "true", "0", "-1", "1e309", "NaN", "9223372036854775808", "0x10",
	"١٢٣",
	"' OR 1=1 --", "\"; DROP TABLE perks; --", "%", "%_", "%00", "%zz", "%2e%2e%2f", "../../etc/passwd", "..\\..",
	"{{7*7}}", "${jndi:ldap://x}",
	"<script>alert(1)</script>", "\x1b[31mred\x1b[0m", "\u202eevil", "e\u0301", "ﷺ", "\xff\xfe", "\xed\xa0\x80",
	"👩‍👩‍👧‍👧", "ß", "İ", "\u0130\u0131", "\ufeff",
	strings.Repeat("a", 256), strings.Repeat("漢", 3000), strings.Repeat("(", 2000), strings.Repeat("word ", 400),
}

// mutations are what can happen to a request, each as often as it is listed.
var mutations = []func(*generator, random, *request){
	mutateMethod,
	mutatePath, mutatePath,
	mutateQuery, mutateQuery, mutateQuery, mutateQuery,
	mutateHeader, mutateHeader, mutateHeader,
	mutateToken, mutateToken,
	mutateJSON, mutateJSON, mutateJSON, mutateJSON, mutateJSON,
	mutateForm, mutateForm,
	mutateBytes,
	mutateWire,
}

func mutateMethod(_ *generator, d random, r *request) {
	r.method = pick(d, "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "get", "X")
}

func mutatePath(g *generator, d random, r *request) {
	segments := strings.Split(r.path(), "/")
	at := d.IntN(len(segments))
	switch d.IntN(9) {
	case 0:
		segments[at] = url.PathEscape(pick(d, hostileTexts...))
	case 1:
		segments[at] = escapeAll(segments[at])
	case 2:
		segments = slices.Insert(segments, at, pick(d, "", ".", "..", "%2e%2e", "%2F", "x"))
	case 3:
		segments = slices.Delete(segments, at, at+1)
	case 4:
		segments[at] = strings.ToUpper(segments[at])
	case 5:
		segments[at] += pick(d, "/", "%00", "%20", ";a=b", "%", ".json", "'", "~")
	case 6:
		segments = append(segments, pick(d, "redeem", "eligibility", "approve", "void"))
	case 7:
		segments[len(segments)-1] = pick(d, g.perks...)
	case 8:
		segments[at] = strings.Repeat("a", d.IntN(9000))
	}
	r.target = "/" + strings.TrimPrefix(strings.Join(segments, "/"), "/")
}

// escapeAll encodes every byte, as nobody has to.
func escapeAll(text string) string {
	var escaped strings.Builder
	for _, b := range []byte(text) {
		fmt.Fprintf(&escaped, "%%%02X", b)
	}
	return escaped.String()
}

func mutateQuery(g *generator, d random, r *request) {
	pair := pick(d, g.parameters...) + "=" + url.QueryEscape(pick(d, hostileTexts...))
	switch d.IntN(8) {
	case 0:
		pair = pick(d, "&", "=", "%", "a=%zz", ";", "q=a;b", "page", "page=1&page=2", "q[]=1", "\x7f")
	case 1:
		pair = strings.Repeat("q=a&", d.IntN(300))
	case 2:
		pair = fmt.Sprintf("page=%d&per_page=%d", d.Int64()-math.MaxInt64/2, d.IntN(200)-50)
	case 3:
		pair = fmt.Sprintf("lat=%g&lng=%g&radius=%g", d.NormFloat64()*100, d.NormFloat64()*200, d.ExpFloat64()*200)
	case 4:
		pair = "sort=" + url.QueryEscape(strings.Join([]string{pick(d, "title", "-city", "distance", "id", "", "-",
			"TITLE"), pick(d, "city", "valid_to", "x", "-distance")}, ","))
	}
	query := pair
	if before := r.query(); before != "" && !d.oneIn(3) {
		query = before + "&" + pair
	}
	r.target = r.path() + "?" + query
}

func mutateHeader(_ *generator, d random, r *request) {
	value := strings.Map(fieldText, pick(d, hostileTexts...))
	name := pick(d, "Idempotency-Key", "Idempotency-Key", "If-Match", "If-None-Match", "Content-Type",
		"Content-Encoding", "Accept", "Accept-Encoding",
		"X-Request-Id", "X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "Cookie", "Range", "Expect",
		"Origin", "X-HTTP-Method-Override", "Traceparent")
	switch d.IntN(4) {
	case 0:
		value = pick(d, "*", `"a"`, `W/"a", "b"`, "gzip", "application/xml", "application/json; charset=utf-16",
			"text/html", "multipart/form-data", "bytes=0-1",
			"https", "evil.example", "application/json;;", "100-continue", "application/x-www-form-urlencoded")
	case 1:
		value = strings.Repeat(value+"x", 1+d.IntN(40))
	}
	if name == "Expect" && value == "100-continue" {
		name = "Accept" // interim responses are net/http's business
	}
	if d.oneIn(4) {
		r.headers = append(r.headers, header{name, value})
		return
	}
	r.set(name, value)
}

// fieldText takes out what would end the line of a header.
func fieldText(c rune) rune {
	if c == '\r' || c == '\n' || c == 0 {
		return -1
	}
	return c
}

func mutateToken(g *generator, d random, r *request) {
	token := []byte(g.tokens[pick(d, "owner", "reader", "sandbox", "other")])
	switch d.IntN(5) {
	case 0:
		token[d.IntN(len(token))] = "aZ0_-.="[d.IntN(7)]
	case 1:
		token = token[:d.IntN(len(token))]
	case 2:
		token = []byte(strings.Map(fieldText, pick(d, hostileTexts...)))
	case 3:
		parts := bytes.Split(token, []byte("."))
		d.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		token = bytes.Join(parts, []byte("."))
	}
	r.set("Authorization", pick(d, "Bearer ", "Bearer ", "bearer ", "Basic ", "Bearer", "", "Bearer  ")+string(token))
}

func mutateJSON(_ *generator, d random, r *request) {
	var body map[string]any
	if json.Unmarshal(r.body, &body) != nil || body == nil {
		mutateBytes(nil, d, r)
		return
	}
	name := pick(d, append(slices.Sorted(maps.Keys(body)), "user_id", "metadata", "images",
		pick(d, hostileTexts...))...)
	switch d.IntN(6) {
	case 0:
		delete(body, name)
	case 1:
		body[name] = nested(d.IntN(200))
	case 2:
		body[name] = []any{body[name], pick(d, hostileTexts...)}
	default:
		body[name] = pick[any](d, nil, true, -1, 0, 1.5, 1e300, math.MaxInt64, "", pick(d, hostileTexts...), []any{},
			map[string]any{}, "https://img.example/a,b", json.Number("1e999"), json.Number("120.500"))
	}
	r.json(body)
	if d.oneIn(10) { // a member twice
		r.body = append([]byte(`{"user_id":"alice","user_id":`), append(bytes.TrimPrefix(r.body, []byte("{")), '}')...)
	}
}

// mutateForm says in a form what was said in JSON.
func mutateForm(_ *generator, d random, r *request) {
	var body map[string]any
	if json.Unmarshal(r.body, &body) != nil {
		return
	}
	form := url.Values{}
	for name, value := range body {
		if list, ok := value.([]any); ok && len(list) > 0 {
			value = list[0]
		}
		form.Set(name, fmt.Sprint(value))
	}
	r.set("Content-Type", "application/x-www-form-urlencoded")
	r.body = []byte(form.Encode())
}

// nested is a value within values.
func nested(levels int) any {
	var value any = "deep"
	for range levels {
		value = []any{value}
	}
	return value
}

func mutateBytes(_ *generator, d random, r *request) {
	r.hasBody = true
	switch d.IntN(6) {
	case 0:
		r.body = r.body[:d.IntN(len(r.body)+1)]
	case 1:
		r.body = append(slices.Clone(r.body), pick(d, hostileTexts...)...)
	case 2:
		r.body = bytes.Repeat([]byte("["), d.IntN(20_000))
	case 3:
		r.body = bytes.Repeat([]byte(" "), d.IntN(4_000))
	case 4:
		r.body = nil
	default:
		r.body = flipBytes(d, r.body)
	}
}

// mutateWire breaks the request itself, so that it may not be one any more.
func mutateWire(_ *generator, d random, r *request) {
	if !d.oneIn(4) {
		return
	}
	at, kind := d.Uint64(), d.IntN(4)
	flips := random{d.Rand}
	r.corrupt = func(wire []byte) []byte {
		switch kind {
		case 0:
			return wire[:at%uint64(len(wire))]
		case 1:
			return bytes.Replace(wire, []byte("\r\n"), []byte("\n"), 1)
		case 2:
			return bytes.Replace(wire, []byte("\r\n\r\n"), []byte("\r\nTransfer-Encoding: chunked\r\n\r\n"), 1)
		}
		return flipBytes(flips, wire)
	}
}

func flipBytes(d random, text []byte) []byte {
	text = slices.Clone(text)
	for range min(len(text), 1+d.IntN(4)) {
		text[d.IntN(len(text))] = byte(d.IntN(256))
	}
	return text
}
