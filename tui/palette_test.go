package tui_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
	"example.com/perks/tui"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
)

func serviceWithPerks(t *testing.T) *servertest.Server {
	t.Helper()
	s := servertest.Start(t)
	s.ImportUsers("alice", "bob")
	end := time.Now().Add(72 * time.Hour)
	for id, title := range map[string]string{"demo-009729": "Coffee for two", "museum": "An hour in the museum",
		"spa": "A day at the spa"} {
		s.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: id, Title: title, City: "Berlin", ValidTo: &end}})
	}
	return s
}

func TestPaletteOpensWhatWordsName(t *testing.T) {
	tuitest.Start(t, serviceWithPerks(t)).Play(`
		settle ctrl+k "user alice\n" => User alice
		settle ctrl+k "User  bob\n" => User bob
		settle ctrl+k "perk spa\n" => Perk A day at the spa
		settle ctrl+k "property 4\n" => Property 4
		settle ctrl+k "property .." => Nothing here matches that.`)
}

func TestALongTextToFindScrolls(t *testing.T) {
	long := "the beginning " + strings.Repeat("and more ", 20) + "the end"
	tuitest.Start(t, serviceWithPerks(t)).Play(`ctrl+k "` + long + `" => and more the end | ≠ the beginning`)
}

// startWithListing has three perks, alice's redemption of the spa, whose id it returns, and a listing.
func startWithListing(t *testing.T, more ...store.PerkRecord) (d *tuitest.Driver, redemption string) {
	server := serviceWithPerks(t)
	server.ImportPerks(more...)
	id, secret := server.Client()
	server.ImportProperties(id, api.Property{ID: 7, Title: "Attic by the canal", Address: "Canal 1", City: "Berlin"})
	d = tuitest.StartAs(t, server, id, secret)
	d.See("Perks ")
	made, _, err := d.App.Shell().Account.Client.Redeem(t.Context(), "spa", api.RedeemRequest{UserID: "alice"}, "")
	if err != nil {
		t.Fatal(err)
	}
	return d, made.ID
}

// TestPaletteFindsRecordsOfEveryKind types the beginning of a user's id, words of a perk and of a listing, and the id
// of a redemption.
func TestPaletteFindsRecordsOfEveryKind(t *testing.T) {
	d, made := startWithListing(t)
	for typed, want := range map[string][]string{
		"ali":                {"User: alice", "User alice", "Available 2"},
		"hour in":            {"Perk: An hour in the museum", "Perk An hour in the museum", "Berlin"},
		"berlin":             {"Perk: A day at the spa", "Perk A day at the spa", "Berlin"},
		"canal":              {"Property: Attic by the canal", "Property 7", "Attic"},
		made:                 {"Open redemption " + made, "Status approved", "A day at the spa (spa)"},
		"redemption " + made: {"Open redemption " + made, "Status approved"},
		"redemption r-1":     {"Open redemption r-1", "There is no redemption r-1."},
	} {
		d.Settle()
		d.Press("ctrl+k")
		d.Type(typed)
		d.See(want[0])
		for range 20 {
			if d.Shows("> " + want[0]) {
				break
			}
			d.Press("down")
		}
		d.Press("enter")
		d.See(want[1:]...)
	}
	d.Play(`
		settle ctrl+k => Recent | Open user alice | Open perk museum, An hour in the museum
		=> Open redemption MADE, spa for alice`, "MADE", made)
}

// TestPaletteOpensHitsBeforeGuesses presses Enter before the search has begun, and finds two perks of one title.
func TestPaletteOpensHitsBeforeGuesses(t *testing.T) {
	discount := "2 for 1"
	d, made := startWithListing(t,
		store.PerkRecord{Perk: api.Perk{ID: "film-1", Title: "Matinee", City: "Berlin", DiscountText: &discount}},
		store.PerkRecord{Perk: api.Perk{ID: "film-2", Title: "Matinee", City: "Rome"}})
	d.Play(`
		settle ctrl+k "bob\n" => User bob
		settle ctrl+k "MADE\n" => Redemption MADE
		settle ctrl+k "7\n" => Property 7
		settle ctrl+k "film-2\n" => Perk Matinee
		settle ctrl+k "matinee"`, "MADE", made)
	inOrder(d, "Perk: Matinee, film-1, Berlin, 2 for 1", "Open perk matinee", "Open user matinee")
	inOrder(d, "Perk: Matinee, film-2, Rome", "Open perk matinee")
	d.Play(`esc ctrl+k "` + unknownID + `"`)
	inOrder(d, "> Open redemption "+unknownID, "Open user "+unknownID, "Open perk "+unknownID)
	d.Play(`esc ctrl+k "ali"`)
	inOrder(d, "Users", "> User: alice", "Go to id", "Open perk ali")
	d.Play(`esc ctrl+k "be"`)
	inOrder(d, "Properties", "> Property: Attic", "Commands", "Go to id", "Open perk be")
	d.Press("esc")
	d.App.Shell().Account.Profile.Sandbox = true // which has no properties, although the service lists the live ones
	d.Play(`ctrl+k "canal" settle => > Open perk canal | ≠ Property:`)
}

