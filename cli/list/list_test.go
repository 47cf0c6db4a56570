package list_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/cli/command"
	"example.com/perks/cli/list"
	"example.com/perks/cli/output"
)

// asked is what flags ask for.
type asked struct {
	client.ListOptions
	api.PerkFilter
}

// parse parses flags as a command does.
func parse(t *testing.T, args string) (*list.Flags, asked, error) {
	t.Helper()
	flags := &list.Flags{}
	cmd := &cobra.Command{Use: "list"}
	flags.Bind(cmd, []string{"title"})
	list.BindFilter(cmd, api.PerkFilterFields, nil)
	if err := cmd.ParseFlags(strings.Fields(args)); err != nil {
		t.Fatal(err)
	}
	if err := flags.Check(cmd); err != nil {
		return flags, asked{}, err
	}
	filter, err := list.ReadFilter(cmd, api.PerkFilterFields)
	return flags, asked{flags.Options(), filter}, err
}

func TestFlagsBecomeOptions(t *testing.T) {
	page := func(number int64, per int) client.ListOptions { return client.ListOptions{Page: number, PerPage: per} }
	for args, want := range map[string]asked{
		"":                           {},
		"--page 2 --per-page 10":     {ListOptions: page(2, 10)},
		"--all":                      {ListOptions: page(0, 100)},
		"--all --per-page 7":         {ListOptions: page(0, 7)},
		"--limit 30":                 {ListOptions: page(0, 30)},
		"--limit 3000":               {ListOptions: page(0, 100)},
		"--limit 30 --per-page 9":    {ListOptions: page(0, 9)},
		"--sort -title":              {ListOptions: client.ListOptions{Sort: "-title"}},
		"--query near:-33.87,151.21": {PerkFilter: api.PerkFilter{Near: &api.Circle{Lat: -33.87, Lng: 151.21}}},
		"--near -33.87,151.21":       {PerkFilter: api.PerkFilter{Near: &api.Circle{Lat: -33.87, Lng: 151.21}}},
		"--near=90,-180 --radius 0.5 --city Rome --category c --query q --include-expired": {
			PerkFilter: api.PerkFilter{Near: &api.Circle{Lat: 90, Lng: -180, RadiusKM: 0.5}, City: "Rome",
				Category: "c", Query: "q", IncludeExpired: true},
		},
	} {
		_, got, err := parse(t, args)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v\n%s", args, err, diff)
		}
	}
}

// pages returns a list of items, two to a page. With numbers, the server sends the total.
func pages(items int, numbers bool, requests *int) iter.Seq2[api.Page[json.RawMessage], error] {
	return func(yield func(api.Page[json.RawMessage], error) bool) {
		for number := 1; number == 1 || (number-1)*2 < items; number++ {
			*requests = number
			page := api.Page[json.RawMessage]{}
			if numbers {
				page.Meta = api.NewPageMeta(int64(number), 2, int64(items))
			}
			for i := (number - 1) * 2; i < min(number*2, items); i++ {
				page.Data = append(page.Data, json.RawMessage(fmt.Sprint(i)))
			}
			if !yield(page, nil) {
				return
			}
		}
	}
}

func TestShowList(t *testing.T) {
	for name, test := range map[string]struct {
		args     string
		items    int
		unknown  bool // the server sends no total
		shown    int
		requests int
		notes    string
	}{
		"one page of several": {"", 5, false, 2, 1,
			"Page 1 of 3, 5 in all. See more with --page, or everything with --all.\n"},
		"only one page": {"", 2, false, 2, 1, ""},
		"an empty list": {"", 0, false, 0, 1, "Nothing found.\n"},
		"all":           {"--all", 5, false, 5, 3, ""},
		"a limit within a page": {"--limit 3", 5, false, 3, 2,
			"warning: --limit cut the list: 3 of 5 are shown.\n"},
		"a limit at the end of a page": {"--limit 4", 5, false, 4, 2,
			"warning: --limit cut the list: 4 of 5 are shown.\n"},
		"a limit at the end of the list": {"--limit 4", 4, false, 4, 2, ""},
		"a limit beyond the list":        {"--limit 9", 5, false, 5, 3, ""},
		"a limit without a total": {"--limit 4", 4, true, 4, 2,
			"warning: --limit cut the list after 4; there may be more.\n"},
	} {
		flags, _, err := parse(t, test.args)
		if err != nil {
			t.Fatal(err)
		}
		s, out, notes := command.BufferedStreams("")
		printer, err := output.New[json.RawMessage](output.Options{Format: "jsonl"}, s, output.View{})
		if err != nil {
			t.Fatal(err)
		}
		requests := 0
		err = list.Show(context.Background(), s, printer, *flags, pages(test.items, !test.unknown, &requests))
		if shown := strings.Count(out.String(), "\n"); err != nil || shown != test.shown || requests != test.requests ||
			notes.String() != test.notes {
			t.Errorf("%s: %d shown, %d pages requested, %v, notes %q; want %d, %d, %q", name, shown, requests, err,
				notes, test.shown, test.requests, test.notes)
		}
	}
}
