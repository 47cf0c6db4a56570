package api

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"go.yaml.in/yaml/v3"
)

func TestDescribedPagesMatchConstants(t *testing.T) {
	document := describe(t)
	perPage := document.Components.Parameters["per_page"].Value.Schema.Value
	if *perPage.Min != 1 || *perPage.Max != MaxPerPage || perPage.Default != float64(DefaultPerPage) {
		t.Errorf("per_page is from %v to %v, default %v", *perPage.Min, *perPage.Max, perPage.Default)
	}
	page := document.Components.Parameters["page"].Value.Schema.Value
	if *page.Min != 1 || *page.Max != MaxPage || page.Default != float64(1) {
		t.Errorf("page is from %v to %v, default %v", *page.Min, *page.Max, page.Default)
	}
	for _, list := range []string{"PerkPage", "PerkOrRedemptionPage"} {
		if most := document.Components.Schemas[list].Value.Properties["data"].Value.MaxItems; most == nil ||
			*most != MaxPerPage {
			t.Errorf("%s allows more than %d items", list, MaxPerPage)
		}
	}
}

func TestDescribedReportsMatch(t *testing.T) {
	document := describe(t)
	if most := document.Components.Schemas["Report"].Value.Properties["data"].Value.MaxItems; most == nil ||
		*most != MaxReportRows {
		t.Errorf("a report does not have at most %d rows", MaxReportRows)
	}
	operation := document.Paths.Value("/partners/reports/redemptions").Get
	if days := fmt.Sprintf("at most %d days, by default the last %d", MaxReportDays,
		DefaultReportDays); !strings.Contains(operation.Description, days) {
		t.Errorf("the description lacks %q", days)
	}
	if by := operation.Parameters.GetByInAndName("query", "by").Schema.Value; by.Default != string(ReportByDay) ||
		listOf(ReportDimensions()) != "day, perk, city, status or actor" || len(by.Enum) != 5 {
		t.Errorf("a report is by %v", by.Enum)
	}
}

func TestDescribedSortFieldsMatch(t *testing.T) {
	pattern := func(fields []string) string {
		name := "[-+]?(" + strings.Join(fields, "|") + ")"
		return fmt.Sprintf("^( *%s *(, *%s *){0,%d}(, *)?)?$", name, name, MaxSortKeys-1)
	}
	users := PerkSortFields()
	for _, field := range RedemptionSortFields() {
		if !slices.Contains(users, field) {
			users = append(users, field)
		}
	}
	for path, fields := range map[string][]string{
		"/partners/perks":                PerkSortFields(),
		"/partners/perks/users/{userId}": users,
	} {
		sort := describe(t).Paths.Value(path).Get.Parameters.GetByInAndName("query", "sort")
		if got, want := sort.Schema.Value.Pattern, pattern(fields); got != want {
			t.Errorf("%s sorts by\n%s\nwant\n%s", path, got, want)
		}
		if !strings.Contains(sort.Description, fmt.Sprintf("At most %d different fields", MaxSortKeys)) {
			t.Errorf("%s does not limit sort to %d fields", path, MaxSortKeys)
		}
	}
}

func TestDescribedImageURLsMatchRule(t *testing.T) {
	schemas := describe(t).Components.Schemas
	image, perkImage := schemas["ImageURL"].Value.Pattern, schemas["Perk"].Value.Properties["image_url"].Value.Pattern
	if image != perkImage {
		t.Errorf("image URLs of properties are\n%s\nand of perks\n%s", image, perkImage)
	}
	pattern := regexp.MustCompile(image)
	for valid, addresses := range map[bool][]string{
		true: {
			"http://a", "https://img.example.com/1.jpg", "HTTPS://IMG.EXAMPLE.COM", "hTTp://a/", "http://a:8080/x",
			"http://a:/x", "http://user:pass@a/x", "http://@a",
			"http://a@b@c/x", "http://[::1]/x", "http://[fe80::1%25en0]:80", "http://127.0.0.1",
			"https://Zürich.example/é", "http://xn--zrich-kva.example", "http://a?b",
			"http://a/?b=c&d=%zz", "http://a#b", "http://a/b%20c#%41", "http://a//b/../c", "http://a/b,c;d'(e)",
			"http://a/?b?c/d@e:f", "http://%C3%BC/", "http://a/#b#c", "http://a_b-c.",
		},
		false: {
			"", "a", "/a", "//a/b", "a/b", "ftp://a/b", "javascript:alert(1)", "mailto:a@b", "http:", "http:a",
			"http:/a", "http://", "http:///a", "http://?a", "http://#a", "http://:80/",
			"http://user@/a", "http://user@:80", "http://a b", "http://a/b c", "http://a/\tb", "http://a/\n",
			" http://a", "http://a ", "http://a:b", "http://a:8o/", "http://::1/",
			"http://[::1/", "http://[]/", "http://a/%zz", "http://a/%4", "http://a#%zz", "http://%zz/", "httpss://a",
			"xhttp://a",
		},
	} {
		for _, address := range addresses {
			if problem := URLRule(address); (problem == "") != valid {
				t.Errorf("%q: the rule says %q", address, problem)
			}
			if pattern.MatchString(address) != valid {
				t.Errorf("%q matches the pattern: %t", address, !valid)
			}
		}
	}
}

