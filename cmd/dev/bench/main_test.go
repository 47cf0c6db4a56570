package main

import (
	"io"
	"slices"
	"strings"
	"testing"
)

func TestOptionsSelectTheSections(t *testing.T) {
	tests := []struct {
		name string
		args string
		want []string
	}{
		{"no options", "", []string{"get", "redeem-hot", "redeem-sqlite", "lists", "version", "all", "bulk",
			"bulk-million", "frames", "import"}},
		{"some sections", "-only lists,get", []string{"get", "lists"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o, err := readOptions(strings.Fields(test.args), io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			var wanted []string
			for _, s := range sections {
				if o.wants(s.name) {
					wanted = append(wanted, s.name)
				}
			}
			if !slices.Equal(wanted, test.want) {
				t.Errorf("it measures %v, want %v", wanted, test.want)
			}
		})
	}
}

func TestInvalidOptionsAreRefused(t *testing.T) {
	for args, problem := range map[string]string{
		"-only list": `there is no section "list"`,
		"-rounds 0":  "between 1 and 20",
		"-rounds 21": "between 1 and 20",
		"-time 10ms": "a second or more",
		"lists":      `"lists" is not understood`,
		"-fast":      "-fast",
	} {
		if _, err := readOptions(strings.Fields(args), io.Discard); err == nil ||
			!strings.Contains(err.Error(), problem) {
			t.Errorf("%s: the error is %v, want one with %q", args, err, problem)
		}
	}
}
