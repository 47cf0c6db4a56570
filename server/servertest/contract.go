package servertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"example.com/perks/api"
)

// Checker is an http.RoundTripper that passes exchanges on and fails its test for each one that the description does
// not allow: an address, method, status, header, media type or body that the description does not have. It checks a
// request only if the server accepted it, and never checks authorization. It is safe for use by many goroutines.
type Checker struct {
	t    testing.TB
	next http.RoundTripper
}

// NewChecker makes a Checker with a transport; nil is http.DefaultTransport.
func NewChecker(t testing.TB, next http.RoundTripper) *Checker {
	if next == nil {
		next = http.DefaultTransport
	}
	return &Checker{t: t, next: next}
}

// RoundTrip sends the request and returns the response as it came. Both bodies are held in memory in between. A
// response that breaks off is returned unchecked.
func (c *Checker) RoundTrip(request *http.Request) (*http.Response, error) {
	sent, requestBody := request, []byte(nil)
	if request.Body != nil && request.Body != http.NoBody {
		var err error
		requestBody, err = io.ReadAll(request.Body)
		request.Body.Close()
		if err != nil {
			return nil, err
		}
		sent = request.Clone(request.Context())
		sent.Body = io.NopCloser(bytes.NewReader(requestBody))
	}
	response, err := c.next.RoundTrip(sent)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(response.Body)
	response.Body.Close()
	if err != nil {
		response.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), iotest.ErrReader(err)))
		return response, nil
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	if err := Check(request, requestBody, response, body); err != nil {
		c.t.Errorf("%s %s was answered with %d against the API description: %v", request.Method, request.URL.Path,
			response.StatusCode, err)
	}
	return response, nil
}

// contract is the description of package api, prepared for checking exchanges.
type contract struct {
	document *openapi3.T
	router   routers.Router
}

// described is the one contract. A description that cannot be read is a bug of this module, not of the running test.
var described = sync.OnceValue(func() *contract {
	document, err := openapi3.NewLoader().LoadFromData(api.OpenAPI())
	if err != nil {
		panic(fmt.Sprintf("reading the API description: %v", err))
	}
	for _, schema := range document.Components.Schemas {
		// the schemas of errors are open, so that later versions can add members
		if schema.Value.Properties["response"] != nil {
			schema.Value.AdditionalProperties.Has = new(bool)
		}
		for _, property := range schema.Value.Properties {
			if property.Value.Extensions["x-also-as-string"] == true {
				property.Value = numberOrDigits(property.Value)
			}
		}
	}
	router, err := gorillamux.NewRouter(document)
	if err != nil {
		panic(fmt.Sprintf("reading the addresses of the API description: %v", err))
	}
	return &contract{document: document, router: router}
})

// digits matches the string of a number.
const digits = "^[-+]?[0-9]+([.][0-9]+)?([eE][-+]?[0-9]+)?$"

// numberOrDigits describes a number, or the string of one.
func numberOrDigits(number *openapi3.Schema) *openapi3.Schema {
	either := openapi3.NewAnyOfSchema(number, openapi3.NewStringSchema().WithPattern(digits))
	either.Nullable = number.Nullable
	return either
}

var pathParameter = regexp.MustCompile(`\{([^}]+)\}`)

// Paths returns every described operation as "METHOD /path", sorted, with the whole path from the host on and its
// parameters as echo writes them: "GET /v2/partners/perks/:perkId".
func Paths() []string {
	document := described().document
	var operations []string
	for path, item := range document.Paths.Map() {
		servers := item.Servers
		if len(servers) == 0 {
			servers = document.Servers
		}
		for _, server := range servers {
			whole := pathParameter.ReplaceAllString(strings.TrimSuffix(server.URL, "/")+path, ":$1")
			for method := range item.Operations() {
				operations = append(operations, method+" "+whole)
			}
		}
	}
	slices.Sort(operations)
	return operations
}

// Operations returns the id of every described operation, sorted.
func Operations() []string {
	var ids []string
	for _, item := range described().document.Paths.Map() {
		for _, operation := range item.Operations() {
			ids = append(ids, operation.OperationID)
		}
	}
	slices.Sort(ids)
	return ids
}

// OperationOf returns the id of the described operation that a request asks for, or "".
func OperationOf(request *http.Request) string {
	route, _, err := described().router.FindRoute(request)
	if err != nil {
		return ""
	}
	return route.Operation.OperationID
}