// ofProperties are the schemas with the fields of a property.
var ofProperties = []string{"Property", "PropertyFields", "PropertyPatch", "PropertyPatchForm", "NewProperty",
	"NewPropertyForm"}

func wantLongest(t *testing.T, schema, name string, longest int) {
	t.Helper()
	if most := property(t, schema, name).MaxLength; most == nil || *most != uint64(longest) {
		t.Errorf("the longest %s.%s is not %d", schema, name, longest)
	}
}

func TestDescribedLengthsMatchRules(t *testing.T) {
	for _, c := range []struct {
		schema, property string
		longest          int
	}{
		{"Perk", "title", maxTitle},
		{"Perk", "description", maxLongText},
		{"Perk", "category", maxShortText},
		{"Perk", "merchant_name", maxTitle},
		{"Perk", "image_url", maxURL},
		{"Perk", "discount_text", maxTitle},
		{"Perk", "terms", maxLongText},
		{"Perk", "city", maxShortText},
		{"PerkCategory", "category_name", maxShortText},
		{"Redemption", "user_id", maxUserID},
		{"RedeemRequest", "user_id", maxUserID},
		{"Webhook", "url", maxURL},
		{"Webhook", "description", maxTitle},
		{"NewWebhook", "url", maxURL},
		{"WebhookPatch", "description", maxTitle},
		{"WebhookDelivery", "answer", MaxWebhookAnswer},
	} {
		wantLongest(t, c.schema, c.property, c.longest)
	}
	for _, schema := range ofProperties {
		for _, field := range PropertyFields() {
			if field.MaxLength > 0 {
				wantLongest(t, schema, field.Name, field.MaxLength)
			}
		}
	}
	schemas := describe(t).Components.Schemas
	if most := schemas["ImageURL"].Value.MaxLength; *most != maxURL {
		t.Errorf("the longest image address is %d, want %d", *most, maxURL)
	}
	if most := property(t, "Property", "images").MaxItems; *most != MaxImages {
		t.Errorf("a property has at most %d images, want %d", *most, MaxImages)
	}
	if most := property(t, "PropertyPatch", "images").OneOf[0].Value.MaxItems; *most != MaxImages {
		t.Errorf("a patch has at most %d images, want %d", *most, MaxImages)
	}
	key := describe(t).Components.Parameters["Idempotency-Key"].Value.Schema.Value
	if *key.MaxLength != MaxIdempotencyKey {
		t.Errorf("the longest Idempotency-Key is %d, want %d", *key.MaxLength, MaxIdempotencyKey)
	}
	text := property(t, "RedeemRequest", "metadata").Description
	for _, bound := range []string{
		fmt.Sprintf("at most %d bytes", MaxMetadata), fmt.Sprintf("at most %d levels", maxMetadataDepth),
		fmt.Sprintf("at most %d digits", maxMetadataDigits),
	} {
		if !strings.Contains(text, bound) {
			t.Errorf("metadata is not described as having %s: %s", bound, text)
		}
	}
}

