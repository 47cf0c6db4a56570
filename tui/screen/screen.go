// Package screen is what a screen is and what it is given to work with: the shell around it, routes to other screens, loaders
// and senders, which do all waiting outside of Update and View, and the dialogs that open over a screen.
//
// It knows no single screen.
package screen

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/widget"
)

// Screen is one screen. It sees no keys: the shell turns them into actions, or into text of the form that it shows. All
// methods are called by one goroutine, and none of them waits for anything.
type Screen interface {
	// Title names the screen in the header: "Perks", "Perk Coffee for two". It may hold the service's text.
	Title() string
	// Init begins loading. It is called once, after the first Resize.
	Init() tea.Cmd
	// Update takes a message: the end of a load, Edited, Reconnected, and mouse events that fall on the screen, counted
	// from its corner. Every message goes to all open screens.
	Update(msg tea.Msg) tea.Cmd
	// Do carries out an action that Offers has as enabled.
	Do(id actions.ID) tea.Cmd
	// Offers is the actions that the screen knows now, the most useful first; those of moving about come last.
	Offers() []actions.Offer
	// Resize tells how much room the screen has. Both can be as little as 1.
	Resize(width, height int)
	// View draws the screen. The shell crops what does not fit, but a screen should fit by itself.
	View() string
	// Form returns the form whose text is being typed, nil if none is.
	Form() *widget.Form
	// Unsaved says, as a sentence, what would be lost if the screen were closed now; "" if nothing.
	Unsaved() string
	// Linear says all that View shows as plain lines without drawing, for people who listen to it.
	Linear() string
}

// Chooser is a Screen with a list, of which the linear mode can choose a row by its number, from 1.
type Chooser interface {
	Choose(row int) bool
}

// Keeper is a Screen with unsaved text of which a draft is kept.
type Keeper interface {
	// Keep returns the command that keeps what was typed so far; nil if nothing was. It runs before the program ends or is
	// suspended, and when the screen is closed.
	Keep() tea.Cmd
}

// Reopener is a Screen that can be opened again after it was closed. Until then it still gets messages.
type Reopener interface {
	Reopens() bool
}

// Edited tells a screen that a person has changed a field of its form.
type Edited struct{ Field string }

// FieldLeft tells a screen that the person has left a field of its form, for another field or for something else.
type FieldLeft struct{}

// Reconnected tells every screen that there is a client again, or another one: after a login, and when the service can be
// reached again. Screens load again what they show; they keep what was typed. Other says that it is another service,
// client or sandbox than before, so that nothing shown still holds.
type Reconnected struct{ Other bool }

// Revealed tells a screen that the one above it was closed.
type Revealed struct{}

// Shell is what every screen is given. The application changes Account and Theme in its Update; screens only read them, and
// keep no copies.
type Shell struct {
	Theme    *widget.Theme
	Keys     *actions.Registry
	Account  Account // its Client is nil before a login
	Accounts Accounts
	Memory   Memory
	Desktop  Desktop

	Now   func() time.Time
	After func(d time.Duration, msg tea.Msg) tea.Cmd // sends the message once the time has passed
	NewID func() string                              // a new idempotency key

	Screens func() []Screen // those that are open or can be opened again, the topmost last

	posted  []tea.Msg
	covered bool // whoever posts now does not have the keyboard
}

// Post gives the application a message to take before anything else, such as Go, Confirm, Pick or Prompt: the next key then
// meets what this one has opened. A command would let keys that are typed quickly go to the screen below. It returns nil, for
// use where a command is wanted. Only Update and Do may call it.
func (s *Shell) Post(msg tea.Msg) tea.Cmd {
	if _, asks := msg.(Question); asks && s.covered {
		return nil
	}
	s.posted = append(s.posted, msg)
	return nil
}

// Covered says whether the screen that takes a message next lies below something else. Its questions are dropped then: they
// would take the keys that are meant for what lies above, and a person has gone on from what they are about. It is the
// application's.
func (s *Shell) Covered(covered bool) { s.covered = covered }

