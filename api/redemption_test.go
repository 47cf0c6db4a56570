package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"example.com/perks/api"
)

func TestParseRedeemRequest(t *testing.T) {
	longest := `{"a":"` + strings.Repeat("x", api.MaxMetadata-8) + `"}`
	for body, want := range map[string]struct{ user, metadata string }{
		`{"user_id":"alice"}`: {"alice",
			`{}`},
		`{"user_id":"alice","metadata":null}`: {"alice",
			`{}`},
		`{"metadata":{},"user_id":"alice"}`: {"alice",
			`{}`},
		`{"user_id":"a.b@c:d","metadata": { "n" : 1.50, "<" : [ 1 ] } }`: {"a.b@c:d",
			`{"n":1.50,"<":[1]}`},
		`{"user_id":"Žofie","metadata":{"b":1,"a":2}}`: {"Žofie",
			`{"b":1,"a":2}`},
		`{"user_id":"alice","metadata":` + longest +
			`}`: {"alice", longest},
		`{"user_id":"alice","metadata":{"a":{"a":"\ud83d\ude00"},"b":"\\ud800","A":[[],{"a":1},{"a":1}]}}`: {"alice",
			`{"a":{"a":"\ud83d\ude00"},"b":"\\ud800","A":[[],{"a":1},{"a":1}]}`},
	} {
		got, err := api.ParseRedeemRequest([]byte(body))
		if err != nil || got.UserID != want.user || string(got.Metadata) != want.metadata {
			t.Errorf("%.80s gives %q %.80s, %v", body, got.UserID, got.Metadata, err)
		}
	}
}

func TestParseRedeemRequestRefuses(t *testing.T) {
	for _, c := range []struct{ body, field, want string }{
		{`{}`, "user_id", "is required"},
		{`{"user_id":""}`, "user_id", "is required"},
		{`{"user_id":null}`, "user_id", "must be a string"},
		{`{"user_id":7}`, "user_id", "must be a string"},
		{`{"user_id":"a b"}`, "user_id", "blanks, slashes or control characters"},
		{`{"user_id":"a/b"}`, "user_id", "blanks, slashes or control characters"},
		{`{"user_id":"` + strings.Repeat("é", 129) + `"}`, "user_id", "at most 128 characters"},
		{`{"user_id":"a","user_id":"b"}`, "user_id", "more than once"},
		{`{"user_id":"a","metadata":[]}`, "metadata", "must be a JSON object"},
		{`{"user_id":"a","metadata":"{}"}`, "metadata", "must be a JSON object"},
		{`{"user_id":"a","metadata":1}`, "metadata", "must be a JSON object"},
		{`{"user_id":"a","metadata":{"a":"` + strings.Repeat("x", api.MaxMetadata-7) + `"}}`, "metadata",
			"at most 16384 bytes"},
		{`{"user_id":"a","metadata":{},"metadata":{}}`, "metadata", "more than once"},
		{`{"user_id":"a","metadata":{"a":1,"a":1}}`, "metadata", `has the member "a" more than once`},
		{`{"user_id":"a","metadata":{"a":1,"\u0061":1}}`, "metadata", `has the member "a" more than once`},
		{`{"user_id":"a","metadata":{"a":{"b":[{},{"c":{"b":1},"b":2,"c":3}]}}}`, "metadata",
			`has the member "a.b[1].c" more than once`},
		{`{"user_id":"a","metadata":{"a":"\ud800"}}`, "metadata", `has half of a surrogate pair in the member "a"`},
		{`{"user_id":"a","metadata":{"a":["\ud83d\ude00\\ud800",{"b":"x\ude00"}]}}`, "metadata",
			`has half of a surrogate pair in the member "a[1].b"`},
		{`{"user_id":"a","metadata":{"a":"\ud83d\ud83d\ude00"}}`, "metadata",
			`has half of a surrogate pair in the member "a"`},
		{`{"user_id":"a","metadata":{"b":"","\ud800":1,"\ud801":2}}`, "metadata",
			"has half of a surrogate pair in the member \"\ufffd\""},
		{`{"user_id":"a","perk_id":"b"}`, "perk_id",
			"is not a field of this request; the fields are user_id and metadata"},
	} {
		_, err := api.ParseRedeemRequest([]byte(c.body))
		wantFault(t, c.body, err, c.field, c.want)
	}
	for _, body := range []string{"", "[]", `{"user_id":"a"`, `{"user_id":"a"}{}`, `{"user_id":"\ud800"}`,
		`{"user_id":"a","\udc00":1}`} {
		if _, err := api.ParseRedeemRequest([]byte(body)); api.CodeOf(err) != api.CodeInvalidJSON {
			t.Errorf("%q gives %v, want %s", body, err, api.CodeInvalidJSON)
		}
	}
}

