package cli_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/cli/session"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

// lossy is a proxy that loses the first redeem, creation, restoration or change of a stock: its request or its reply.
type lossy struct {
	*servertest.Server
	to          http.Handler
	first       sync.Once
	decisions   bool   // lose every decision instead
	done        bool   // lose the reply; otherwise the request
	ignoresKeys bool   // removes idempotency keys
	onLoss      func() // called at the loss
	lists       int    // of what a user has redeemed
}

func newLossy(t *testing.T) (*lossy, *terminal) {
	t.Helper()
	l := &lossy{Server: servertest.Start(t), onLoss: func() {}}
	l.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "coffee"}})
	l.ImportUsers("ann", "bob")
	front := l.Behind(func(next http.Handler) http.Handler {
		l.to = next
		return l
	})
	id, secret := l.Client()
	return l, newTerminal(t, map[string]string{session.EnvAPIURL: front.URL, session.EnvClientID: id,
		session.EnvClientSecret: secret})
}

func (l *lossy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if l.ignoresKeys {
		r.Header.Del("Idempotency-Key")
	}
	lost := l.decisions && strings.Contains(r.URL.Path, "/redemptions/") && r.Method == http.MethodPost
	if strings.HasSuffix(r.URL.Path, "/redeem") || r.Method == http.MethodPost &&
		slices.Contains([]string{"properties", "restore", "perks", "stock"}, path.Base(r.URL.Path)) {
		l.first.Do(func() { lost = true })
	}
	if r.URL.Query().Get("type") == "redeemed" {
		l.lists++
	}
	if !lost {
		l.to.ServeHTTP(w, r)
		return
	}
	if l.done {
		l.to.ServeHTTP(httptest.NewRecorder(), r)
	}
	l.onLoss()
	panic(http.ErrAbortHandler)
}

// TestTheProofThatKeysCountIsKeptForADay redeems with commands one after the other. Only the first has to read before.
func TestTheProofThatKeysCountIsKeptForADay(t *testing.T) {
	l, x := newLossy(t)
	l.first.Do(func() {}) // loses nothing
	redeem := func(user string, lists int) {
		t.Helper()
		x.must("perk", "redeem", "coffee", "--user", user)
		if l.lists != lists {
			t.Errorf("for %s, lists were read %d times in all, want %d", user, l.lists, lists)
		}
	}
	l.ImportUsers("cem", "dora")
	redeem("ann", 1)
	redeem("bob", 1)
	kept, err := filepath.Glob(filepath.Join(x.env[session.EnvConfigDir], "*", "*.position.json"))
	if err != nil || len(kept) != 1 {
		t.Fatal(kept, err)
	}
	old := fmt.Sprintf(`{"keys_shown":%q}`, time.Now().Add(-25*time.Hour).Format(time.RFC3339))
	write(t, kept[0], old)
	redeem("cem", 2)
	redeem("dora", 2)
}

// redeemByAnother redeems coffee for ann as another client.
func (l *lossy) redeemByAnother(t *testing.T) {
	t.Helper()
	if status := l.Do(l.Request(l.Token(), http.MethodPost, l.LiveURL()+"/perks/coffee/redeem", `{"user_id":"ann"}`),
		nil); status != http.StatusCreated {
		t.Errorf("redeem by another client: %d", status)
	}
}

// redeemedBy returns the clients that have redeemed, and the id of the last redemption.
func (l *lossy) redeemedBy(t *testing.T) (by []string, id string) {
	t.Helper()
	for record, err := range l.Live.ExportRedemptions(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		by, id = append(by, record.ClientID), record.ID
	}
	return by, id
}

