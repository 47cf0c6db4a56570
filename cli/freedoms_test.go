package cli_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/perks/cli/session"
	"example.com/perks/cmd/dev/specserver"
)

// judged is a terminal at a server written from the specification alone, whose record judges what perksctl says.
type judged struct {
	*terminal
	server *specserver.Server
}

func atSpecification(t *testing.T, options specserver.Options) *judged {
	t.Helper()
	server := specserver.Start(t, options)
	return &judged{newTerminal(t, map[string]string{
		session.EnvAPIURL: server.URL, session.EnvClientID: specserver.ClientID,
		session.EnvClientSecret: specserver.ClientSecret,
	}), server}
}

// expect runs a command, which must end with one of the codes. A failure must say something.
func (j *judged) expect(codes []int, args ...string) result {
	j.t.Helper()
	r := j.run(args...)
	says := strings.TrimSpace(strings.ReplaceAll(r.err, "error:", ""))
	if !slices.Contains(codes, r.code) || r.code != 0 && len(says) < 10 || strings.Contains(r.err, "goroutine ") {
		j.t.Errorf("perksctl %s: exit code %d, want %v\n%s", strings.Join(args, " "), r.code, codes, r.out+r.err)
	}
	return r
}

var done = []int{0}

// mixtures is how many mixtures of freedoms the tests run at.
const mixtures = 24

// redeemed is the exit code of a redeem that the server carried out.
func (j *judged) redeemed() int {
	switch j.server.NewStatus {
	case specserver.StatusRejected:
		return 1
	case specserver.StatusUnknown:
		return 8
	}
	return 0
}

// TestCommandsAtFreeServers runs commands at servers that differ in what the specification leaves open.
func TestCommandsAtFreeServers(t *testing.T) {
	for seed := range uint64(mixtures) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			j := atSpecification(t, specserver.Options{Freedoms: specserver.Mixture(seed)})
			j.logsIn()
			j.reads()
			j.redeems()
			j.redeemsFile()
			j.changes()
		})
	}
}

func (j *judged) logsIn() {
	j.env[session.EnvClientSecret] = "not-the-secret"
	login := []string{"login", "--api-url", j.server.URL, "--client-id", specserver.ClientID}
	j.expect([]int{4}, login...)
	if tokens := j.server.Record().Tokens; len(tokens) > 0 {
		j.t.Errorf("tokens for a wrong secret: %v", tokens)
	}
	j.env[session.EnvClientSecret] = specserver.ClientSecret
	if r := j.expect(done, login...); r.code != 0 {
		j.t.FailNow() // nothing else can succeed
	}
	j.expect(done, "auth", "status")
}

func (j *judged) reads() {
	ids := func(r result) []string { return strings.Split(strings.TrimSpace(r.out), "\n") }
	var all []string
	for n := range specserver.Perks {
		all = append(all, j.server.PerkID(n+1))
	}
	if got := ids(j.expect(done, "perk", "list", "-o", "id")); len(got) != 25 {
		j.t.Errorf("perk list has %q", got)
	}
	if !j.isEndless() {
		if got := ids(j.expect(done, "perk", "list", "--all", "-o", "id")); !slices.Equal(got, all) {
			j.t.Errorf("perk list --all has %q", got)
		}
	} else {
		j.expect([]int{1}, "perk", "list", "--all", "-o", "id") // better than a part of the list that looks whole
	}
	for n := 1; n < 3; n++ {
		if r := j.expect(done, "perk", "get", j.server.PerkID(n), "--jq", ".title"); r.out != specserver.Title(n)+"\n" {
			j.t.Errorf("the perk has the title %q", r.out)
		}
	}
	j.expect([]int{5}, "perk", "get", "missing")
	if r := j.expect(done, "perk", "categories", "--jq", ".[].category_name"); r.out != "Food\nArts & Crafts\nSport\n" {
		j.t.Errorf("the categories are %q", r.out)
	}
	r := j.expect(done, "user", "perks", j.server.UserID(1), "--limit", "10", "--jq", ".[].title")
	if !strings.Contains(r.out, specserver.Title(1)) {
		j.t.Errorf("the perks of a user are %q", r.out)
	}
	j.expect([]int{5}, "user", "perks", "missing")
	flat := j.server.PropertyID(1)
	if r := j.expect(done, "property", "get", flat, "--jq", ".propertyId"); r.out != flat+"\n" {
		j.t.Errorf("the property has the id %q", r.out)
	}
	for field, want := range map[string]float64{
		"price_pw": 250.5, "bedrooms": 2, "lat": 53.96, "lng": -1.08, "deposit": 500,
	} {
		r := j.expect(done, "property", "get", flat, "--jq", "."+field)
		if got, err := strconv.ParseFloat(strings.TrimSpace(r.out), 64); err != nil || got != want {
			j.t.Errorf("%s is %q, want %v", field, r.out, want)
		}
	}
	if r := j.expect(done, "property", "get", flat, "--jq", ".images[1]"); r.out != "https://img.example/b.jpg\n" {
		j.t.Errorf("the second image is %q", r.out)
	}
	j.expect(done, "property", "get", j.server.PropertyID(2))
	j.expect([]int{5}, "property", "get", j.server.PropertyID(77))
}

// isEndless tells whether the server does not say where a list ends.
func (j *judged) isEndless() bool {
	return j.server.IgnoresPage || j.server.NoLinks && j.server.NoTotal && j.server.Meta == specserver.MetaNone
}

