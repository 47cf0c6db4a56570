package programs

import (
	"encoding/json"
	"net/http"
	"testing"

	"example.com/perks/api"
)

// Token makes a client with all scopes and gets a token for it from the server at the address.
func (i *Installation) Token(url string) string {
	i.t.Helper()
	id, secret := i.Client("Test")
	return TokenOf(i.t, http.DefaultClient, url, id, secret).AccessToken
}

// TokenOf gets a token for a client from the server at the address.
func TokenOf(t testing.TB, over *http.Client, url, id, secret string) api.Token {
	t.Helper()
	request, err := http.NewRequest(http.MethodPost, url+"/v2/auth/token", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.SetBasicAuth(id, secret)
	response, err := over.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var token api.Token
	if err := json.NewDecoder(response.Body).Decode(&token); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("getting a token: status %d, %v", response.StatusCode, err)
	}
	return token
}

// StatusOf reads an address with a token.
func StatusOf(t testing.TB, url, token string) int {
	t.Helper()
	status, err := Get(url, token)
	if err != nil {
		t.Fatal(err)
	}
	return status
}

// Get is StatusOf for goroutines other than the test's: it returns what goes wrong.
func Get(url, token string) (status int, err error) {
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}
