package pictures

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/cellbuf"
	"github.com/muesli/termenv"

	"example.com/perks/cmd/perksd/sample"
	"example.com/perks/server"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
	"example.com/perks/tui"
	"example.com/perks/tui/theme"
	"example.com/perks/tui/tuitest"
)

const (
	directory = "../../../docs/screenshots"

	// shown is the address in the pictures: the same in each run, and as long as one with a free port.
	shown = "http://127.0.0.1:48080"
)

// A shot is how a picture is taken.
type shot struct {
	width, height int
	theme         theme.Name
}

var (
	small  = shot{80, 24, theme.Dark}
	medium = shot{120, 40, theme.Dark}

	// everyShot is how the main screens are taken.
	everyShot = []shot{
		small, medium, {200, 60, theme.Dark},
		{80, 24, theme.Light}, {120, 40, theme.Light}, {200, 60, theme.Light},
	}
)

// counted matches the counter in the id of a redemption, which differs between runs.
var counted = regexp.MustCompile(`b648-\d{12}`)

// capture drives the terminal UI and takes pictures.
type capture struct {
	*tuitest.Driver
	t      *testing.T
	server *servertest.Server
	clock  *servertest.Clock
	kept   []string
	seen   map[theme.Name][]Screen
	film   *Film // of what happens; nil while nothing is filmed

	id, secret string // the client's
}

// kept are the pictures of README.md and docs. The others are only checked, and written to PERKS_ARTEFACTS if that is
// set.
var kept = []string{
	"confirm-80x24-dark.svg", "edit-120x40-light.svg", "merge-80x24-dark.svg", "perks-120x40-dark.svg",
	"redemptions-120x40-dark.svg", "story.svg", "user-120x40-dark.svg",
}

