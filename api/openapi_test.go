package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
)

var load = sync.OnceValues(func() (*openapi3.T, error) { return openapi3.NewLoader().LoadFromData(OpenAPI()) })

func describe(t *testing.T) *openapi3.T {
	t.Helper()
	document, err := load()
	if err != nil {
		t.Fatal(err)
	}
	return document
}

func TestDescriptionIsValidWithAllItsExamples(t *testing.T) {
	document := describe(t)
	if err := document.Validate(t.Context(), openapi3.EnableMultiError(),
		openapi3.EnableExamplesValidation()); err != nil {
		t.Error(err)
	}
	if version := document.Info.Version; version != "1.0.0" {
		t.Errorf("version %q, want 1.0.0", version)
	}
}

func TestDescriptionListsTheCodes(t *testing.T) {
	want := declaredCodes(t)
	code := describe(t).Components.Schemas["Code"].Value
	var listed []string
	for _, value := range code.Enum {
		listed = append(listed, value.(string))
	}
	if !slices.Equal(listed, want) {
		t.Errorf("described\n%q\nconstants\n%q", listed, want)
	}
	for _, name := range want {
		if !strings.Contains(code.Description, "| `"+name+"` |") {
			t.Errorf("the description does not explain the code %s", name)
		}
	}
}

func TestDescribedEventsMatch(t *testing.T) {
	described := describe(t).Components.Schemas["Event"].Value.Properties["type"].Value.Enum
	if got := fmt.Sprint(described); got != fmt.Sprint(EventTypes()) {
		t.Errorf("described %s, want %s", got, EventTypes())
	}
	text := strings.Join(strings.Fields(describe(t).Paths.Value("/partners/events").Get.Description), " ")
	for _, kind := range EventTypes() {
		if subject, verb, _ := strings.Cut(string(kind), "."); verb != "imported" && !strings.Contains(text, verb) {
			t.Errorf("the description of events does not say that a %s is %s", subject, verb)
		}
	}
}

func TestEveryErrorCodeHasAnExample(t *testing.T) {
	shown := map[string]bool{string(CodeConflict): true} // only the operator's commands return it
	for _, response := range describe(t).Components.Responses {
		for _, media := range response.Value.Content {
			for _, example := range media.Examples {
				if code, ok := example.Value.Value.(map[string]any)["code"].(string); ok {
					shown[code] = true
				}
			}
		}
	}
	if got, want := slices.Sorted(maps.Keys(shown)),
		slices.Sorted(slices.Values(declaredCodes(t))); !slices.Equal(got, want) {
		t.Errorf("examples of\n%q\nconstants\n%q", got, want)
	}
}

// declaredCodes returns the constants of type Code in the order of their declaration.
func declaredCodes(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "error.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	ast.Inspect(file, func(node ast.Node) bool {
		constant, ok := node.(*ast.ValueSpec)
		if !ok || len(constant.Values) == 0 {
			return true
		}
		if kind, ok := constant.Type.(*ast.Ident); !ok || kind.Name != "Code" {
			return true
		}
		code, err := strconv.Unquote(constant.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		codes = append(codes, code)
		return true
	})
	if len(codes) == 0 {
		t.Fatal("error.go declares no codes")
	}
	return codes
}

func TestDescribedFieldsMatchTypes(t *testing.T) {
	for _, c := range []struct {
		value   any
		schemas []string // their fields together are those of the value
	}{
		{Perk{}, []string{"Perk"}},
		{Category{}, []string{"PerkCategory"}},
		{Redemption{}, []string{"Redemption"}},
		{RedeemRequest{}, []string{"RedeemRequest"}},
		{Property{}, []string{"Property"}},
		{PropertyPatch{}, []string{"PropertyPatch"}},
		{PropertyPatch{}, []string{"PropertyPatchForm"}},
		{Property{}, []string{"PropertyFields"}},
		{PropertyVersion{}, []string{"PropertyVersion"}},
		{PropertyRestore{}, []string{"PropertyRestore"}},
		{Message{}, []string{"Message"}},
		{Token{}, []string{"Token"}},
		{RedemptionRecord{}, []string{"RedemptionRecord"}},
		{DecisionRequest{}, []string{"DecisionRequest"}},
		{DecisionRequest{}, []string{"ReasonedDecisionRequest"}},
		{Eligibility{}, []string{"Eligibility"}},
		{Webhook{}, []string{"Webhook"}},
		{WebhookSecret{}, []string{"WebhookSecret"}},
		{NewWebhook{}, []string{"NewWebhook"}},
		{WebhookPatch{}, []string{"WebhookPatch"}},
		{WebhookDelivery{}, []string{"WebhookDelivery"}},
		{WebhookRedelivery{}, []string{"WebhookRedelivery"}},
		{PageMeta{}, []string{"BoundedPaginationMeta"}},
		{Page[Perk]{}, []string{"PerkPage"}},
		{Page[Redemption]{}, []string{"PerkOrRedemptionPage"}},
		{Page[RedemptionRecord]{}, []string{"RedemptionRecordPage"}},
		{Page[PropertyVersion]{}, []string{"PropertyVersionPage"}},
		{ErrorBody{}, []string{"Error", "ValidationError", "TokenError", "Problem", "ValidationProblem"}},
	} {
		t.Run(strings.Join(c.schemas, "+"), func(t *testing.T) {
			described := map[string]bool{}
			for _, name := range c.schemas {
				for property := range describe(t).Components.Schemas[name].Value.Properties {
					described[property] = property != "propertyId" || !strings.Contains(name, "Patch")
				}
			}
			maps.DeleteFunc(described, func(_ string, isField bool) bool { return !isField })
			if got, want := slices.Sorted(maps.Keys(described)), jsonNames(c.value); !slices.Equal(got, want) {
				t.Errorf("described\n%q\nthe type has\n%q", got, want)
			}
		})
	}
}

