package perk

import (
	"errors"
	"strings"
	"testing"

	"example.com/perks/api"
	"example.com/perks/api/rows"
	"example.com/perks/cli/command"
)

func TestParseRedeemRow(t *testing.T) {
	for name, test := range map[string]struct {
		file string
		want string // perk, user and metadata
	}{
		"csv":            {"perk_id,user_id\ncoffee,alice\n", "coffee alice "},
		"aliases":        {"user,perk\nalice,coffee\n", "coffee alice "},
		"a numeric user": {"perk,user\ncoffee,007\n", "coffee 007 "},
		"metadata in a cell": {"perk,user,metadata\ncoffee,alice,\"{\"\"n\"\": 2.50}\"\n",
			`coffee alice {"n":2.50}`},
		"metadata in columns": {"perk,user,metadata.b,metadata.a.x\ncoffee,alice,<2>,Zoë\n",
			`coffee alice {"a.x":"Zoë","b":"<2>"}`},
		"empty cells add nothing": {"perk,user,metadata,metadata.a,metadata.b\ncoffee,alice,,,2\n",
			`coffee alice {"b":"2"}`},
		"all cells empty": {"perk,user,metadata,metadata.a\ncoffee,alice,,\n", "coffee alice "},
		"an export of redemptions": {"id,perk_id,user_id,redeemed_at,status,metadata\nr-1,coffee,alice,2026-01-31T09:00:00Z,approved,{}\n",
			"coffee alice {}"},
		"an export by perksd": {"id,perk_id,user_id,redeemed_at,status,metadata,client_id\nr-1,coffee,alice,2026-01-31T09:00:00Z,approved,{},c\n", "coffee alice {}"},
		"json":                {`{"perk_id": "coffee", "user_id": "alice"}`, "coffee alice "},
		"json with metadata": {`{"perk": "coffee", "user": "alice", "metadata": {"a": [1, null]}}`,
			`coffee alice {"a":[1,null]}`},
		"null metadata": {`{"perk": "coffee", "user": "alice", "metadata": null}`, "coffee alice "},
		"an export as json": {`{"id":"r-1","perk_id":"coffee","user_id":"alice","redeemed_at":"x","status":"pending","metadata":{}}`,
			"coffee alice {}"},
		"longest metadata": {`{"perk":"p","user":"u","metadata":{"a":"` +
			strings.Repeat("<", api.MaxMetadata-8) + `"}}`, `p u {"a":"` + strings.Repeat("<", api.MaxMetadata-8) +
			`"}`},
		"spaces in metadata do not count": {`{"perk":"p","user":"u","metadata":{` +
			strings.Repeat(" ", api.MaxMetadata) + `}}`, "p u {}"},
		"ids of another service": {"perk,user\n7f/3c%2F,a user é☕\n", "7f/3c%2F a user é☕ "},
	} {
		r, err := parseRedeemRow(redeemColumns(), firstRow(t, test.file))
		if got := r.PerkID + " " + r.Request.UserID + " " + string(r.Request.Metadata); got != test.want || err != nil {
			t.Errorf("%s:\n got %s, %v\nwant %s", name, got, err, test.want)
		}
	}
}

