package generators

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"example.com/perks/generators/oapiclient"
	"example.com/perks/generators/ogenclient"
)

// secrets are the credentials of ogen's client.
type secrets struct{}

func (secrets) AccessToken(context.Context, ogenclient.OperationName) (ogenclient.AccessToken, error) {
	return ogenclient.AccessToken{Token: "token"}, nil
}

func (secrets) ClientCredentials(context.Context, ogenclient.OperationName) (ogenclient.ClientCredentials, error) {
	return ogenclient.ClientCredentials{Username: "desk", Password: "secret"}, nil
}

// TestClientsSendWhatTheServiceReads tries the bodies that are hard to describe. The service's own tests send each of
// the wanted ones too.
func TestClientsSendWhatTheServiceReads(t *testing.T) {
	var sent string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		sent = string(body)
		for name, value := range map[string]string{
			"Content-Type": "application/json", "X-Request-Id": "1", "X-Position": "000000000000000000000001",
			"Cache-Control": "no-store",
		} {
			w.Header().Set(name, value)
		}
		answer := `{"message":"Property successfully updated"}`
		if r.URL.Path == "/auth/token" {
			answer = `{"access_token":"a","token_type":"Bearer","expires_in":3600,"scope":"perks:read"}`
		}
		_, _ = io.WriteString(w, answer)
	}))
	defer server.Close()
	ogen, err := ogenclient.NewClient(server.URL, secrets{})
	if err != nil {
		t.Fatal(err)
	}
	oapi, err := oapiclient.NewClient(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	scope := "perks:read"
	ogenBody := ogenclient.NewTokenRequestTokenBody(ogenclient.TokenRequest{Scope: ogenclient.NewOptNilString(scope)})
	var oapiBody oapiclient.TokenBody
	if err := oapiBody.FromTokenRequest(oapiclient.TokenRequest{Scope: &scope}); err != nil {
		t.Fatal(err)
	}
	images := []string{"http://a/1", "http://a/2"}
	const numbered = "images%5B0%5D=http%3A%2F%2Fa%2F1&images%5B1%5D=http%3A%2F%2Fa%2F2"
	for _, c := range []struct {
		name, want string
		send       func() error
	}{
		{"ogen's token as JSON", `{"scope":"perks:read"}`, func() error {
			_, err := ogen.IssueToken(t.Context(), &ogenBody, ogenclient.IssueTokenParams{})
			return err
		}},
		{"ogen's token as a form", "scope=perks%3Aread", func() error {
			form := &ogenclient.TokenForm{Scope: ogenclient.NewOptString(scope)}
			_, err := ogen.IssueToken(t.Context(), form, ogenclient.IssueTokenParams{})
			return err
		}},
		{"ogen's images in a form", "images=http%3A%2F%2Fa%2F1&images=http%3A%2F%2Fa%2F2", func() error {
			form := &ogenclient.PropertyPatchForm{Images: ogenclient.NewOptNilStringArray(images)}
			_, err := ogen.UpdateProperty(t.Context(), form,
				ogenclient.UpdatePropertyParams{PropertyId: 42})
			return err
		}},
		{"oapi-codegen's token as JSON", `{"scope":"perks:read"}`, func() error {
			_, err := oapi.IssueToken(t.Context(), nil, oapiBody)
			return err
		}},
		{"oapi-codegen's token as a form", "scope=perks%3Aread", func() error {
			_, err := oapi.IssueTokenWithFormdataBody(t.Context(), nil, oapiclient.TokenForm{Scope: &scope})
			return err
		}},
		{"oapi-codegen's images in a form", numbered, func() error {
			form := oapiclient.PropertyPatchForm{Images: &images}
			_, err := oapi.UpdatePropertyWithFormdataBody(t.Context(), 42, nil, form)
			return err
		}},
	} {
		if err := c.send(); err != nil || sent != c.want {
			t.Errorf("%s is %s, want %s; %v", c.name, sent, c.want, err)
		}
	}
}

// TestClientsReadBothKindsOfAList has them read the list of perks or redemptions.
func TestClientsReadBothKindsOfAList(t *testing.T) {
	const perk = `{"id":"a","title":"A","description":"A","category":null,"merchant_name":null,"image_url":null,` +
		`"discount_text":null,"terms":null,"valid_from":null,"valid_to":null,"city":"A",` +
		`"created_at":"2026-03-02T09:00:00.000Z","updated_at":"2026-03-02T09:00:00.000Z"}`
	const redemption = `{"id":"r","perk_id":"a","user_id":"u","redeemed_at":"2026-03-02T09:00:00.000Z",` +
		`"status":"approved","metadata":{}}`
	var ogen ogenclient.PerkOrRedemptionPageDataItem
	if err := ogen.UnmarshalJSON([]byte(perk)); err != nil || ogen.Perk.Title != "A" {
		t.Errorf("ogen reads a perk as %+v; %v", ogen, err)
	}
	if err := ogen.UnmarshalJSON([]byte(redemption)); err != nil || ogen.Redemption.PerkID != "a" {
		t.Errorf("ogen reads a redemption as %+v; %v", ogen, err)
	}
	var oapi oapiclient.PerkOrRedemptionPage_Data_Item
	if err := oapi.UnmarshalJSON([]byte(perk)); err != nil {
		t.Error(err)
	}
	if read, err := oapi.AsPerk(); err != nil || read.Title != "A" {
		t.Errorf("oapi-codegen reads a perk as %+v; %v", read, err)
	}
	if err := oapi.UnmarshalJSON([]byte(redemption)); err != nil {
		t.Error(err)
	}
	if read, err := oapi.AsRedemption(); err != nil || read.PerkId != "a" {
		t.Errorf("oapi-codegen reads a redemption as %+v; %v", read, err)
	}
}