// jsonNames returns the names that encoding/json gives a struct's fields, sorted.
func jsonNames(value any) []string {
	var names []string
	for _, field := range reflect.VisibleFields(reflect.TypeOf(value)) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); !field.Anonymous && name != "-" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func TestResponsesAreDescribedStrictly(t *testing.T) {
	schemas := describe(t).Components.Schemas
	for _, name := range []string{
		"Perk", "PerkCategory", "PerkPage", "Redemption", "PerkOrRedemptionPage", "RedemptionRecord",
		"RedemptionRecordPage", "Eligibility", "PaginationMeta", "Property", "PropertyVersion",
		"PropertyVersionPage", "Webhook", "WebhookSecret", "WebhookDelivery", "Token", "Message", "Error",
		"ValidationError", "Problem", "ValidationProblem",
	} {
		schema := schemas[name].Value
		isError := schema.Properties["response"] != nil // clients must accept new fields in errors
		if passes := schema.AdditionalProperties.Has == nil || *schema.AdditionalProperties.Has; passes != isError {
			t.Errorf("%s allows other fields: %t, want %t", name, passes, isError)
		}
		got, want := slices.Sorted(slices.Values(schema.Required)), slices.Sorted(maps.Keys(schema.Properties))
		// expires_at is absent if the request names a grant, actors unless the client may name them, and param unless a
		// perk or a user was not found.
		optional := map[string][]string{"Token": {"expires_at", "actors"}, "Problem": {"param"}}[name]
		want = slices.DeleteFunc(want, func(member string) bool { return slices.Contains(optional, member) })
		if !slices.Equal(got, want) {
			t.Errorf("%s requires %q, has %q", name, got, want)
		}
	}
}

