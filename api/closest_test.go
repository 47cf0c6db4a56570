package api_test

import (
	"testing"

	"example.com/perks/api"
)

func TestClosest(t *testing.T) {
	for word, want := range map[string]string{
		"xml": "", "tcsh": "", "jsn": "json", "jsno": "json", "tabel": "table", "json": "", "JSON": "json",
		"ya": "yaml", "": "", "t": "", "fihs": "fish", "powershel": "powershell",
	} {
		if got := api.Closest(word, []string{"table", "json", "yaml", "bash", "fish", "powershell"}); got != want {
			t.Errorf("Closest(%q) = %q, want %q", word, got, want)
		}
	}
}