// inOrder waits until texts are on the screen, each below the one before.
func inOrder(d *tuitest.Driver, texts ...string) {
	d.Until(strings.Join(texts, " above "), func() bool {
		shown, found := d.Screen(), true
		for _, text := range texts {
			if found {
				_, shown, found = strings.Cut(shown, text)
			}
		}
		return found
	})
}

const unknownID = "3f1c7f0e-0000-4000-8000-000000000001"

// TestCommandsComeBeforeIDs types words that can be ids as well.
func TestCommandsComeBeforeIDs(t *testing.T) {
	tuitest.Start(t, serviceWithPerks(t)).Play(`
		settle ctrl+k "quit" => > Quit (q) | Open perk quit
		esc ctrl+k "4" => > Open perk 4 | Open user 4 | Open property 4 | Redemptions (4)`)
}

func TestPaletteBeginsWithRecentRecords(t *testing.T) {
	memory := &tuitest.Memory{}
	for _, id := range []string{"u1", "u2", "u3", "u4"} {
		_ = memory.Remember(screen.Profile{}, "user", id)
	}
	_ = memory.Remember(screen.Profile{}, "property", "7")
	d := probed(t, &probe{offers: actions.Enabled(actions.Redeem)}, func(o *tui.Options) { o.Memory = memory })
	d.Play(`
		ctrl+k => > Open user u4 | Open user u3 | Open user u2 | Open property 7 | Redeem (r) | ≠ Open user u1
		down down down enter => Property 7`)
}

// TestCursorStaysWhenRecentRecordsArrive moves it before they were read.
func TestCursorStaysWhenRecentRecordsArrive(t *testing.T) {
	release := make(chan struct{})
	d := probed(t, &probe{offers: actions.Enabled(actions.Redeem, actions.CopyID)},
		func(o *tui.Options) { o.Memory = &slowMemory{Memory: &tuitest.Memory{}, release: release} })
	d.Play(`ctrl+k down => > Copy the id`)
	close(release)
	d.See("Open user alice", "> Copy the id")
}

type slowMemory struct {
	*tuitest.Memory
	release chan struct{}
}

func (m *slowMemory) Recent(_ screen.Profile, kind string) []string {
	<-m.release
	return map[string][]string{"user": {"alice"}}[kind]
}

// TestLateTitlesOfFormerWordsAreDropped holds the reply for "co" until "coffee" was typed.
func TestLateTitlesOfFormerWordsAreDropped(t *testing.T) {
	held, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	d := probedOver(t, &probe{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query().Get("q")
		if query == "" {
			emptyService(w, r)
			return
		}
		if query == "co" {
			once.Do(func() { close(held) })
			<-release
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"data":[{"id":"x","title":"Found for ` + query +
			`"}],"meta":{"page":1,"per_page":5,"total":1,"total_pages":1}}`))
	}))
	d.Play(`ctrl+k "co"`)
	tuitest.Await(d, held)
	d.Play(`"ffee" => Perk: Found for coffee`)
	close(release)
	d.Settle()
	if !d.Shows("Found for coffee") || strings.Count(d.Screen(), "Perk: ") != 1 {
		t.Errorf("the screen has titles of former words:\n%s", d.Screen())
	}
}

// TestTitlesAreSearchedAfterAPause types three letters; none of the pauses before the last ends in a search.
func TestTitlesAreSearchedAfterAPause(t *testing.T) {
	var due []tea.Msg
	d := probed(t, &probe{}, func(o *tui.Options) {
		o.After = func(pause time.Duration, msg tea.Msg) tea.Cmd {
			if pause == 200*time.Millisecond {
				due = append(due, msg)
			}
			return nil
		}
	})
	d.Press("ctrl+k")
	d.Settle()
	d.Type("cof")
	d.Settle()
	if len(due) != 3 {
		t.Fatalf("%d pauses for three keys", len(due))
	}
	for i, msg := range due {
		d.Send(msg)
		if running := d.Running(); (running > 0) != (i == 2) {
			t.Errorf("pause %d: %d searches", i, running)
		}
		d.Settle()
	}
}

func TestPaletteBeforeALoginHasOnlyCommands(t *testing.T) {
	d := tuitest.StartWithHandler(t, emptyService, func(o *tui.Options) { o.Accounts = broken{} })
	d.Play(`ctrl+k "user alice" => Nothing here matches that.`)
}