func TestDescribedValuesMatchRules(t *testing.T) {
	schemas := describe(t).Components.Schemas
	price := schemas["Price"].Value
	if price.Pattern != plainDecimal().String() || *price.MaxLength != maxPriceDigits {
		t.Errorf("a price is %s of at most %d characters", price.Pattern, *price.MaxLength)
	}
	for _, name := range []string{"Perk", "PerkCategory"} {
		if got := property(t, name, "id").Pattern; got != perkID().String() {
			t.Errorf("the id of a %s is %s, want %s", name, got, perkID())
		}
	}
	for _, name := range ofProperties {
		for _, rooms := range []string{"bedrooms", "bathrooms"} {
			if s := property(t, name, rooms); *s.Min != 0 || *s.Max != maxRooms || !s.Type.Is("integer") {
				t.Errorf("%s.%s is a %v from %v to %v", name, rooms, s.Type, *s.Min, *s.Max)
			}
		}
		if least := property(t, name, "deposit").Min; least == nil || *least != 0 {
			t.Errorf("%s.deposit is not at least 0", name)
		}
	}
	for field, rule := range map[string]func(float64) string{"lat": LatRule, "lng": LngRule} {
		for _, name := range []string{"Property", "PropertyPatch", "NewProperty"} {
			s := property(t, name, field)
			if rule(*s.Min) != "" || rule(*s.Min-1e-9) == "" || rule(*s.Max) != "" || rule(*s.Max+1e-9) == "" {
				t.Errorf("%s.%s is from %v to %v", name, field, *s.Min, *s.Max)
			}
		}
	}
	if got := property(t, "Property", "deposit").Default; got != float64(0) {
		t.Errorf("deposit is %v by default, want 0", got)
	}
	statuses := []any{string(StatusApproved), string(StatusRejected), string(StatusPending)}
	if got := property(t, "Redemption", "status").Enum; !slices.Equal(got, statuses) {
		t.Errorf("the statuses are %q, want %q", got, statuses)
	}
	for response, message := range map[string]string{"PropertyUpdated": MessagePropertyUpdated,
		"PropertyDeleted": MessagePropertyDeleted} {
		example := describe(t).Components.Responses[response].Value.Content.Get("application/json").Examples["done"]
		if got := example.Value.Value.(map[string]any)["message"]; got != message {
			t.Errorf("%s says %q, want %q", response, got, message)
		}
	}
}

// TestNumbersKeepTheirDigits makes generated clients use 64 bits: without a format, some use 32-bit floats, which turn
// 123456789.01 into 123456790.
func TestNumbersKeepTheirDigits(t *testing.T) {
	var document any
	if err := yaml.Unmarshal(OpenAPI(), &document); err != nil {
		t.Fatal(err)
	}
	numbers := 0
	var walk func(where string, value any)
	walk = func(where string, value any) {
		switch v := value.(type) {
		case map[string]any:
			if v["type"] == "number" {
				if numbers++; v["format"] != "double" {
					t.Errorf("%s has the format %v, want double", where, v["format"])
				}
			}
			for name, member := range v {
				walk(where+"/"+name, member)
			}
		case []any:
			for _, member := range v {
				walk(where, member)
			}
		}
	}
	walk("", document)
	if numbers == 0 {
		t.Error("no number is described")
	}
}

func property(t *testing.T, schema, name string) *openapi3.Schema {
	t.Helper()
	ref := describe(t).Components.Schemas[schema].Value.Properties[name]
	if ref == nil {
		t.Fatalf("%s.%s is not described", schema, name)
	}
	return ref.Value
}

func TestEveryOperationIsComplete(t *testing.T) {
	document := describe(t)
	tags := map[string]bool{}
	for _, tag := range document.Tags {
		tags[tag.Name] = true
	}
	scopes := map[string]bool{}
	forEachOperation(t, func(name string, operation *openapi3.Operation) {
		if operation.OperationID == "" || operation.Summary == "" || len(operation.Tags) != 1 ||
			!tags[operation.Tags[0]] {
			t.Errorf("%s needs an id, a summary and one known tag", name)
		}
		if operation.Security == nil { // it needs a token by default
			_, scope, _ := strings.Cut(operation.Description, "Scope: `")
			scope, _, _ = strings.Cut(scope, "`.")
			parsed, err := ParseScopes(scope)
			if isAny := strings.HasSuffix(operation.Description, "Scope: any.\n"); !isAny &&
				(err != nil || len(parsed) != 1) {
				t.Errorf("%s does not name its scope", name)
			}
			scopes[scope] = true
		}
		for status, response := range operation.Responses.Map() {
			if response.Value.Headers["X-Request-Id"] == nil {
				t.Errorf("%s does not describe X-Request-Id for %s", name, status)
			}
		}
	})
	for _, scope := range AllScopes() {
		if !scopes[string(scope)] && scope != ScopeRedemptionsReadAll { // which widens what other scopes reach
			t.Errorf("no operation needs %s", scope)
		}
		if !strings.Contains(document.Components.SecuritySchemes["accessToken"].Value.Description,
			"`"+string(scope)+"`") {
			t.Errorf("the access token's description does not explain %s", scope)
		}
	}
}

func TestGeneratedNamesDoNotCollide(t *testing.T) {
	for name, schema := range describe(t).Components.Schemas {
		taken := map[string]string{}
		for property := range schema.Value.Properties {
			generated := regexp.MustCompile(`[^a-z0-9]`).ReplaceAllString(strings.ToLower(property), "")
			if other, collides := taken[generated]; collides {
				t.Errorf("%s has %q and %q, whose generated names collide", name, property, other)
			}
			taken[generated] = property
		}
	}
}