func TestInvalidRedeemRows(t *testing.T) {
	const dots = "must not be . or .., which clients take out of an address"
	for name, test := range map[string]struct{ file, want string }{
		"no perk":         {"perk,user\n,alice\n", "perk is required"},
		"no user":         {"perk_id,user_id\ncoffee,\n", "user_id is required"},
		"neither":         {`{}`, "perk_id is required; user_id is required"},
		"an invalid id":   {`{"perk":"tea ","user":"a"}`, "perk must not begin or end with a blank"},
		"two invalid ids": {"perk,user\n.,..\n", "perk " + dots + "; user " + dots},
		"ids that are not strings": {`{"perk_id": 7, "user": null}`,
			"perk_id must be a string; user must be a string"},
		"an empty id":               {`{"perk":"","user":""}`, "perk is required; user is required"},
		"metadata is not an object": {"perk,user,metadata\np,u,[1]\n", "metadata must be a JSON object"},
		"metadata is not JSON":      {"perk,user,metadata\np,u,ticket=4711\n", "metadata must be a JSON object"},
		"text after the object": {"perk,user,metadata\np,u,\"{},\"\"user_id\"\":\"\"v\"\"\"\n",
			"metadata must be a JSON object"},
		"a list as metadata": {`{"perk":"p","user":"u","metadata":[]}`, "metadata must be a JSON object"},
		"metadata that is too long": {`{"perk":"p","user":"u","metadata":{"a":"` +
			strings.Repeat("x", api.MaxMetadata) + `"}}`, "metadata must be at most 16384 bytes"},
		"columns that are too long": {"perk,user,metadata.a\np,u," + strings.Repeat("x", api.MaxMetadata) + "\n",
			"metadata.KEY must be at most 16384 bytes"},
		"metadata in a cell and a column": {"perk,user,metadata,metadata.a\np,u,{},1\n",
			"metadata must be empty if a column such as metadata.KEY has a value"},
	} {
		r, err := parseRedeemRow(redeemColumns(), firstRow(t, test.file))
		var invalid *api.Error
		if !errors.As(err, &invalid) || invalid.Fields.String() != test.want {
			t.Errorf("%s:\n got %+v, %v\nwant %s", name, r, err, test.want)
		}
	}
}

func TestInvalidRedeemHeaders(t *testing.T) {
	const columns = ". The columns are perk_id, user_id, metadata, metadata.KEY"
	for file, want := range map[string]string{
		"perk_id,userid\np,u\n": "user_id is missing; every row needs it; userid is not a known column. Did you mean \"user_id\"?" +
			columns[1:],
		"id,title,city\ncoffee,Coffee,\n": "city is not a known column" + columns +
			"; perk_id is missing; every row needs it; title is not a known column" + columns +
			"; user_id is missing; every row needs it",
		"perk,user,perk_id\np,u,\n": "perk_id means the same as perk; only one of them can be there",
	} {
		_, err := parseRedeemRow(redeemColumns(), firstRow(t, file))
		var usage *command.UsageError
		if !errors.As(err, &usage) || usage.Fields.String() != want {
			t.Errorf("%q:\n got %v\nwant %s", file, err, want)
		}
	}
}

func FuzzParseRedeemRow(f *testing.F) {
	f.Add("perk,user,metadata\np,u,\"{\"\"a\"\": 1}\"\n")
	f.Add("perk_id,user_id,metadata.a\np,u,x\n")
	f.Add(`{"perk_id":"p","user_id":"u","metadata":{"a":[1.50]}}`)
	f.Add(`{"id":1,"perk":"p","user":"\ud800","metadata":null}`)
	f.Fuzz(func(t *testing.T, file string) {
		known := redeemColumns()
		for row, err := range rows.NewReader(strings.NewReader(file), formatOf(file)).Rows() {
			if err != nil {
				return
			}
			r, err := parseRedeemRow(known, row)
			if err != nil {
				continue
			}
			body, err := api.EncodeJSON(r.Request)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := api.ParseRedeemRequest(body); err != nil || api.PerkIDRule(r.PerkID) != "" {
				t.Errorf("the service refuses an accepted row, %q and %s: %v", r.PerkID, body, err)
			}
		}
	})
}

// firstRow reads the first row of a file: JSON lines if it begins with a brace, otherwise CSV.
func firstRow(t *testing.T, file string) rows.Row {
	t.Helper()
	for row, err := range rows.NewReader(strings.NewReader(file), formatOf(file)).Rows() {
		if err != nil {
			t.Fatal(err)
		}
		return row
	}
	t.Fatal("no row")
	return rows.Row{}
}

func formatOf(file string) rows.Format {
	if strings.HasPrefix(file, "{") {
		return rows.JSONL
	}
	return rows.CSV
}
