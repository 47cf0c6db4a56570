package endurance

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/perks/cmd/dev/specserver"
)

// evening is a file that perksctl redeems at a server of the specification.
type evening struct {
	*job
	server *specserver.Server
}

// newEvening writes a file in which no user has a perk twice. At the server, each failure strikes a few rows.
func newEvening(t *testing.T, keys specserver.Keys, rows int) *evening {
	t.Helper()
	program, err := perksctl()
	if err != nil {
		t.Fatal(err)
	}
	freedoms := specserver.Freedoms{Keys: keys, EchoesKeys: keys == specserver.KeysHonoured, IDs: specserver.IDsUnicode}
	options := specserver.Options{Freedoms: freedoms, Seed: 7}
	failures := specserver.Failures()
	for _, name := range slices.Sorted(maps.Keys(failures)) {
		if fault := failures[name]; fault.Nth == 1 { // the others end a run
			fault.Request, fault.Nth, fault.Chance = specserver.Redeems, 0, 0.003
			options.Faults = append(options.Faults, fault)
		}
	}
	e := &evening{server: specserver.New(options)}
	other := service{proxy: newFaultProxy(t, e.server), id: specserver.ClientID, secret: specserver.ClientSecret}
	set := rowSet{rows: rows, suffix: ".csv"}
	e.job = &job{T: t, program: program, dir: t.TempDir(), rows: set, service: other}
	e.text = "perk_id,user_id\n"
	for n := range rows {
		perk, user := e.row(n)
		e.text += perk + "," + user + "\n"
	}
	e.input = filepath.Join(e.dir, "rows.csv")
	if err := os.WriteFile(e.input, []byte(e.text), 0o600); err != nil {
		t.Fatal(err)
	}
	return e
}

func (e *evening) row(n int) (perk, user string) {
	return e.server.PerkID(1 + n/specserver.Users), e.server.UserID(1 + n%specserver.Users)
}

// finish runs until nothing but unknown rows is left.
func (e *evening) finish(args ...string) {
	e.Helper()
	e.args = args
	for range 10 {
		if code := e.start().code(); code == 0 || code == 7 {
			return
		}
	}
	e.Fatalf("ten runs do not get to the end of the file: %s", e.start().stderr.String())
}

// judge compares each line of the results with the server's record, and returns how many rows have which outcome.
func (e *evening) judge() (counts map[string]int) {
	e.Helper()
	e.proxy.awaitIdle()
	text, err := os.ReadFile(e.results())
	if err != nil {
		e.Fatal(err)
	}
	type line struct {
		Row                        int
		Outcome, Code, ID, Message string
	}
	lines := map[int]line{}
	for record := range strings.Lines(string(text)) {
		var l line
		if json.Unmarshal([]byte(record), &l) == nil { // a kill may have cut the last one
			lines[l.Row] = l
		}
	}
	made := map[string][]string{}
	for _, r := range e.server.Record().Redemptions {
		made[r.PerkID+" "+r.UserID] = append(made[r.PerkID+" "+r.UserID], r.ID)
	}
	counts = map[string]int{}
	for n := range e.rows.rows {
		perk, user := e.row(n)
		ids, l := made[perk+" "+user], lines[n+2]
		counts[l.Outcome]++
		switch {
		case len(ids) > 1:
			e.Errorf("row %d was redeemed %d times: %+v", n+2, len(ids), l)
		case l.Outcome == "ok" && !slices.Equal(ids, []string{l.ID}):
			e.Errorf("row %d is not done: %+v, redeemed %v", n+2, l, ids)
		case l.Outcome == "failed" && len(ids) > 0:
			e.Errorf("row %d is done: %+v, redeemed %v", n+2, l, ids)
		case l.Outcome != "ok" && l.Outcome != "" && strings.TrimSpace(l.Message) == "":
			e.Errorf("row %d has no message: %+v", n+2, l)
		}
	}
	return counts
}

// TestAnEveningsFileAtAnotherServer redeems a file at servers where requests fail in every way, while perksctl is
// killed again and again. The results say the truth of each row, also once late work is done, and no row is redeemed
// twice.
func TestAnEveningsFileAtAnotherServer(t *testing.T) {
	t.Parallel()
	s := scaleOf(scale{200, 2})
	if isLong() {
		s.rows = 5_000
	}
	for _, keys := range []specserver.Keys{specserver.KeysIgnored, specserver.KeysHonoured} {
		t.Run(fmt.Sprintf("keys %s", keys), func(t *testing.T) {
			t.Parallel()
			e := newEvening(t, keys, s.rows)
			for kill := range s.kills {
				at := []faultPoint{beforeWork, afterWork, lateWork, afterReply}[kill%int(killPoints)]
				if code := e.startWith(s.rows/(s.kills+2), at, (*process).kill).code(); code != -1 && code != 8 {
					t.Errorf("run %d ended with %d before it was killed", kill+1, code)
				}
				e.judge()
			}
			e.finish()
			counts := e.judge()
			t.Logf("at the end: %v", counts)
			if counts[""] > 0 || counts["ok"] < s.rows*8/10 {
				t.Errorf("of %d rows, %v", s.rows, counts)
			}
			e.finish("--assume-mine")
			e.judge()
			e.server.Release()
			e.judge()
			if keys == specserver.KeysHonoured {
				e.server.Heal()
				e.finish()
				if counts := e.judge(); counts["ok"] != s.rows {
					t.Errorf("at a server that honours keys: %v", counts)
				}
			}
		})
	}
}
