package tuitest

import (
	"cmp"
	"encoding/json"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/muesli/termenv"

	"example.com/perks/api"
	"example.com/perks/cmd/dev/programs"
	"example.com/perks/tui"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/theme"
)

// TestManyRecords uses the terminal UI with a server that has a million perks and 100,000 redemptions, and in the short
// form a thousandth of the perks and a hundredth of the redemptions. The server is a process of its own, as everywhere.
func TestManyRecords(t *testing.T) {
	perks, redemptions := 1000, 1000
	if isLong() {
		perks, redemptions = 1_000_000, 100_000
	}
	d := &fixture{Workspace: programs.Workspace{Programs: binaries(t), Dir: t.TempDir()}, t: t, id: staff}
	created, err := d.NewClient(t.Context(), staff, "--scope", api.AllScopes().String())
	if err != nil {
		t.Fatal(err)
	}
	d.secret = created.Secret
	begun := time.Now()
	// each redemption has a user of its own, so that none is refused
	if output, err := programs.Output(d.Command(t.Context(), "perksd", "demo-data", "--perks", strconv.Itoa(perks),
		"--users", strconv.Itoa(redemptions+2), "--redemptions", strconv.Itoa(redemptions), "--owner", staff)); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	t.Logf("filling the database took %s", time.Since(begun).Round(time.Second))
	d.serve()
	t.Run("a key is drawn within a frame", d.drawsKeys)
	t.Run("scrolling keeps few rows", d.scrollsToTheEnd)
}

// API returns the {api_url}, for StartAs.
func (d *fixture) API() string { return d.address }

// Client returns the client of the fixture.
func (d *fixture) Client(...api.Scope) (id, secret string) { return d.id, d.secret }

// oneFrame is how long the effect of a key may take to be drawn: a frame at 60 Hz.
const oneFrame = 16 * time.Millisecond

// drawsKeys presses keys as somebody in a hurry does, and measures how long each takes until it is drawn, and each
// reply of the service. The long form needs a machine that does nothing else. In the short form other tests run beside
// it, so only the middle counts.
func (f *fixture) drawsKeys(t *testing.T) {
	d := Start(t, f, func(o *tui.Options) { o.Theme, o.Colours = theme.Dark, termenv.TrueColor })
	d.Resize(200, 60)
	d.Settle()
	rounds := 5
	if isLong() {
		rounds = 50
	}
	var keys []time.Duration
	press := func(key string) {
		at := len(d.Frames)
		d.Send(Key(key))
		keys = append(keys, d.Frames[at])
	}
	pressing := func(keys ...string) func() {
		return func() {
			for _, key := range keys {
				press(key)
				d.Settle()
			}
		}
	}
	for _, kind := range []struct {
		name string
		does func()
	}{
		{"j", pressing(slices.Repeat([]string{"j"}, 40)...)},
		{"pgdown", pressing(slices.Repeat([]string{"pgdown"}, 10)...)},
		{"g and G", pressing("G", "g")},
		{"tabs", pressing("2", "esc", "3", "esc", "4", "j", "1")},
		{"typing a filter", func() {
			press("/")
			for _, r := range "coffee city:Berlin" { // quicker than the service
				press(string(r))
			}
			pressing("enter", "F")()
		}},
	} {
		d.Frames, keys = []time.Duration{}, nil
		for range rounds {
			kind.does()
		}
		for of, frames := range map[string][]time.Duration{"keys": keys, "keys and replies": d.Frames} {
			slices.Sort(frames)
			median, most := frames[len(frames)/2], frames[len(frames)*99/100]
			t.Logf("%s, %d %s: p50 %.1f ms, p99 %.1f ms, worst %.1f ms", kind.name, len(frames), of,
				milliseconds(median), milliseconds(most), milliseconds(frames[len(frames)-1]))
			if measured := map[bool]time.Duration{false: median, true: most}[isLong()]; measured >= oneFrame {
				t.Errorf("%s: of %s a frame takes %s", kind.name, of, measured)
			}
		}
	}
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1e3 }

// mostRows is how many rows a list may keep.
const mostRows = 2000

// scrollsToTheEnd goes through all redemptions page by page. Each has to be shown once, in order.
func (f *fixture) scrollsToTheEnd(t *testing.T) {
	d := Start(t, f, Route(screen.ToRedemptions{}))
	d.Resize(120, 40)
	d.Settle()
	list := d.App.Top().(interface {
		Shown() []api.RedemptionRecord
		Selected() (kind, id string)
	})
	wanted := f.newestRedemptions()
	var most, seen, steps int
	var begun uint64
	for before := ""; ; steps++ {
		rows := list.Shown()
		most = max(most, len(rows))
		at := 0
		if seen > 0 {
			at = 1 + slices.IndexFunc(rows, func(r api.RedemptionRecord) bool { return r.ID == wanted[seen-1] })
			if at == 0 {
				t.Fatalf("after %d redemptions the last one is gone from the rows", seen)
			}
		}
		for _, row := range rows[at:] {
			if seen == len(wanted) || row.ID != wanted[seen] {
				t.Fatalf("redemption %d is %s", seen+1, row.ID)
			}
			seen++
		}
		_, now := list.Selected()
		if now == before {
			break
		}
		if steps == 30 { // what the first pages take is not growth
			begun = heap()
		}
		before = now
		d.Press("pgdown")
		d.Settle()
	}
	if seen != len(wanted) {
		t.Errorf("%d of %d redemptions were shown", seen, len(wanted))
	}
	if most > mostRows {
		t.Errorf("the list kept %d rows, more than %d", most, mostRows)
	}
	ended := heap()
	t.Logf("%d redemptions in %d steps, at most %d rows at a time; the heap had %d KB, and has %d KB", seen, steps, most,
		begun>>10, ended>>10)
	if begun > 0 && ended > begun+mostGrowth {
		t.Errorf("the heap grew from %d to %d KB", begun>>10, ended>>10)
	}
	runtime.KeepAlive(d)
}

// mostGrowth is by how many bytes the heap may grow: less than a tenth of what 100,000 rows take.
const mostGrowth = 4 << 20

// heap is how many bytes are in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// newestRedemptions is the ids of all redemptions, the newest first.
func (d *fixture) newestRedemptions() (ids []string) {
	d.t.Helper()
	var all []api.RedemptionRecord
	for line := range strings.Lines(d.must("perksd", "export", "redemptions", "-o", "jsonl")) {
		var r api.RedemptionRecord
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			d.t.Fatal(err)
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(r, other api.RedemptionRecord) int {
		return cmp.Or(other.RedeemedAt.Compare(r.RedeemedAt), cmp.Compare(r.ID, other.ID))
	})
	for _, r := range all {
		ids = append(ids, r.ID)
	}
	return ids
}
