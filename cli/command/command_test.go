package command_test

import (
	"testing"

	"example.com/perks/cli/command"
)

func TestDidYouMean(t *testing.T) {
	candidates := []string{"list", "get", "categories", "redeem", "insecure-http"}
	for word, want := range map[string]string{
		"lst": "list", "redem": "redeem", "cat": "categories", "insecure_http": "insecure-http", "LIST": "list",
		"xyzzy": "", "": "", "g": "", "list": "", "lots": "", "let": "get",
	} {
		if want != "" {
			want = ` Did you mean "` + want + `"?`
		}
		if got := command.DidYouMean(word, candidates); got != want {
			t.Errorf("DidYouMean(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestEntityTag(t *testing.T) {
	for tag, want := range map[string]string{"": "", "*": "*", "abc": `"abc"`, `"abc"`: `"abc"`, `W/"abc"`: `W/"abc"`} {
		if got := command.EntityTag(tag); got != want {
			t.Errorf("EntityTag(%q) = %q, want %q", tag, got, want)
		}
	}
}