// TestWrittenJSONMatchesDescription validates the JSON of real values against their schemas.
func TestWrittenJSONMatchesDescription(t *testing.T) {
	at := time.Date(2026, 3, 2, 9, 0, 0, 123456000, time.UTC)
	text, degrees := "text", -33.5
	perk := Perk{ID: "a-1", Title: "A", Description: "A", City: "A", CreatedAt: at, UpdatedAt: at}
	full := perk
	full.Category, full.MerchantName, full.DiscountText, full.Terms = &text, &text, &text, &text
	full.ImageURL = new("https://img.example.com/1.jpg")
	full.ValidFrom, full.ValidTo = &at, &at
	redemption := Redemption{ID: "r", PerkID: "a-1", UserID: "u", RedeemedAt: at, Status: StatusPending,
		Metadata: json.RawMessage(`{"a":[1]}`)}
	record := RedemptionRecord{Redemption: redemption, ClientID: "desk"}
	voided := RedemptionRecord{Redemption: redemption, ClientID: "desk", Actor: &text, DecidedAt: &at,
		DecidedBy: &text, DecidedActor: &text, Reason: &text}
	voided.Status = StatusVoided
	soldOut := CodeSoldOut
	property := Property{ID: 1, Title: "A", Images: []string{}}
	located := property
	located.Images, located.Lat, located.Lng, located.Deposit = []string{"http://a/1"}, &degrees, &degrees, 482.5
	created := PropertyVersion{ETag: new(`"a"`), At: at, Action: VersionCreated}
	moved := PropertyVersion{ETag: new(`"b"`), At: at, ClientID: &text, Actor: &text, Action: VersionUpdated}
	deleted := PropertyVersion{At: at, ClientID: &text, Action: VersionDeleted}
	if err := errors.Join(created.SetChange(nil, &property), moved.SetChange(&property, &located),
		deleted.SetChange(&located, nil)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		schema string
		value  any
	}{
		{"PropertyVersionPage", Page[PropertyVersion]{Data: []PropertyVersion{deleted, moved, created},
			Meta: NewPageMeta(1, 25, 3)}},
		{"PropertyVersion", moved},
		{"PropertyRestore", PropertyRestore{ETag: `"a"`}},
		{"PropertyRestore", PropertyRestore{AsOf: at}},
		{"PropertyRestore", PropertyRestore{}},
		{"Perk", perk},
		{"Perk", full},
		{"PerkPage", Page[Perk]{Data: []Perk{full}, Meta: NewPageMeta(1, 25, 1)}},
		{"PerkPage", Page[Perk]{Data: []Perk{}, Meta: NewPageMeta(7, 25, 0)}},
		{"PerkCategory", Category{ID: "a", Name: "A"}},
		{"Redemption", redemption},
		{"PerkOrRedemptionPage", Page[Redemption]{Data: []Redemption{redemption}, Meta: NewPageMeta(1, 100, 1)}},
		{"PerkOrRedemptionPage", Page[Perk]{Data: []Perk{perk, full}, Meta: NewPageMeta(1, 100, 2)}},
		{"PerkOrRedemptionPage", Page[Perk]{Data: []Perk{}, Meta: NewPageMeta(7, 25, 0)}},
		{"RedemptionRecordPage", Page[RedemptionRecord]{Data: []RedemptionRecord{record, voided},
			Meta: NewPageMeta(1, 100, 2)}},
		{"RedemptionRecordPage", Page[RedemptionRecord]{Data: []RedemptionRecord{},
			Meta: PageMeta{Page: 11, PerPage: 100, MoreThan: 1000}}},
		{"RedemptionRecord", record},
		{"RedemptionRecord", voided},
		{"DecisionRequest", DecisionRequest{}},
		{"ReasonedDecisionRequest", DecisionRequest{Reason: text}},
		{"Eligibility", Eligibility{PerkID: "a-1", UserID: "u", Eligible: true, Status: &redemption.Status}},
		{"EventPage", EventPage{Data: []Event{}, Next: "1.2"}},
		{"EventPage", EventPage{Data: []Event{{ID: "a", Type: EventRedemptionVoided, At: at, Subject: "redemption/r",
			Redemption: &voided, Cursor: "1.3"},
			{ID: "b", Type: EventPropertyDeleted, At: at, Subject: "property/1", Property: &property, Cursor: "1.4"},
		}, Next: "1.4", More: true}},
		{"Webhook", Webhook{ID: "a", URL: "https://a/", Enabled: true, CreatedAt: at, UpdatedAt: at}},
		{"WebhookPage", Page[Webhook]{Data: []Webhook{{ID: "a", URL: "https://a/", Types: EventTypes(), Reason: &text,
			FailingSince: &at, CreatedAt: at, UpdatedAt: at}}, Meta: NewPageMeta(1, 25, 1)}},
		{"WebhookSecret", WebhookSecret{Webhook: Webhook{ID: "a", URL: "https://a/", CreatedAt: at, UpdatedAt: at},
			Secret: "whsec_YQ=="}},
		{"NewWebhook", NewWebhook{URL: "https://a/"}},
		{"WebhookPatch", WebhookPatch{}},
		{"WebhookPatch", WebhookPatch{Types: Some([]EventType{}), Enabled: Some(false)}},
		{"WebhookDelivery", WebhookDelivery{ID: "a", WebhookID: "b", EventID: "c", Type: EventWebhookTest, Subject: "d",
			At: at}},
		{"WebhookDeliveryPage", Page[WebhookDelivery]{Data: []WebhookDelivery{{ID: "a", WebhookID: "b", EventID: "c",
			Type: EventPerkChanged, Subject: "d", Attempt: 1, At: at, Status: new(500), Error: &text, NextAt: &at}},
			Meta: NewPageMeta(1, 25, 1)}},
		{"WebhookRedelivery", WebhookRedelivery{EventID: "a"}},
		{"Eligibility", Eligibility{PerkID: "a-1", UserID: "u", Code: &soldOut, Reason: &text}},
		{"RedeemRequest", RedeemRequest{UserID: "u", Metadata: json.RawMessage(`{}`)}},
		{"Property", property},
		{"Property", located},
		{"PropertyPatch", PropertyPatch{}},
		{"PropertyPatch", PropertyPatch{Title: Some("A"), Images: Some([]string{"http://a/1"}), PricePW: Some(Price{}),
			Lat: Some[*float64](nil), Lng: Some(new(1.5))}},
		{"Token", Token{AccessToken: "a", ExpiresAt: at, TokenType: "Bearer", ExpiresIn: 3600,
			Scope: AllScopes().String()}},
		{"Message", Message{Message: MessagePropertyDeleted}},
		{"Error", ErrorBody{Response: "No.", Code: CodeNotFound}},
		{"ValidationError", ErrorBody{Response: "No.", Code: CodeValidationFailed,
			Errors: FieldErrors{"title": {"is wrong"}}}},
		{"TokenError", ErrorBody{Response: "No.", Code: CodeInvalidToken, OAuthError: "invalid_client"}},
		{"Problem", ErrorBody{Type: "urn:perks:problem:not_found", Title: "T", Status: 404, Detail: "No.",
			Response: "No.", Code: CodeNotFound}},
	} {
		t.Run(c.schema, func(t *testing.T) {
			written, err := json.Marshal(c.value)
			if err != nil {
				t.Fatal(err)
			}
			var value any
			if err := json.Unmarshal(written, &value); err != nil {
				t.Fatal(err)
			}
			strict := *describe(t).Components.Schemas[c.schema].Value
			strict.AdditionalProperties.Has = new(bool) // allow no undescribed fields, not even in errors
			if err := strict.VisitJSON(value, openapi3.MultiErrors()); err != nil {
				t.Errorf("%s: %v", written, err)
			}
		})
	}
}