// TestLostRedeemIsNotConfusedWithAnotherClients loses the request or the reply of a redeem, while another client
// redeems the same perk for the same user.
func TestLostRedeemIsNotConfusedWithAnotherClients(t *testing.T) {
	const before, meanwhile, never = "before", "meanwhile", "never"
	for _, test := range []struct {
		another           string
		done, ignoresKeys bool
		code              int // of the command; a bulk run with failed rows exits with 7
		outcome           string
		says              string
	}{
		{another: never, done: true, outcome: `"outcome":"ok"`, says: "Redeemed coffee for ann"},
		{another: meanwhile, code: 6, outcome: `"outcome":"failed","status":409,"code":"already_redeemed"`,
			says: "already"},
		{another: before, code: 6, outcome: `"outcome":"failed","status":409,"code":"already_redeemed"`,
			says: "already"},
		{another: never, done: true, ignoresKeys: true, code: 8,
			outcome: `"outcome":"unknown","status":0,"code":"ambiguous"`,
			says:    "It may belong to this request or to another."},
		{another: meanwhile, ignoresKeys: true, code: 8, outcome: `"outcome":"unknown","status":0,"code":"ambiguous"`,
			says: "It may belong to this request or to another."},
		{another: before, ignoresKeys: true, code: 8,
			outcome: `"outcome":"unknown","status":0,"code":"outcome_unknown"`,
			says:    "Check first whether it was redeemed:"},
	} {
		for _, bulk := range []bool{false, true} {
			t.Run(fmt.Sprintf("another redeems %s, done %t, ignores keys %t, bulk %t", test.another, test.done,
				test.ignoresKeys, bulk), func(t *testing.T) {
				t.Parallel()
				l, x := newLossy(t)
				l.done, l.ignoresKeys = test.done, test.ignoresKeys
				switch test.another {
				case before:
					l.redeemByAnother(t)
				case meanwhile:
					l.onLoss = func() { l.redeemByAnother(t) }
				}
				args, code := []string{"perk", "redeem", "coffee", "--user", "ann"}, test.code
				file := filepath.Join(t.TempDir(), "rows.csv")
				if bulk {
					write(t, file, "perk,user\ncoffee,ann\n")
					args, code = []string{"perk", "redeem", "--file", file}, min(test.code, 1)*7
				}
				r := x.run(args...)
				by, id := l.redeemedBy(t)
				named := id // as what may be the request's
				if test.code == 8 && test.another == before {
					named = ""
				}
				if r.code != code || len(by) != 1 || (by[0] == x.env[session.EnvClientID]) != (test.another == never) {
					t.Errorf("exit code %d, want %d; redeemed by %q\n%s", r.code, code, by, r.err)
				}
				if !bulk {
					if !strings.Contains(r.err, test.says) || test.code == 8 && !strings.Contains(r.err, named) ||
						(test.code == 0) != strings.Contains(r.out, id) {
						t.Errorf("redemption %s: %+v", id, r)
					}
					return
				}
				results, err := os.ReadFile(file + ".results.jsonl")
				if err != nil || !strings.Contains(string(results), test.outcome) ||
					test.code != 6 && !strings.Contains(string(results), named) {
					t.Errorf("redemption %s: %v, %s", id, err, results)
				}
				if test.ignoresKeys { // stays unknown without --assume-mine
					if r := x.run(args...); r.code != 7 {
						t.Errorf("second run: exit code %d\n%s", r.code, r.err)
					}
					x.must(append(args, "--assume-mine")...)
				}
			})
		}
	}
}

// TestALostCreationIsRepeatedOnlyUnderAKeyThatCounts loses the request or the reply of a creation.
func TestALostCreationIsRepeatedOnlyUnderAKeyThatCounts(t *testing.T) {
	for _, test := range []struct {
		done, ignoresKeys bool
		code, made        int
	}{
		{done: true, made: 1}, {done: false, made: 1}, {done: true, ignoresKeys: true, code: 8, made: 1},
		{ignoresKeys: true, code: 8, made: 0},
	} {
		t.Run(fmt.Sprintf("done %t, ignores keys %t", test.done, test.ignoresKeys), func(t *testing.T) {
			t.Parallel()
			l, x := newLossy(t)
			l.done, l.ignoresKeys = test.done, test.ignoresKeys
			r := x.run("property", "create", "--title", "Flat", "--price-pw", "1")
			made := 0
			for _, err := range l.Live.ExportProperties(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				made++
			}
			if r.code != test.code || made != test.made || strings.Contains(r.err, "Nothing was created now") ||
				(test.code == 8) != strings.Contains(r.err, "Check first whether it was created:") {
				t.Errorf("%d were made: %+v", made, r)
			}
		})
	}
}

