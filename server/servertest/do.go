package servertest

import (
	"encoding/json"
	"io"
	"net/http"
)

// Do sends a request and decodes a JSON answer into a pointer unless it is nil. It returns the status.
func (s *Server) Do(request *http.Request, into any) int {
	s.t.Helper()
	response, body := s.Send(request)
	if into != nil {
		if err := json.Unmarshal(body, into); err != nil {
			s.t.Fatalf("%s %s answered %d with %q: %v", request.Method, request.URL, response.StatusCode, body, err)
		}
	}
	return response.StatusCode
}

// Send sends a request and returns the response with its whole body.
func (s *Server) Send(request *http.Request) (*http.Response, []byte) {
	s.t.Helper()
	response, err := s.client.Do(request)
	if err != nil {
		s.t.Fatalf("%s %s: %v", request.Method, request.URL, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatalf("%s %s: reading the answer: %v", request.Method, request.URL, err)
	}
	return response, body
}