func (s *Shell) Open(to Route) tea.Cmd { return s.Post(Go{To: to}) }

// Close posts that the screen on top is to be closed.
func (s *Shell) Close() tea.Cmd { return s.Post(Back{}) }

// Posted returns the next message that was posted. It is the application's.
func (s *Shell) Posted() (msg tea.Msg, ok bool) {
	if len(s.posted) == 0 {
		return nil, false
	}
	msg, s.posted = s.posted[0], s.posted[1:]
	return msg, true
}

// Zone is the time zone in which times are shown.
func (s *Shell) Zone() *time.Location { return s.Now().Location() }

// Key is the key of an action as sentences name it, or the way to an action that has none.
func (s *Shell) Key(id actions.ID) string {
	if key := s.Keys.Key(id); key != "" {
		return key
	}
	return fmt.Sprintf("%q in the command palette", s.Keys.Action(id).Name)
}

// Copy puts an id on the clipboard, and tells how that went. Note says more of whose id it is; it may be "".
func (s *Shell) Copy(id, note string) tea.Cmd {
	desktop, shown := s.Desktop, display.Line(id)
	return func() tea.Msg {
		return told(desktop.Copy(id), "The id "+shown+" was not copied: ", "Copied the id "+shown+note+".")
	}
}

// Browse shows an image in a browser, and tells how that went.
func (s *Shell) Browse(address string) tea.Cmd {
	desktop, host := s.Desktop, ""
	if target, err := url.Parse(address); err == nil {
		host = " at " + display.Line(target.Host)
	}
	return func() tea.Msg { return told(desktop.Open(address), "", "Opened the image"+host+" in a browser.") }
}

// Remember puts an id first among the recent ones of a kind. Only a failure is told.
func (s *Shell) Remember(profile Profile, kind, id string) tea.Cmd {
	memory := s.Memory
	return func() tea.Msg {
		if err := memory.Remember(profile, kind, id); err != nil {
			return Toast{Warning, Sentence("This "+kind+" will not be among the recent ones: ", err)}
		}
		return nil
	}
}

// Roll does what one step of the mouse's wheel does: an action three times.
func Roll(do func(actions.ID) tea.Cmd, id actions.ID) tea.Cmd {
	return tea.Batch(do(id), do(id), do(id))
}

// told is the message that something was done, or that it has failed.
func told(err error, before, done string) tea.Msg {
	if err != nil {
		return Toast{Failure, Sentence(before, err)}
	}
	return Toast{Done, done}
}

// Route is a way to a screen. Screens name routes, not each other.
type Route interface{ route() }

// The routes.
type (
	// ToPerks shows the list of perks.
	ToPerks struct{}
	// ToPerk shows a perk. Known may hold it as a list has shown it; it is read again anyway. UserID is for whom it is looked
	// at, if for somebody.
	ToPerk struct {
		ID     string
		Known  *api.Perk
		UserID string
	}
	// ToRedeem redeems perks for one user. UserID may be empty.
	ToRedeem struct {
		Perks  []api.Perk
		UserID string
	}
	// ToUser shows what a user can redeem and has redeemed, the latter first if it is asked for.
	ToUser struct {
		ID       string
		Redeemed bool
	}
	// ToProperty shows a property; with ID 0 it asks which.
	ToProperty struct{ ID int64 }
	// ToLogin logs in, or switches the profile.
	ToLogin struct{}
)

func (ToPerks) route()    {}
func (ToPerk) route()     {}
func (ToRedeem) route()   {}
func (ToUser) route()     {}
func (ToProperty) route() {}
func (ToLogin) route()    {}

// Go opens a screen on top of the present one.
type Go struct{ To Route }

// Back closes the present screen without asking. With From it does so only while that is the screen on top: for those that
// close by themselves, by when a person may have gone on to another.
type Back struct{ From Screen }

// Send is the command that sends a message.
func Send(msg tea.Msg) tea.Cmd { return func() tea.Msg { return msg } }