// TestPictures compares the pictures in docs/screenshots with the terminal UI at a server with sample data, and draws
// them again with -update.
func TestPictures(t *testing.T) {
	clock := servertest.NewClock(time.Date(2026, time.November, 23, 9, 30, 0, 0, time.UTC))
	var ids atomic.Int64
	server := servertest.Start(t, servertest.WithClock(clock), func(c *server.Config) {
		c.NewID = func() string {
			return fmt.Sprintf("01a20084-729d-7d76-b648-%012d", ids.Add(1))
		}
	})
	const id = "demo"
	_, secret := server.ClientWith(func(c *store.Client) { c.ID = id })
	data := sample.Data{Seed: 1, Day: clock.Now()}
	_, err := server.Live.ImportPerks(t.Context(), data.Perks(2000), func() string { return "audit" }, store.Operator,
		clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.Live.ImportUsers(t.Context(), data.Users(200), store.Operator, clock.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Live.ImportProperties(t.Context(), data.Properties(20, id), store.Operator,
		clock.Now()); err != nil {
		t.Fatal(err)
	}
	accounts := tuitest.NewAccounts(t, nil) // without a profile until the login
	d := tuitest.StartAs(t, server, id, secret, func(o *tui.Options) {
		o.Accounts, o.Theme, o.Colours, o.Now = accounts, theme.Dark, termenv.TrueColor, clock.Now
	})
	c := &capture{Driver: d, t: t, server: server, clock: clock, seen: map[theme.Name][]Screen{}, id: id,
		secret: secret}
	c.look(medium)
	c.logIn()
	c.find()
	c.redeem()
	c.decide()
	c.editProperty()
	c.findCommands()
	c.story()
	if !slices.Equal(slices.Sorted(slices.Values(c.kept)), kept) {
		t.Errorf("the pictures %q are drawn, not %q", c.kept, kept)
	}
	for name, screens := range c.seen {
		hasEveryRole(t, name, screens)
	}
}

func (c *capture) logIn() {
	c.See("Address of the API")
	c.Type(c.server.API())
	c.Press("tab")
	c.Type(c.id)
	c.Press("tab", "tab")
	c.Type(c.secret)
	c.See("***")
	c.take("login", small)
	c.Press("enter")
	c.See("find: words", "Logged in.")
	c.take("perks", everyShot...)
}

func (c *capture) find() {
	c.Press("/")
	c.See("category:  near:")
	c.Type("coffee city:ber")
	c.See("Two coffees for one")
	c.Gone("Helsinki")
	c.take("filter", small)
	c.Press("enter")
	c.See("/ coffee city:")
	c.Press("enter")
	c.See("Bring a friend")
	c.take("perk", everyShot...)
}

func (c *capture) redeem() {
	c.Press("r")
	c.See("> User")
	c.Type("alice")
	c.See("can redeem")
	c.take("redeem", everyShot...)
	c.Press("ctrl+s")
	c.See("Redeem for alice?")
	c.take("confirm", small)
	c.Press("y")
	c.See("Redeemed. Status approved")
	c.take("redeemed", small)
	c.asOtherClient(http.MethodPost, "/partners/perks/spa-day/redeem", `{"user_id":"alice","metadata":{"till":"7"}}`)
	c.Press("u")
	c.See("User alice", "pending")
	c.take("user", everyShot...)
}

func (c *capture) decide() {
	c.Press("4")
	c.See("Redemptions 2", "spa-day")
	c.take("redemptions", everyShot...)
}

func (c *capture) editProperty() {
	c.Press("3")
	c.See("price:")
	c.Type("1")
	c.Press("enter")
	c.See("Property 1: Sunny loft", "395.00")
	c.Press("e")
	c.See("> Title")
	c.Press("tab", "tab", "tab", "tab")
	c.See("> Price per week")
	c.Press("ctrl+u")
	c.Type("410,50")
	c.Press("tab", "shift+tab")
	c.See("! ")
	c.take("edit", everyShot...)
	c.Press("ctrl+u")
	c.Type("410.50")
	c.Press("ctrl+s")
	c.See("- 395.00", "+ 410.50")
	c.take("diff", small)
	c.asOtherClient(http.MethodPatch, "/update-property/1", `{"price_pw":"450.00","title":"Sunny loft by the river"}`)
	c.Press("ctrl+s")
	c.See("1 to decide")
	c.take("merge", small)
	c.Press("m")
	c.See("All decided")
	c.Press("ctrl+s")
	c.See("Saved property 1")
	c.Press("ctrl+x")
	c.See("Delete property 1?")
	c.take("delete", small)
	c.Press("esc")
	c.Gone("Delete property 1?")
}

func (c *capture) findCommands() {
	c.Press("1", "1")
	c.See("coffee city:")
	c.Press("F")
	c.See("row 1 of 1,802")
	c.Press("?")
	c.See("Keys")
	c.take("help", small)
	c.Press("esc")
	c.Gone("Keys")
	c.Press("ctrl+k")
	c.See("Find: ")
	c.Type("sort")
	c.See("> Sort by…")
	c.take("palette", small)
	c.Press("esc")
}

// asOtherClient makes a request of another client meanwhile.
func (c *capture) asOtherClient(method, path, body string) {
	c.t.Helper()
	if status := c.server.Do(c.server.Request(c.server.TokenFor(c.id, c.secret), method, c.server.URL+path, body),
		nil); status >= 300 {
		c.t.Fatalf("%s %s got status %d", method, path, status)
	}
}

// Press presses keys once all requests are done, so that every run has the same pictures.
func (c *capture) Press(keys ...string) {
	c.t.Helper()
	c.Settle()
	c.Driver.Press(keys...)
}

func (c *capture) look(s shot) {
	c.App.Shell().Theme = theme.New(s.theme, termenv.TrueColor)
	c.Resize(s.width, s.height)
	c.Settle()
}

// read reads the screen, with what differs between runs replaced.
func (c *capture) read(s shot) Screen {
	view := strings.ReplaceAll(c.App.View(), c.server.Root(), shown)
	return Read(counted.ReplaceAllString(view, "b648-25d14cbbd87c"), s.width, s.height)
}

// take takes pictures, after the last message has disappeared.
func (c *capture) take(name string, shots ...shot) {
	c.t.Helper()
	c.Settle()
	c.clock.Advance(10 * time.Second)
	c.Elapse(10 * time.Second)
	c.Gone("Done: ")
	for _, s := range shots {
		c.look(s)
		screen, colours := c.read(s), Dark
		if s.theme == theme.Light {
			colours = Light
		}
		c.seen[s.theme] = append(c.seen[s.theme], screen)
		c.keep(fmt.Sprintf("%s-%dx%d-%s.svg", name, s.width, s.height, s.theme), screen.Draw("perksctl tui", colours),
			60_000)
	}
	c.look(medium)
}

// keep compares a picture with the kept one, if there is one. It may have that many bytes.
func (c *capture) keep(name, svg string, most int) {
	c.t.Helper()
	if len(svg) > most {
		c.t.Errorf("%s has %d bytes", name, len(svg))
	}
	if slices.Contains(kept, name) {
		c.kept = append(c.kept, name)
		golden(c.t, filepath.Join(directory, name), svg)
	}
	if artefacts := os.Getenv("PERKS_ARTEFACTS"); artefacts != "" {
		err := os.MkdirAll(artefacts, 0o755)
		if err := errors.Join(err, os.WriteFile(filepath.Join(artefacts, name), []byte(svg), 0o644)); err != nil {
			c.t.Fatal(err)
		}
	}
}

// hasEveryRole checks that the colours of each role of a theme are in some picture.
func hasEveryRole(t *testing.T, name theme.Name, screens []Screen) {
	t.Helper()
	look := theme.New(name, termenv.TrueColor)
	for role, style := range map[string]lipgloss.Style{
		"accent": look.Accent, "muted": look.Muted, "heading": look.Heading, "selected": look.Selected,
		"input": look.Input, "match": look.Match,
		"good": look.Good, "warning": look.Warn, "bad": look.Bad, "live": look.Live, "border": look.Border,
	} {
		sample := Read(style.Render("x"), 1, 1).rows[0][0].style
		if name == theme.Light && (role == "match" || role == "live") {
			continue // in dark pictures only
		}
		if !slices.ContainsFunc(screens, func(s Screen) bool { return s.has(sample) }) {
			t.Errorf("no picture in %s has the role %s", name, role)
		}
	}
}

// has tells whether a cell has the colours of a style.
func (s Screen) has(style cellbuf.Style) bool {
	for _, row := range s.rows {
		if slices.ContainsFunc(row, func(c cell) bool { return c.style.Fg == style.Fg && c.style.Bg == style.Bg }) {
			return true
		}
	}
	return false
}

// filmed is the size of the film.
var filmed = shot{120, 32, theme.Dark}

// story films how a perk is found and redeemed.
func (c *capture) story() {
	c.look(filmed)
	c.film = &Film{}
	c.scene(1500 * time.Millisecond)
	c.press("/")
	for _, r := range "coffee city:ber" {
		c.press(string(r))
	}
	c.scene(time.Second)
	c.press("enter")
	c.scene(time.Second)
	c.press("r")
	c.scene(800 * time.Millisecond)
	for _, r := range "bob" {
		c.press(string(r))
	}
	c.See("can redeem")
	c.scene(1200 * time.Millisecond)
	c.press("ctrl+s")
	c.scene(2 * time.Second)
	c.press("y")
	c.See("Redeemed. Status approved")
	c.scene(2 * time.Second)
	c.press("u")
	c.See("User bob", "just now")
	c.scene(4 * time.Second)
	c.keep("story.svg", c.film.Draw("perksctl tui", Dark), 300_000)
}

// press films a key.
func (c *capture) press(key string) {
	c.Press(key)
	c.scene(120 * time.Millisecond)
}

// scene shows in the film for a time what the screen has once all requests are done.
func (c *capture) scene(stays time.Duration) {
	c.Settle()
	c.film.Add(c.read(filmed), stays)
}