func TestParseDecisionRequest(t *testing.T) {
	for body, want := range map[string]string{
		"": "", " \n": "", "{}": "", `{"reason":""}`: "", `{"reason":"not a member"}`: "not a member", `{"reason":"` +
			strings.Repeat("é", api.MaxReason) + `"}`: strings.Repeat("é", api.MaxReason),
	} {
		got, err := api.ParseDecisionRequest([]byte(body), false)
		if err != nil || got.Reason != want {
			t.Errorf("%.80q gives %.80q, %v", body, got.Reason, err)
		}
		if _, err := api.ParseDecisionRequest([]byte(body), true); (err == nil) != (want != "") {
			t.Errorf("%.80q where a reason is needed: %v", body, err)
		}
	}
	for _, c := range []struct{ body, field, want string }{
		{`{"reason":" "}`, "reason", "must not be blank"},
		{`{"reason":7}`, "reason", "must be a string"},
		{`{"reason":"a\u0000"}`, "reason", "NUL"},
		{`{"reason":"` + strings.Repeat("é", api.MaxReason+1) + `"}`, "reason", "at most 500 characters"},
		{`{"reason":"a","reason":"b"}`, "reason", "more than once"},
		{`{"status":"approved"}`, "status", "is not a field of this request; the only field is reason"},
	} {
		_, err := api.ParseDecisionRequest([]byte(c.body), false)
		wantFault(t, c.body, err, c.field, c.want)
	}
	for _, body := range []string{"[]", `{"reason":"a"`, "null"} {
		if _, err := api.ParseDecisionRequest([]byte(body), false); api.CodeOf(err) != api.CodeInvalidJSON {
			t.Errorf("%q gives %v, want %s", body, err, api.CodeInvalidJSON)
		}
	}
}

func FuzzRedeemRequest(f *testing.F) {
	for _, seed := range []string{
		`{"user_id":"alice"}`, `{"user_id":"alice","metadata":{"a":[1,{"b":null}]," ":"<>&\u2028"}}`,
		`{"user_id":"a","metadata":null}`,
		`{"metadata":[]}`, `{"user_id":"a","user_id":"b"}`, `{"user_id":"\ud800"}`, `[`,
		`{"user_id":"a","metadata":` + nested(32) + `}`, `{"user_id":"a","metadata":{"a":[1e308,-0.5E-300,1e400]}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		request, err := api.ParseRedeemRequest(body)
		if err != nil {
			return
		}
		if problem := api.UserIDRule(request.UserID); problem != "" {
			t.Fatalf("the user %q %s", request.UserID, problem)
		}
		if len(request.Metadata) > api.MaxMetadata || request.Metadata[0] != '{' {
			t.Fatalf("the metadata is %.80s", request.Metadata)
		}
		wantReadable(t, request.Metadata)
		if again, err := rewrite(request); err != nil || !reflect.DeepEqual(again, request) {
			t.Fatalf("%+v, written and read again, is %+v, %v", request, again, err)
		}
	})
}

// rewrite encodes a request without HTML escapes, as some clients do, and parses it again.
func rewrite(request api.RedeemRequest) (api.RedeemRequest, error) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(request); err != nil {
		return api.RedeemRequest{}, fmt.Errorf("writing: %w", err)
	}
	return api.ParseRedeemRequest(body.Bytes())
}
