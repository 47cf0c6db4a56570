package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/perks/cmd/dev/specserver"
)

// TestAnETagGuardsOrIsRefused changes listings with an ETag at servers that give some, and none.
func TestAnETagGuardsOrIsRefused(t *testing.T) {
	for _, etags := range []specserver.ETags{specserver.ETagsNone, specserver.ETagsStrong} {
		for _, command := range []string{
			"property update 1 --price-pw 5 --if-match old", "property delete 1 --yes --if-match old",
			"property update --file FILE",
		} {
			t.Run(fmt.Sprintf("%s ETags, %s", etags, command), func(t *testing.T) {
				file := write(t, filepath.Join(t.TempDir(), "prices.csv"), "propertyId,price_pw,etag\n1,5,old\n")
				command := strings.ReplaceAll(command, "FILE", file)
				j := atSpecification(t, specserver.Options{Freedoms: specserver.Freedoms{ETags: etags}})
				r := j.run(strings.Fields(command)...)
				says := "--unguarded"
				if etags != specserver.ETagsNone {
					says = "has changed"
				}
				changes := j.server.Record().Changes
				if r.code == 0 || len(changes) > 0 || !strings.Contains(r.err, says) {
					t.Errorf("exit code %d, changes %v\n%s", r.code, changes, r.err)
				}
				if etags == specserver.ETagsNone {
					j.expect(done, strings.Fields(command+" --unguarded")...)
				}
			})
		}
	}
}

// TestAnEveningsFileIsRedeemedOnce has a proxy that gives up on each row while the server is still at it.
func TestAnEveningsFileIsRedeemedOnce(t *testing.T) {
	const rows = 5
	j := atSpecification(t, specserver.Options{Faults: []specserver.Fault{{
		Request: specserver.Redeems, Work: specserver.DoneLater, Reply: specserver.ReplyStatus, Status: 504,
	}}})
	text := "perk,user\n"
	for n := range rows {
		text += fmt.Sprintf("%s,%s\n", j.server.PerkID(n+1), j.server.UserID(n+1))
	}
	file := write(t, filepath.Join(t.TempDir(), "winners.csv"), text)
	results := func(want string, args ...string) {
		t.Helper()
		j.expect([]int{0, 7}, append([]string{"perk", "redeem", "--file", file}, args...)...)
		text, err := os.ReadFile(file + ".results.jsonl")
		if got := strings.Count(string(text), want); err != nil || got != rows {
			t.Errorf("%d of %d rows have %s: %v\n%s", got, rows, want, err, text)
		}
	}
	results(`"outcome":"unknown","status":504,"code":"outcome_unknown"`)
	if done := j.server.Release(); done != rows {
		t.Fatalf("%d requests were sent", done)
	}
	results(`"code":"ambiguous"`)
	results(`"outcome":"ok"`, "--assume-mine")
	if made := j.server.Record().Redemptions; len(made) != rows {
		t.Errorf("%d redemptions, want %d", len(made), rows)
	}
}