// Check checks one exchange against the description, as a Checker does. It returns what is not as described. The
// request's address must be whole; the bodies are given apart, because both have been read. What a client may send is
// checked only where the server accepted it: a test that sends invalid input expects a refusal.
func Check(sent *http.Request, requestBody []byte, answer *http.Response, body []byte) error {
	c := described()
	refused := func(status int, why string) error {
		if answer.StatusCode != status {
			return fmt.Errorf("%s, so that the status must be %d", why, status)
		}
		return c.checkResponse(sent, answer, body, c.document.Components.Responses["Refusal"].Value)
	}
	request := sent.Clone(context.Background())
	// which the service ignores
	request.Body = io.NopCloser(bytes.NewReader(bytes.TrimPrefix(requestBody, []byte("\ufeff"))))
	if request.Method == http.MethodHead {
		request.Method = http.MethodGet // the answer to HEAD is the answer to GET without its body
	}
	if path := request.URL.Path; len(path) > 1 && !strings.Contains(path, "//") { // a trailing slash changes nothing
		request.URL.Path, request.URL.RawPath = strings.TrimSuffix(path, "/"),
			strings.TrimSuffix(request.URL.RawPath, "/")
	}
	route, parameters, err := c.router.FindRoute(request)
	switch {
	case errors.Is(err, routers.ErrPathNotFound) && isPage(sent.URL.Path) && answer.StatusCode < 400:
		return nil
	case errors.Is(err, routers.ErrPathNotFound) && isPage(sent.URL.Path) &&
		answer.StatusCode == http.StatusMethodNotAllowed:
		return refused(http.StatusMethodNotAllowed, "the page is not changed")
	case errors.Is(err, routers.ErrPathNotFound):
		return refused(http.StatusNotFound, "the address is not in the description")
	case errors.Is(err, routers.ErrMethodNotAllowed):
		return refused(http.StatusMethodNotAllowed, "the address is not described with this method")
	case err != nil:
		return err
	}
	response := route.Operation.Responses.Status(answer.StatusCode)
	if response == nil {
		return errors.New("the status is not described")
	}
	problems := []error{c.checkResponse(sent, answer, body, response.Value)}
	if takes := route.Operation.RequestBody; takes != nil && takes.Value.Content.Get("*/*") != nil &&
		takes.Value.Content.Get(request.Header.Get("Content-Type")) == nil {
		// kin-openapi's */* matches no invalid media type
		request.Header.Set("Content-Type", "application/octet-stream")
	}
	if answer.StatusCode < 300 {
		input := &openapi3filter.RequestValidationInput{Request: request, PathParams: parameters, Route: route,
			Options: options()}
		if err := openapi3filter.ValidateRequest(context.Background(), input); err != nil {
			problems = append(problems, fmt.Errorf("the request was accepted, but is not as described: %w", err))
		}
	}
	return errors.Join(problems...)
}

// isPage reports whether a path belongs to the reference page or redirects there. The page is not part of the API; only
// its refusals are like those of the API.
func isPage(path string) bool {
	return path == "/" || path == "/docs" || strings.TrimSuffix(path, "/") == "/v2/docs" ||
		strings.HasPrefix(path, "/docs/")
}

// checkResponse compares headers, media type and body with the response that is described for the status. The filter is
// given an operation that has only that response, because it would ignore a 304 otherwise.
func (c *contract) checkResponse(
	sent *http.Request, answer *http.Response, body []byte, response *openapi3.Response,
) error {
	operation := &openapi3.Operation{Responses: openapi3.NewResponses(openapi3.WithStatus(http.StatusOK,
		&openapi3.ResponseRef{Value: response}))}
	filter := options()
	// Parsing the description for each of its callers took 7 % of the time of the server's tests. One of them compares
	// it with the embedded one.
	filter.ExcludeResponseBody = sent.Method == http.MethodHead || strings.HasSuffix(sent.URL.Path, "/openapi.yaml")
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{
			Request: &http.Request{Method: http.MethodGet},
			Route:   &routers.Route{Spec: c.document, Operation: operation},
		},
		Status:  http.StatusOK,
		Header:  answer.Header,
		Options: filter,
	}
	return openapi3filter.ValidateResponse(context.Background(), input.SetBodyBytes(body))
}

// options makes the filter change nothing, report every fault briefly, and skip authorization.
func options() *openapi3filter.Options {
	return &openapi3filter.Options{
		AuthenticationFunc:      openapi3filter.NoopAuthenticationFunc,
		MultiError:              true,
		SkipSettingDefaults:     true,
		SchemaValidationOptions: []openapi3.SchemaValidationOption{openapi3.DisableSchemaErrorDetails()},
	}
}
