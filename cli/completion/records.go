package completion

import (
	"bytes"
	"encoding/json"

	"github.com/spf13/cobra"

	"example.com/perks/api"
)

// recordFields returns the fields of what a command writes. Records that a command keeps to itself are listed here by their
// names; the tests ask every command whether the list is right.
func recordFields(cmd *cobra.Command) []string {
	switch path(cmd) {
	case "perk list", "perk get":
		return names(api.Perk{})
	case "perk categories":
		return names(api.Category{})
	case "perk redeem":
		return names(api.Redemption{})
	case "user perks":
		if kind, err := cmd.Flags().GetString("type"); err == nil && kind == "redeemed" {
			return names(api.Redemption{})
		}
		return names(api.Perk{})
	case "property get":
		return append(names(api.Property{}), "etag")
	case "property update", "property edit", "property delete":
		return []string{"propertyId", "message"}
	case "profile list", "profile use", "profile show", "profile delete":
		return []string{"name", "current", "api_url", "client_id", "sandbox", "insecure_http", "ca_cert", "secret_in"}
	case "login", "auth login", "auth status", "auth logout":
		return []string{"profile", "api_url", "client_id", "sandbox", "logged_in", "secret_in", "secret_file", "scopes", "expires_at"}
	case "auth token":
		return []string{"access_token", "expires_at"}
	case "doctor":
		return []string{"check", "outcome", "found", "advice"}
	case "version":
		return []string{"version", "commit", "date", "modified", "go", "os", "arch"}
	case "tui":
		return []string{"action", "keys", "does"}
	case "completion":
		return names(script{})
	}
	return nil
}

// names returns the names of a record's fields in their order.
func names(record any) []string {
	text, err := json.Marshal(record)
	if err != nil {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	_, _ = dec.Token() // the brace
	var found []string
	for dec.More() {
		name, err := dec.Token()
		var value json.RawMessage
		if err != nil || dec.Decode(&value) != nil {
			return nil
		}
		found = append(found, name.(string))
	}
	return found
}
