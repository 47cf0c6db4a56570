package pictures

import (
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

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
	folder        = "../../../docs/screenshots"
	width, height = 110, 32

	// shown is the address in the pictures: the same in each run, and as long as one with a free port.
	shown = "http://127.0.0.1:48080"
)

// counted matches the counter in the id of a redemption, which differs between runs.
var counted = regexp.MustCompile(`b648-\d{12}`)

// capture drives the terminal UI and takes pictures.
type capture struct {
	*tuitest.Driver
	t       *testing.T
	server  *servertest.Server
	clock   *servertest.Clock
	colours Colours

	id, secret string // the client's
}

// TestPictures compares the pictures in docs/screenshots with the terminal UI at a server with sample data, and draws them
// again with -update.
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
	_, err := server.Live.ImportPerks(t.Context(), data.Perks(2000), func() string { return "audit" }, store.Operator, clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.Live.ImportUsers(t.Context(), data.Users(200), store.Operator, clock.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Live.ImportProperties(t.Context(), data.Properties(20, id), store.Operator, clock.Now()); err != nil {
		t.Fatal(err)
	}
	accounts := tuitest.NewAccounts(t, nil) // without a profile until the login
	start := func(theme theme.Name, colours Colours) *capture {
		d := tuitest.StartAs(t, server, id, secret, func(o *tui.Options) {
			o.Accounts, o.Theme, o.Colours, o.Now = accounts, theme, termenv.TrueColor, clock.Now
		})
		d.Resize(width, height)
		return &capture{d, t, server, clock, colours, id, secret}
	}

	c := start(theme.Dark, Dark)
	c.logIn()
	c.findAndRedeem()
	c.lookAtUser()
	c.editProperty()
	c.findCommands()

	c = start(theme.Light, Light)
	c.See("find: words", "row 1 of ")
	c.Press("down", "down", " ", "down", " ")
	c.See("2 marked")
	c.take("light")
}

func (c *capture) logIn() {
	c.See("Address of the API")
	c.Type(c.server.API())
	c.Press("tab")
	c.Type(c.id)
	c.Press("tab", "tab")
	c.Type(c.secret)
	c.See("***")
	c.take("login")
	c.Press("enter")
	c.See("find: words", "Logged in.")
	c.take("perks")
}

func (c *capture) findAndRedeem() {
	c.Press("/")
	c.See("category:  near:")
	c.Type("coffee city:ber")
	c.See("Two coffees for one")
	c.Gone("Helsinki")
	c.take("filter")
	c.Press("enter")
	c.See("/ coffee city:")
	c.Press("enter")
	c.See("Bring a friend")
	c.take("perk")
	c.Press("r")
	c.See("> User")
	c.Type("alice")
	c.Press("ctrl+s")
	c.See("Redeem for alice?")
	c.take("confirm")
	c.Press("y")
	c.See("Redeemed. Status approved")
	c.take("redeemed")
}

func (c *capture) lookAtUser() {
	c.asOtherClient(http.MethodPost, "/partners/perks/spa-day/redeem", `{"user_id":"alice","metadata":{"till":"7"}}`)
	c.Press("u")
	c.See("User alice", "pending")
	c.take("user-redeemed")
	c.Press("tab")
	c.See("1 to 50 of ")
	c.take("user")
}

func (c *capture) editProperty() {
	c.Press("3")
	c.See("price:")
	c.Type("1")
	c.Press("enter")
	c.See("Property 1: Sunny loft", "395.00")
	c.Press("e")
	c.See("> Title")
	c.Press("shift+tab", "shift+tab", "shift+tab", "shift+tab", "shift+tab", "shift+tab")
	c.See("> Price per week")
	c.Press("ctrl+u")
	c.Type("410,50")
	c.Press("tab", "shift+tab")
	c.See("! ")
	c.take("edit")
	c.Press("ctrl+u")
	c.Type("410.50")
	c.Press("ctrl+s")
	c.See("- 395.00", "+ 410.50")
	c.take("diff")
	c.asOtherClient(http.MethodPatch, "/update-property/1", `{"price_pw":"450.00","title":"Sunny loft by the river"}`)
	c.Press("ctrl+s")
	c.See("1 to decide")
	c.take("merge")
	c.Press("m")
	c.See("All decided")
	c.Press("ctrl+s")
	c.See("Saved property 1")
	c.Press("ctrl+x")
	c.See("Delete property 1?")
	c.take("delete")
	c.Press("esc")
	c.Gone("Delete property 1?")
}

func (c *capture) findCommands() {
	c.Press("1", "F")
	c.Press("?")
	c.See("Keys")
	c.take("help")
	c.Press("esc")
	c.Gone("Keys")
	c.Press("ctrl+k")
	c.See("Find: ")
	c.Type("page")
	c.See("> Next page")
	c.take("palette")
}

// asOtherClient makes a request of another client meanwhile.
func (c *capture) asOtherClient(method, path, body string) {
	c.t.Helper()
	if status := c.server.Do(c.server.Request(c.server.TokenFor(c.id, c.secret), method, c.server.URL+path, body), nil); status >= 300 {
		c.t.Fatalf("%s %s got status %d", method, path, status)
	}
}

// Press presses keys once all requests are done, so that every run has the same pictures.
func (c *capture) Press(keys ...string) {
	c.t.Helper()
	c.Settle()
	c.Driver.Press(keys...)
}

// take takes a picture, after the last message has disappeared.
func (c *capture) take(name string) {
	c.t.Helper()
	c.Settle()
	c.clock.Advance(10 * time.Second)
	c.Elapse(10 * time.Second)
	c.Gone("Done: ")
	screen := counted.ReplaceAllString(strings.ReplaceAll(c.Screen(), c.server.Root(), shown), "b648-25d14cbbd87c")
	golden(c.t, filepath.Join(folder, name+".svg"), Read(screen, width, height).Draw("perksctl tui", c.colours))
}