// TestALostChangeOfAPerkIsRepeatedOnlyUnderAKeyThatCounts loses the request or the reply of a creation, or of units
// that are added.
func TestALostChangeOfAPerkIsRepeatedOnlyUnderAKeyThatCounts(t *testing.T) {
	for _, test := range []struct {
		done, ignoresKeys bool
		code              int
		made              string // units of tea, and perks
	}{
		{done: true, made: "5 1"}, {done: false, made: "5 1"}, {done: true, ignoresKeys: true, code: 8, made: "5 1"},
		{ignoresKeys: true, code: 8, made: "0 0"},
	} {
		t.Run(fmt.Sprintf("done %t, ignores keys %t", test.done, test.ignoresKeys), func(t *testing.T) {
			t.Parallel()
			l, x := newLossy(t)
			l.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "tea"}, Stock: new(int64(0))})
			for _, line := range [][]string{
				{"perk", "stock", "tea", "--add", "5"},
				{"perk", "create", "--title", "Gym", "--description", "A week", "--city", "Leeds"},
			} {
				l.first, l.done, l.ignoresKeys = sync.Once{}, test.done, test.ignoresKeys
				r := x.run(line...)
				if r.code != test.code || strings.Contains(r.err, "this key was used before") ||
					(test.code == 8) != strings.Contains(r.err, "Check first whether it was ") {
					t.Errorf("%q: %+v", line, r)
				}
			}
			units := strings.TrimSpace(x.must("perk", "stock", "tea", "--jq", ".stock").out)
			perks := strings.Count(x.must("perk", "list", "--query", "gym", "-o", "id").out, "\n")
			if made := fmt.Sprintf("%s %d", units, perks); made != test.made {
				t.Errorf("%s, not %s", made, test.made)
			}
		})
	}
}

// TestARowWhoseCreationIsLostIsSentAgainOnlyUnderAKeyThatCounts runs the file twice, and then does not mind.
func TestARowWhoseCreationIsLostIsSentAgainOnlyUnderAKeyThatCounts(t *testing.T) {
	for _, ignoresKeys := range []bool{false, true} {
		t.Run(fmt.Sprintf("ignores keys %t", ignoresKeys), func(t *testing.T) {
			t.Parallel()
			l, x := newLossy(t)
			l.done, l.ignoresKeys = true, ignoresKeys
			file := write(t, filepath.Join(t.TempDir(), "flats.csv"), "title,price_pw\nFlat,1\n")
			run := func(code, made int, more ...string) {
				t.Helper()
				r := x.run(append([]string{"property", "create", "--file", file}, more...)...)
				for _, err := range l.Live.ExportProperties(t.Context()) {
					if made--; err != nil {
						t.Fatal(err)
					}
				}
				isAdvised := strings.Contains(r.err, "or run again with --resend-unknown")
				if r.code != code || made != 0 || isAdvised != (code == 7) {
					t.Errorf("%d more expected: %+v", made, r)
				}
			}
			if !ignoresKeys {
				run(0, 1)
				run(0, 1)
				return
			}
			run(7, 1)
			run(7, 1)
			run(0, 2, "--resend-unknown")
		})
	}
}

// TestALostRestorationIsSettledByItsKey loses the request or the reply of a restoration of an earlier version.
func TestALostRestorationIsSettledByItsKey(t *testing.T) {
	for _, done := range []bool{false, true} {
		l, x := newLossy(t)
		l.done = done
		price, _ := api.ParsePrice("1")
		l.ImportProperties(x.env[session.EnvClientID], api.Property{ID: 1, Title: "Flat", PricePW: price})
		then := strings.TrimSpace(x.must("property", "history", "1", "--jq", ".[0].at").out)
		x.must("property", "update", "1", "--title", "Loft")
		r := x.must("property", "restore", "1", "--to", then, "--yes")
		entries := strings.Fields(x.must("property", "history", "1", "--jq", ".[].action").out)
		if len(entries) != 3 || entries[0] != "restored" || strings.Contains(r.err, "Nothing was restored now") {
			t.Errorf("done %t: %q\n%s", done, entries, r.err)
		}
	}
}

// TestLostDecisionIsReadFromTheRedemption loses every reply to a decision, or every decision.
func TestLostDecisionIsReadFromTheRedemption(t *testing.T) {
	for _, test := range []struct {
		done bool
		code int
		says string
	}{
		{true, 0, "is voided at "},
		{true, 0, "The reply was lost; the service confirmed the decision."},
		{false, 8, "The request may have been carried out. It is still approved. To decide again is safe."},
	} {
		t.Run(fmt.Sprintf("done %t", test.done), func(t *testing.T) {
			t.Parallel()
			l, x := newLossy(t)
			l.redeemByAnother(t)
			_, id := l.redeemedBy(t)
			l.done, l.decisions = test.done, true
			r := x.run("redemption", "void", id, "--reason", "wrong user", "--yes", "--timeout", "1s")
			if r.code != test.code || !strings.Contains(r.err, test.says) {
				t.Errorf("%+v", r)
			}
		})
	}
}
