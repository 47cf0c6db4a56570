package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"
)

// nasty are texts that have broken one program or another.
var nasty = []string{
	"", " ", "\x00", "\t\r\n", "a\x00b", "null", "true", "0", "-1", "1e309", "NaN", "9223372036854775808", "0x10", "١٢٣",
	"' OR 1=1 --", "\"; DROP TABLE perks; --", "%", "%_", "%00", "%zz", "%2e%2e%2f", "../../etc/passwd", "..\\..", "{{7*7}}", "${jndi:ldap://x}",
	"<script>alert(1)</script>", "\x1b[31mred\x1b[0m", "\u202eevil", "e\u0301", "ﷺ", "\xff\xfe", "\xed\xa0\x80", "👩‍👩‍👧‍👧", "ß", "İ", "\u0130\u0131", "\ufeff",
	strings.Repeat("a", 256), strings.Repeat("漢", 3000), strings.Repeat("(", 2000), strings.Repeat("word ", 400),
}

// mutations are what can happen to a request, each as often as it is listed.
var mutations = []func(*generator, dice, *request){
	mutateMethod,
	mutatePath, mutatePath,
	mutateQuery, mutateQuery, mutateQuery, mutateQuery,
	mutateHeader, mutateHeader, mutateHeader,
	mutateToken, mutateToken,
	mutateJSON, mutateJSON, mutateJSON, mutateJSON, mutateJSON,
	mutateBytes,
	mutateWire,
}

func (g *generator) mutate(d dice, r *request) { pick(d, mutations...)(g, d, r) }

func mutateMethod(_ *generator, d dice, r *request) {
	r.method = pick(d, "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "get", "X")
}

func mutatePath(g *generator, d dice, r *request) {
	segments := strings.Split(r.path(), "/")
	at := d.IntN(len(segments))
	switch d.IntN(9) {
	case 0:
		segments[at] = url.PathEscape(pick(d, nasty...))
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
		segments = append(segments, "redeem")
	case 7:
		segments[len(segments)-1] = pick(d, g.perks...)
	case 8:
		segments[at] = strings.Repeat("a", d.IntN(9000))
	}
	path := strings.Join(segments, "/")
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	r.target = path
}

// escapeAll encodes every byte, as nobody has to.
func escapeAll(text string) string {
	var escaped strings.Builder
	for _, b := range []byte(text) {
		fmt.Fprintf(&escaped, "%%%02X", b)
	}
	return escaped.String()
}

var parameters = []string{"page", "per_page", "sort", "q", "category", "city", "lat", "lng", "radius", "include_expired", "type", "access_token", "unknown"}

func mutateQuery(_ *generator, d dice, r *request) {
	pair := pick(d, parameters...) + "=" + url.QueryEscape(pick(d, nasty...))
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
		pair = "sort=" + url.QueryEscape(strings.Join([]string{pick(d, "title", "-city", "distance", "id", "", "-", "TITLE"), pick(d, "city", "valid_to", "x", "-distance")}, ","))
	}
	query := pair
	if before := r.query(); before != "" && !d.in(3) {
		query = before + "&" + pair
	}
	r.target = r.path() + "?" + query
}

func mutateHeader(_ *generator, d dice, r *request) {
	value := strings.Map(fieldText, pick(d, nasty...))
	name := pick(d, "Idempotency-Key", "Idempotency-Key", "If-Match", "If-None-Match", "Content-Type", "Content-Encoding", "Accept", "Accept-Encoding",
		"X-Request-Id", "X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "Cookie", "Range", "Expect", "Origin", "X-HTTP-Method-Override", "Traceparent")
	switch d.IntN(4) {
	case 0:
		value = pick(d, "*", `"a"`, `W/"a", "b"`, "gzip", "application/xml", "application/json; charset=utf-16", "text/html", "multipart/form-data", "bytes=0-1",
			"https", "evil.example", "application/json;;", "100-continue", "application/x-www-form-urlencoded")
	case 1:
		value = strings.Repeat(value+"x", 1+d.IntN(40))
	}
	if name == "Expect" && value == "100-continue" {
		name = "Accept" // an interim answer is net/http's affair
	}
	if d.in(4) {
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

func mutateToken(g *generator, d dice, r *request) {
	token := []byte(g.tokens[pick(d, "owner", "reader", "sandbox", "other")])
	switch d.IntN(5) {
	case 0:
		token[d.IntN(len(token))] = "aZ0_-.="[d.IntN(7)]
	case 1:
		token = token[:d.IntN(len(token))]
	case 2:
		token = []byte(strings.Map(fieldText, pick(d, nasty...)))
	case 3:
		parts := bytes.Split(token, []byte("."))
		d.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		token = bytes.Join(parts, []byte("."))
	}
	r.set("Authorization", pick(d, "Bearer ", "Bearer ", "bearer ", "Basic ", "Bearer", "", "Bearer  ")+string(token))
}

func mutateJSON(_ *generator, d dice, r *request) {
	var body map[string]any
	if json.Unmarshal(r.body, &body) != nil || body == nil {
		mutateBytes(nil, d, r)
		return
	}
	names := slices.Sorted(maps.Keys(body))
	name := pick(d, append(names, "user_id", "metadata", "propertyId", "images", "price_pw", "scope", pick(d, nasty...))...)
	switch d.IntN(6) {
	case 0:
		delete(body, name)
	case 1:
		body[name] = deep(d.IntN(200))
	case 2:
		body[name] = []any{body[name], pick(d, nasty...)}
	default:
		body[name] = pick[any](d, nil, true, -1, 0, 1.5, 1e300, math.MaxInt64, "", pick(d, nasty...), []any{}, map[string]any{}, "https://img.example/a,b", json.Number("1e999"), json.Number("120.500"))
	}
	r.json(body)
	if d.in(10) { // a member twice
		r.body = append([]byte(`{"user_id":"alice","user_id":`), append(bytes.TrimPrefix(r.body, []byte("{")), '}')...)
	}
}

// deep is a value within values.
func deep(levels int) any {
	var value any = "deep"
	for range levels {
		value = []any{value}
	}
	return value
}

func mutateBytes(_ *generator, d dice, r *request) {
	r.hasBody = true
	switch d.IntN(6) {
	case 0:
		r.body = r.body[:d.IntN(len(r.body)+1)]
	case 1:
		r.body = append(slices.Clone(r.body), pick(d, nasty...)...)
	case 2:
		r.body = bytes.Repeat([]byte("["), d.IntN(20_000))
	case 3:
		r.body = bytes.Repeat([]byte(" "), d.IntN(4_000))
	case 4:
		r.body = nil
	default:
		r.body = flipped(d, r.body)
	}
}

// mutateWire breaks the request itself, so that it may not be one any more.
func mutateWire(_ *generator, d dice, r *request) {
	if !d.in(4) {
		return
	}
	at, kind := d.Uint64(), d.IntN(4)
	flips := dice{d.Rand}
	r.torn = func(wire []byte) []byte {
		switch kind {
		case 0:
			return wire[:at%uint64(len(wire))]
		case 1:
			return bytes.Replace(wire, []byte("\r\n"), []byte("\n"), 1)
		case 2:
			return bytes.Replace(wire, []byte("\r\n\r\n"), []byte("\r\nTransfer-Encoding: chunked\r\n\r\n"), 1)
		}
		return flipped(flips, wire)
	}
}

func flipped(d dice, text []byte) []byte {
	text = slices.Clone(text)
	for range min(len(text), 1+d.IntN(4)) {
		text[d.IntN(len(text))] = byte(d.IntN(256))
	}
	return text
}