func (j *judged) redeems() {
	perk, user := j.server.PerkID(1), j.server.UserID(1)
	redeem := []string{"perk", "redeem", perk, "--user", user, "--metadata", `{"ticket":7}`}
	r := j.expect([]int{j.redeemed()}, redeem...)
	made := j.server.Record().Redeemed(perk, user)
	if len(made) != 1 || string(made[0].Metadata) != `{"ticket":7}` || !strings.Contains(r.out, made[0].ID) {
		j.t.Fatalf("redeemed %+v\n%s", made, r.out+r.err)
	}
	list := []string{"user", "perks", user, "--type", "redeemed", "-o", "id"}
	if j.server.MixedLists {
		list = append(list, "--all")
	}
	if !j.server.MixedLists || !j.isEndless() {
		r := j.expect(done, list...)
		if r.out != made[0].ID+"\n" {
			j.t.Errorf("the user has redeemed %q, want %s", r.out, made[0].ID)
		}
		if isNoted := strings.Contains(r.err, "of the other kind"); isNoted != j.server.MixedLists {
			j.t.Errorf("the list says %q", r.err)
		}
	}
	again := []int{j.redeemed()}
	isRefused := j.server.OncePerUser && j.server.NewStatus != specserver.StatusRejected
	if isRefused {
		again = []int{6, 1}
	}
	j.expect(again, redeem...)
	if made := j.server.Record().Redeemed(perk, user); (len(made) == 1) != isRefused {
		j.t.Errorf("after two requests: redeemed %+v", made)
	}
	j.expect([]int{5}, "perk", "redeem", "missing", "--user", user)
	j.expect([]int{5}, "perk", "redeem", perk, "--user", "missing")
}

// rowResult is what a line of the results says of a row.
type rowResult struct {
	Row                        int
	Outcome, Code, ID, Message string
}

// redeemFile runs a file, and returns the line of the results for each row.
func (j *judged) redeemFile(file string, codes []int, flags ...string) (lines map[int]rowResult, r result) {
	j.t.Helper()
	r = j.expect(codes, append([]string{"perk", "redeem", "--file", file}, flags...)...)
	text, err := os.ReadFile(file + ".results.jsonl")
	if err != nil {
		j.t.Fatalf("%v\n%s", err, r.err)
	}
	lines = map[int]rowResult{}
	for line := range strings.Lines(string(text)) {
		var row rowResult
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			j.t.Fatal(err)
		}
		lines[row.Row] = row
	}
	return lines, r
}

const rows = 20

// writeRows writes a file that redeems the second perk for the users from 11 on.
func (j *judged) writeRows() string {
	j.t.Helper()
	text := "perk,user\n"
	for n := range rows {
		text += fmt.Sprintf("%s,%s\n", j.server.PerkID(2), j.server.UserID(11+n))
	}
	file := write(j.t, filepath.Join(j.t.TempDir(), "rows.csv"), text)
	return file
}

func (j *judged) redeemsFile() {
	codes, outcome := done, "ok"
	switch j.redeemed() {
	case 1:
		codes, outcome = []int{7}, "failed"
	case 8:
		codes, outcome = []int{7}, "unknown"
	}
	lines, r := j.redeemFile(j.writeRows(), codes)
	for n := range rows {
		made := j.server.Record().Redeemed(j.server.PerkID(2), j.server.UserID(11+n))
		line := lines[n+2]
		isRight := len(made) == 1 && line.Outcome == outcome
		if !isRight || outcome == "ok" && line.ID != made[0].ID || outcome != "ok" && line.Message == "" {
			j.t.Fatalf("row %d: %+v, redeemed %+v\n%s", n+2, line, made, r.err)
		}
	}
}

func (j *judged) changes() {
	changed := func(want map[string]string) {
		j.t.Helper()
		changes := j.server.Record().Changes
		if last := changes[len(changes)-1]; !maps.Equal(last.Fields, want) {
			j.t.Errorf("changed %+v, want %v", last, want)
		}
	}
	count := func() int { return len(j.server.Record().Changes) }
	first := j.server.PropertyID(1)
	j.expect(done, "property", "update", first, "--title", "Loft", "--bedrooms", "3", "--price-pw", "99.90")
	changed(map[string]string{"title": "Loft", "bedrooms": "3", "price_pw": "99.90"})
	j.env["EDITOR"] = "sed -i s/Flat/Loft/"
	j.expect(done, "property", "edit", j.server.PropertyID(2), "--yes")
	changed(map[string]string{"title": "Loft 2"})
	j.expect(done, "property", "delete", j.server.PropertyID(3), "--yes")
	if before := count(); before != 3 {
		j.t.Errorf("%d changes", before)
	}
	j.expect([]int{5}, "property", "delete", j.server.PropertyID(3), "--yes")
	j.expect([]int{5}, "property", "update", j.server.PropertyID(77), "--title", "x")
	j.expect([]int{4}, "property", "update", j.server.PropertyID(6), "--title", "x")
	j.expect([]int{4}, "property", "delete", j.server.PropertyID(6), "--yes")
	if count() != 3 {
		j.t.Errorf("changes: %+v", j.server.Record().Changes)
	}
	_, exists := j.server.Property(j.server.PropertyID(3), "title")
	if title, _ := j.server.Property(j.server.PropertyID(1), "title"); title != "Loft" || exists {
		j.t.Errorf("the title is %q, the deleted property exists: %t", title, exists)
	}
}

type freedoms = specserver.Freedoms