// Profile is one service and the client that calls it, as the commands keep it too.
type Profile struct {
	Name         string
	APIURL       string
	ClientID     string
	Sandbox      bool
	InsecureHTTP bool // allow http to other hosts than this computer
}

// Account is a profile that calls can be made with.
type Account struct {
	Profile Profile
	Client  *client.Client
}

// Accounts is where profiles, secrets and tokens are kept: the same as the commands use. Its methods read files, may ask a
// keyring and the service, and are called outside of Update only.
type Accounts interface {
	// Profiles returns all profiles by name, and the name of the current one.
	Profiles() (profiles []Profile, current string, err error)
	// Connect returns the account of a profile, of the one chosen by flags and environment if the name is empty. Nothing is
	// sent. NotLoggedIn is the error where somebody has to log in first.
	Connect(name string) (Account, error)
	// Login proves the secret, keeps it with the profile, and returns a note on where.
	Login(ctx context.Context, profile Profile, secret string) (account Account, note string, err error)
}

// NotLoggedIn says that no credentials are known.
type NotLoggedIn struct{ Message string }

func (n *NotLoggedIn) Error() string { return n.Message }

// LoggedIn tells the shell that there is an account to work with.
type LoggedIn struct{ Account Account }

// Memory is what is remembered from one session to the next, for the present account. Its methods read and write files and
// are called outside of Update only.
type Memory interface {
	// Recent returns the ids of a kind ("property", "user") that were opened last, the latest first.
	Recent(profile Profile, kind string) []string
	// Remember puts an id first among the recent ones.
	Remember(profile Profile, kind, id string) error
	// Draft returns a form's text that was kept; nil if none is.
	Draft(profile Profile, name string) map[string]string
	// KeepDraft keeps a form's text until it is dropped; nil drops it. Secrets are never given to it.
	KeepDraft(profile Profile, name string, values map[string]string) error
}

// Desktop is what lies outside of the terminal's own screen. Its methods are called outside of Update only.
type Desktop interface {
	// Copy puts a text on the clipboard.
	Copy(text string) error
	// Open shows an http or https address in a browser.
	Open(address string) error
}

// Sentence makes a sentence of an error, whose text by custom is part of one: with a capital letter, a full stop, and nothing
// that steers a terminal. before is what stands in front of it, such as "The id was not copied: ".
func Sentence(before string, err error) string {
	if err == nil {
		return ""
	}
	text := before + strings.TrimSpace(display.Line(err.Error()))
	if text == "" {
		return ""
	}
	if !strings.ContainsAny(text[len(text)-1:], ".?!)") {
		text += "."
	}
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

// Kind is how a message is meant. Each has a word or mark of its own besides its colour.
type Kind int

// The kinds of messages.
const (
	Note Kind = iota
	Done
	Warning
	Failure
)

// Toast shows a message for a while. It stays among the former messages.
type Toast struct {
	Kind Kind
	Text string
}

// Tell is the command that shows a message.
func Tell(kind Kind, format string, args ...any) tea.Cmd {
	return Send(Toast{kind, fmt.Sprintf(format, args...)})
}

// Confirm asks before something that cannot be taken back. Only the action Yes (y) does it, never Enter. With Words, the
// person has to type one of them instead.
type Confirm struct {
	Title string // "Delete property 42?"
	Text  string // what will happen, to which thing, in sentences
	Yes   string // what y does: "delete it"
	Words []string
	Then  func() tea.Cmd
}

// Pick lets a person choose one of several things, found by typing.
type Pick struct {
	Title   string
	Options []string
	Current int // the option under the cursor at first
	Then    func(index int) tea.Cmd
	Other   *Prompt        // takes what was typed and is none of the options; nil where there is nothing else
	OtherIs string         // a name for Other, as in "Open perk coffee", which then comes after the options that match instead of first
	Left    func() tea.Cmd // runs if nothing is chosen; may be nil
}

// Prompt asks for one line of text.
type Prompt struct {
	Title string
	Field widget.Field
	Then  func(value string) tea.Cmd
	Left  func() tea.Cmd // runs if nothing is given; may be nil
}
