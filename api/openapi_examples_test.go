package api

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// TestEveryBodyHasAnExample checks that examples exist; TestDescriptionIsValidWithAllItsExamples validates them.
func TestEveryBodyHasAnExample(t *testing.T) {
	bodies := 0
	forEachOperation(t, func(name string, operation *openapi3.Operation) {
		check := func(what string, content openapi3.Content) {
			for mediaType, media := range content {
				bodies++
				if len(media.Examples) == 0 {
					t.Errorf("%s has no example of %s as %s", name, what, mediaType)
				}
				for key, example := range media.Examples {
					if example.Value.Value == nil {
						t.Errorf("%s: the example %s of %s has no value", name, key, what)
					}
					if len(media.Examples) > 1 && example.Value.Summary == "" && what == "the request" {
						t.Errorf("%s: the example %s of %s is one of several and has no summary", name, key, what)
					}
				}
			}
		}
		if operation.RequestBody != nil {
			check("the request", operation.RequestBody.Value.Content)
		}
		for status, response := range operation.Responses.Map() {
			check("the response "+status, response.Value.Content)
		}
	})
	if bodies < 80 {
		t.Errorf("found only %d bodies", bodies)
	}
}

func TestEveryParameterIsDescribed(t *testing.T) {
	forEachOperation(t, func(name string, operation *openapi3.Operation) {
		for _, ref := range operation.Parameters {
			parameter := ref.Value
			schema := parameter.Schema.Value
			if parameter.Description == "" {
				t.Errorf("%s does not describe %s", name, parameter.Name)
			}
			if parameter.Example == nil && schema.Default == nil && len(schema.Enum) == 0 {
				t.Errorf("%s has no example, default or enum for %s", name, parameter.Name)
			}
		}
	})
}

func TestEveryOperationDescribesItsErrors(t *testing.T) {
	forEachOperation(t, func(name string, operation *openapi3.Operation) {
		if operation.Description == "" {
			t.Errorf("%s has no description", name)
		}
		want := []int{http.StatusInternalServerError}
		if operation.Security == nil {
			want = append(want, http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests,
				http.StatusServiceUnavailable)
		}
		if operation.RequestBody != nil {
			want = append(want, http.StatusBadRequest, http.StatusRequestEntityTooLarge,
				http.StatusUnsupportedMediaType)
		}
		for _, status := range want {
			if operation.Responses.Value(strconv.Itoa(status)) == nil {
				t.Errorf("%s does not describe status %d", name, status)
			}
		}
	})
}

func TestGettingStartedIsDescribed(t *testing.T) {
	document := describe(t)
	schemes := document.Components.SecuritySchemes
	for text, wanted := range map[string][]string{
		document.Info.Description: {`curl -sS -u "$CLIENT_ID:$CLIENT_SECRET" -X POST https://HOST/v2/auth/token`,
			`-H "Authorization: Bearer $TOKEN"`, "`Idempotency-Key`", "`If-Match`", "`X-Total-Count`", "`Retry-After`"},
		schemes["clientCredentials"].Value.Description: {"curl -u"},
		schemes["accessToken"].Value.Description:       {"`POST /auth/token`"},
	} {
		for _, want := range wanted {
			if !strings.Contains(text, want) {
				t.Errorf("%.60s... does not mention %s", text, want)
			}
		}
	}
	for _, tag := range document.Tags {
		if tag.Description == "" {
			t.Errorf("the tag %s is not described", tag.Name)
		}
	}
}

func forEachOperation(t *testing.T, do func(name string, operation *openapi3.Operation)) {
	t.Helper()
	for path, item := range describe(t).Paths.Map() {
		for method, operation := range item.Operations() {
			do(method+" "+path, operation)
		}
	}
}
