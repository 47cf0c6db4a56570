package client

import (
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"
)

// answers is a transport with a response for each write, and notes the positions that reads send.
type answers struct {
	writes []*http.Response // nil fails
	sent   []string
}

func (a *answers) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodGet {
		a.sent = append(a.sent, req.Header.Get(positionHeader))
		return &http.Response{StatusCode: http.StatusOK}, nil
	}
	response := a.writes[0]
	if a.writes = a.writes[1:]; response == nil {
		return nil, errors.New("the connection was cut")
	}
	return response, nil
}

func TestReadsSendTheLatestPositionOfAWrite(t *testing.T) {
	response := func(status int, position string) *http.Response {
		header := http.Header{}
		if position != "" {
			header.Set(positionHeader, position)
		}
		return &http.Response{StatusCode: status, Header: header}
	}
	for name, test := range map[string]struct {
		writes []*http.Response
		want   []string // sent before and after each write
	}{
		"nothing from a service without standbys":      {[]*http.Response{response(201, "")}, []string{"", ""}},
		"that of a write":                              {[]*http.Response{response(201, "0a")}, []string{"", "0a"}},
		"that of a refusal, which may be of our write": {[]*http.Response{response(409, "0a")}, []string{"", "0a"}},
		"the later one of responses that overtake": {[]*http.Response{response(201, "0b"), response(201, "0a")},
			[]string{"", "0b", "0b"}},
		"the latest data after a lost response": {[]*http.Response{response(201, "0b"), nil},
			[]string{"", "0b", unknownPosition}},
		"the latest data after a failure without one": {[]*http.Response{response(503, "")},
			[]string{"", unknownPosition}},
		"the position of a failure whose outcome is open": {[]*http.Response{response(503, "0c")}, []string{"", "0c"}},
	} {
		server := &answers{writes: test.writes}
		now := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
		o := &ownWrites{next: server, position: new(Position), now: func() time.Time { return now }}
		send := func(method string) {
			req, err := http.NewRequest(method, "http://service/v2", nil)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = o.RoundTrip(req) // a lost response is one of the cases
		}
		send(http.MethodGet)
		for range test.writes {
			send(http.MethodPost)
			send(http.MethodGet)
		}
		if !slices.Equal(server.sent, test.want) {
			t.Errorf("%s: sent %q, want %q", name, server.sent, test.want)
		}
		now = now.Add(positionLife + time.Second)
		send(http.MethodGet)
		if last := server.sent[len(server.sent)-1]; last != "" {
			t.Errorf("%s: a minute later %q is sent", name, last)
		}
	}
}
