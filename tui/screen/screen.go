// Package screen defines screens and what they work with: the shell, routes, loaders and senders (which do all I/O),
// and dialogs.
//
// It knows no single screen.
package screen

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/theme"
	"example.com/perks/tui/widget"
)

// Screen is one screen. It sees no keys: the shell maps them to actions, or types them into the form that is shown. One
// goroutine calls all methods, and none of them blocks.
type Screen interface {
	// Title names the screen in the header, such as "Perk Coffee for two".
	Title() string
	// Init starts loading. It is called once, after the first Resize.
	Init() tea.Cmd
	// Update handles a message: the end of a load, Edited, Reconnected or Mouse. All open screens get every message but
	// those.
	Update(msg tea.Msg) tea.Cmd
	// Offers returns the actions of the screen, the most useful first.
	Offers() []actions.Offer
	// Resize sets the size. Both can be as small as 1.
	Resize(width, height int)
	// View draws the screen. The shell crops what does not fit.
	View() string
	// Form returns the form that is being filled in; nil if there is none.
	Form() *widget.Form
	// Unsaved returns, as a sentence, what closing the screen would lose; "" if nothing.
	Unsaved() string
	// AccessibleText returns what View shows as plain lines, for screen readers.
	AccessibleText() string
}

// Framed is a Screen that draws panels of its own. The shell draws one around every other.
type Framed interface{ Framed() }

// Card is a Screen that changes something at the service, and leaves the screen below it in view where the window has
// space.
type Card interface {
	// Lines returns how many lines the screen fills at a width.
	Lines(width int) int
}

// CardHolder is a Screen on which a card hides least if it begins at a line, and is at the right.
type CardHolder interface {
	// CardTop returns that line; 0 for none.
	CardTop() int
}

// ReadAtOnce is how many rows or choices of a list AccessibleText has.
const ReadAtOnce = 10

// Chooser is a Screen with a list. The accessible mode chooses a row by its number, from 1.
type Chooser interface {
	Choose(row int) bool
	// HasRows tells whether the list is shown, and not a page of one record in its place.
	HasRows() bool
}

// Suggester is a Screen whose form has a field that people half know. The accessible mode asks which value is meant.
type Suggester interface {
	// Suggestions returns the values that fit what was typed in a field, and what is known of each; none if that is one.
	Suggestions(field string) (values, about []string)
}

// Selected is a Screen with a record that the user's own commands work on.
type Selected interface {
	// Selected returns the kind and the id of the record: "perk", "user", "property" or "redemption"; "" if there is
	// none.
	Selected() (kind, id string)
}

// List is a Screen with a list of records that it opens.
type List interface {
	Screen
	Chooser
	Selected
}

// OfList is a Screen of one record. Where the List below it has that under its cursor, the next record and the previous
// one are a key away.
type OfList interface {
	Selected
	// IsRead tells whether the record is shown, and not a change of it.
	IsRead() bool
	// IsBeside tells whether the list is beside it in a wide window.
	IsBeside() bool
}

// Watcher is a Screen that shows what others can change.
type Watcher interface {
	// Watches tells whether an event is about what the screen shows. It then gets a Changed.
	Watches(event api.Event) bool
	// WatchesWhileTyping tells whether it wants to know while a form of it is filled in.
	WatchesWhileTyping() bool
}

// Changed tells a Watcher what others have changed.
type Changed struct{ Events []api.Event }

// DraftSaver is a Screen that saves a draft of unsaved text.
type DraftSaver interface {
	// SaveDraft returns the command that saves the draft; nil if there is none. It runs when the screen is closed, and
	// before the program ends or is suspended.
	SaveDraft() tea.Cmd
}

// Reopener is a Screen that can be reopened after it was closed. Until then it still gets messages.
type Reopener interface {
	Reopens() bool
}

// Edited tells a screen that the user changed a field of its form.
type Edited struct{ Field string }

// FieldLeft tells a screen that the user left a field of its form.
type FieldLeft struct{}

// Reconnected tells screens to reload, after a login to the same account or when the service can be reached again.
// Typed text stays.
type Reconnected struct{}

// Revealed tells a screen that the one above it was closed.
type Revealed struct{}

// Shell is what every screen is given. The application changes Account and Theme in its Update; screens must not copy
// them.
type Shell struct {
	Theme    *theme.Theme
	Keys     *actions.Registry
	Account  Account // its Client is nil before a login
	Accounts Accounts
	Memory   Memory
	Desktop  Desktop

	Now   func() time.Time
	After func(d time.Duration, msg tea.Msg) tea.Cmd // sends the message once the time has passed
	Sleep func(context.Context, time.Duration) error // waits outside of Update
	NewID func() string                              // a new idempotency key

	Suspend func() (resume func()) // leaves interrupts to another program until resume is called

	Command func(id actions.ID) string // names an action in a sentence instead of its key; nil where keys are pressed

	Screens func() []Screen // those that are open or can be opened again, the topmost last

	Writing sync.RWMutex // is held while a file is written that must not stay as a part

	Lacking []string // the names of what the service does not have, as far as that is known

	Progress string // how far a long change is, such as "approving 12 of 46"; "" if none is under way

	Settings map[string]string // what was remembered when the program started or has been since; change it with Keep
	kept     map[string]*kept  // of each setting

	posted    []tea.Msg
	pending   []*request // what was asked of the service, the oldest first
	confirmed string     // what was typed last to change a protected profile
	covered   bool       // whoever posts now does not have the keyboard
}

// Post gives the application a message to handle before the next key, such as Go or a Question. With a command, keys
// that are typed quickly would reach the screen below. It returns nil, for use as a command. Call it from Update and Do
// only.
func (s *Shell) Post(msg tea.Msg) tea.Cmd {
	if _, asks := msg.(Question); asks && s.covered {
		return nil
	}
	s.posted = append(s.posted, msg)
	return nil
}

// IsCovered tells whether a question that is posted now is dropped.
func (s *Shell) IsCovered() bool { return s.covered }

// SetCovered says whether the screen that gets the next message is covered. Its questions are dropped: they would get
// keys meant for what covers it. For the application only.
func (s *Shell) SetCovered(covered bool) { s.covered = covered }

func (s *Shell) Open(to Route) tea.Cmd { return s.Post(Go{To: to}) }

// Close closes the top screen.
func (s *Shell) Close() tea.Cmd { return s.Post(Back{}) }

// Posted returns the next posted message. For the application only.
func (s *Shell) Posted() (msg tea.Msg, ok bool) {
	if len(s.posted) == 0 {
		return nil, false
	}
	msg, s.posted = s.posted[0], s.posted[1:]
	return msg, true
}

// SecondsTo returns how many seconds are left, counted down to 0 at that time.
func (s *Shell) SecondsTo(at time.Time) int { return int(math.Ceil(at.Sub(s.Now()).Seconds())) }

// request is one that the service has not answered yet.
type request struct{ at time.Time }

// started notes a request that the user waits for.
func (s *Shell) started() *request {
	r := &request{s.Now()}
	s.pending = append(s.pending, r)
	return r
}

// ended forgets a request that was answered or cancelled.
func (s *Shell) ended(r *request) {
	s.pending = slices.DeleteFunc(s.pending, func(other *request) bool { return other == r })
}

// Waits returns since when the user waits for the service, if so.
func (s *Shell) Waits() (since time.Time, waits bool) {
	if len(s.pending) == 0 {
		return time.Time{}, false
	}
	return s.pending[0].at, true
}

// Ends says that a reply has come, whether or not its screen is still open. For the application only.
func (s *Shell) Ends(msg tea.Msg) {
	if reply, ok := msg.(interface{ answers() *request }); ok {
		s.ended(reply.answers())
	}
}

// SetAccount changes the account. After a login to the same one again, what was confirmed can be sent again
// without another question. For the application only.
func (s *Shell) SetAccount(account Account, same bool) {
	s.Account = account
	switch {
	case !same:
		s.confirmed, s.Lacking = "", nil
	case s.confirmed != "" && account.Confirm != nil:
		_ = account.Confirm(s.confirmed) // the profile may have another name: then nothing is sent
	}
}

// Key names the key of an action for a sentence, or how to do an action without one.
func (s *Shell) Key(id actions.ID) string {
	if s.Command != nil {
		return s.Command(id)
	}
	if key := s.Keys.Key(id); key != "" {
		return key
	}
	return fmt.Sprintf("%q in the command palette", s.Keys.Action(id).Name)
}

// Copy copies an id, and shows the result. Note says more about the id; it may be "".
func (s *Shell) Copy(id, note string) tea.Cmd {
	desktop, shown := s.Desktop, display.Line(id)
	return func() tea.Msg {
		return result(desktop.Copy(id), "The id "+shown+" was not copied: ", "Copied the id "+shown+note+".")
	}
}

// Browse opens an image in a browser, and shows the result.
func (s *Shell) Browse(address string) tea.Cmd {
	desktop, host := s.Desktop, ""
	if target, err := url.Parse(address); err == nil {
		host = " at " + display.Line(target.Host)
	}
	return func() tea.Msg { return result(desktop.Open(address), "", "Opened the image"+host+" in a browser.") }
}

// Remember puts an id first among the recent ones of a kind. Only a failure is shown.
func (s *Shell) Remember(profile Profile, kind, id string) tea.Cmd {
	memory := s.Memory
	return warns("This "+kind+" was not added to the recent ones: ", func() error {
		return memory.Remember(profile, kind, id)
	})
}

// titleMark is between the id and the title of a recent record; no id has one.
const titleMark = "\t"

// RememberTitled is Remember for a record that people know by its title.
func (s *Shell) RememberTitled(profile Profile, kind, id, title string) tea.Cmd {
	return s.Remember(profile, kind, id+titleMark+display.Line(title))
}

// RecentTitle returns the id of a recent record, and its title if that is known.
func RecentTitle(recent string) (id, title string) {
	id, title, _ = strings.Cut(recent, titleMark)
	return id, title
}

// The settings that are remembered.
const (
	SettingTheme   = "theme"
	SettingMouse   = "mouse"   // On or Off
	SettingPreview = "preview" // On or Off
	SettingHint    = "hint"    // On once the first hint was shown
)

// The values of settings that are switches.
const (
	On  = "on"
	Off = "off"
)

// Switch returns the value of a setting.
func Switch(on bool) string {
	if on {
		return On
	}
	return Off
}

// kept is what was saved of a setting. Commands run in any order, so none writes after a later one.
type kept struct {
	asked   int
	writing sync.Mutex
	written int
}

// Keep remembers a setting. Only a failure is shown.
func (s *Shell) Keep(name, value string) tea.Cmd {
	if s.Settings == nil {
		s.Settings = map[string]string{}
	}
	s.Settings[name] = value
	if s.kept == nil {
		s.kept = map[string]*kept{}
	}
	if s.kept[name] == nil {
		s.kept[name] = &kept{}
	}
	k, memory := s.kept[name], s.Memory
	k.asked++
	number := k.asked
	return warns("The "+name+" setting was not saved: ", func() error {
		k.writing.Lock()
		defer k.writing.Unlock()
		if number <= k.written {
			return nil
		}
		k.written = number
		return memory.KeepSetting(name, value)
	})
}

// warns is the command that does something, and shows only a failure.
func warns(before string, do func() error) tea.Cmd {
	return func() tea.Msg {
		if err := do(); err != nil {
			return Toast{Warning, Sentence(before, err)}
		}
		return nil
	}
}

// Mouse is a click with the left button, or a turn of the wheel, at a cell counted from the corner of a screen.
type Mouse struct {
	X, Y   int
	Wheel  actions.ID // Up or Down; "" for a click
	ByLine bool       // a turn moves by a line, as a scrollbar needs it
	OnBar  bool       // a list goes at once to where its scrollbar is pressed; others do what Wheel says
}

// ScrollWheel does what one step of the mouse wheel does: an action three times.
func ScrollWheel(do func(actions.ID) tea.Cmd, id actions.ID) (cmd tea.Cmd) {
	for range wheelStep {
		cmd = tea.Batch(cmd, do(id))
	}
	return cmd
}

// result is the message that something is done, or that it failed.
func result(err error, before, done string) tea.Msg {
	if err != nil {
		return Toast{Failure, Sentence(before, err)}
	}
	return Toast{Done, done}
}

// Route names a screen to open. Screens know routes, not each other.
type Route interface {
	// Tab is the tab that the screen is opened in if there is nothing else yet.
	Tab() int
}

// Maker is a Route that makes its screen itself.
type Maker interface {
	Route
	New(*Shell) Screen
}

// The tabs, in their order.
const (
	PerksTab = iota
	UsersTab
	PropertiesTab
	RedemptionsTab
)

// The routes.
type (
	// ToPerks, ToUsers, ToProperties and ToRedemptions show the list of a tab.
	ToPerks       struct{}
	ToUsers       struct{}
	ToProperties  struct{}
	ToRedemptions struct{}
	// ToPerk shows a perk. Known may be the perk as a list has it; it is loaded again anyway. UserID may be empty.
	ToPerk struct {
		ID     string
		Known  *api.Perk
		UserID string
		Then   actions.ID // is done as soon as it can be; "" for nothing
	}
	// ToRedeem redeems perks for one user. UserID may be empty. With Asks it asks at once, and closes again once the
	// only perk is redeemed.
	ToRedeem struct {
		Perks  []api.Perk
		UserID string
		Asks   bool
	}
	// ToUser shows what a user can redeem, or first what they have redeemed.
	ToUser struct {
		ID       string
		Redeemed bool
	}
	// ToRedemption shows a redemption, above those of its user.
	ToRedemption struct{ ID string }
	// ToProperty shows a property; "" asks which.
	ToProperty struct{ ID api.PropertyID }
	// ToLogin logs in, or switches the profile.
	ToLogin struct{}
)

func (ToPerks) Tab() int       { return PerksTab }
func (ToUsers) Tab() int       { return UsersTab }
func (ToProperties) Tab() int  { return PropertiesTab }
func (ToRedemptions) Tab() int { return RedemptionsTab }
func (ToPerk) Tab() int        { return PerksTab }
func (ToRedeem) Tab() int      { return PerksTab }
func (ToUser) Tab() int        { return UsersTab }
func (ToRedemption) Tab() int  { return RedemptionsTab }
func (ToProperty) Tab() int    { return PropertiesTab }
func (ToLogin) Tab() int       { return PerksTab }

// Go opens a screen.
type Go struct{ To Route }

// Back closes the top screen without asking. With From, only if that is still the top screen.
type Back struct{ From Screen }

// Send is the command that sends a message.
func Send(msg tea.Msg) tea.Cmd { return func() tea.Msg { return msg } }

// Profile is a service and the client that calls it.
type Profile struct {
	Name         string
	APIURL       string
	ClientID     string
	Actor        string // who sits at the client; "" names nobody
	Sandbox      bool
	InsecureHTTP bool // allow http to other hosts than this computer
	ReadOnly     bool // changes are refused; only shown
	Protected    bool // live, and changed only by who types the profile's name; only shown
}

// IsSame tells whether two profiles are the same client at the same service, whatever they are called.
func (p Profile) IsSame(other Profile) bool {
	return p.APIURL == other.APIURL && p.ClientID == other.ClientID && p.Sandbox == other.Sandbox
}

// Account is a profile with a client that is logged in.
type Account struct {
	Profile Profile
	Client  *client.Client
	// Confirm lets the client change something if what was typed is the profile's name. It is nil where nothing
	// has to be typed.
	Confirm func(typed string) error
}

// Accounts stores profiles, secrets and tokens, shared with the commands. Call its methods outside of Update only: they
// read files, and may ask a keyring and the service.
type Accounts interface {
	// Profiles returns all profiles by name, and the name of the current one.
	Profiles() (profiles []Profile, current string, err error)
	// Connect returns the account of a profile; with "", of the one that flags and environment choose. It sends
	// nothing. The error is a NotLoggedIn if the user has to log in first.
	Connect(name string) (Account, error)
	// Login checks the secret, stores it with the profile, and returns a note that says where. If the client may name
	// who sits at it and the profile names nobody, ask is called first, with a name to offer or ""; its error ends
	// the login, which has stored nothing then.
	Login(ctx context.Context, profile Profile, secret string, ask AskName) (account Account, note string, err error)
}

// AskName returns the name of who sits at the client; "" names nobody.
type AskName = func(offered string) (name string, err error)

// NotLoggedIn says that there are no credentials.
type NotLoggedIn struct{ Message string }

func (n *NotLoggedIn) Error() string { return n.Message }

// LoggedIn tells the shell that a login succeeded.
type LoggedIn struct{ Account Account }

// Memory is what is remembered from one session to the next. Call its methods outside of Update only: they use files.
type Memory interface {
	// Recent returns the ids of a kind ("property", "user") that were opened last, the latest first.
	Recent(profile Profile, kind string) []string
	// Remember puts an id first among the recent ones.
	Remember(profile Profile, kind, id string) error
	// Draft returns the draft of a form; nil if there is none.
	Draft(profile Profile, name string) map[string]string
	// SaveDraft saves the draft of a form; nil deletes it. It never gets secrets.
	SaveDraft(profile Profile, name string, values map[string]string) error
	// Undo returns the last saved edit of a record; nil if there is none. SaveUndo saves it.
	Undo(profile Profile, name string) map[string]string
	SaveUndo(profile Profile, name string, values map[string]string) error
	// Settings returns the settings of this user, for all profiles, by their names.
	Settings() map[string]string
	// KeepSetting saves a setting.
	KeepSetting(name, value string) error
}

// Desktop is the clipboard, the browser and the files of this user. Call its methods outside of Update only.
type Desktop interface {
	// Copy puts a text on the clipboard.
	Copy(text string) error
	// Open shows an http or https address in a browser.
	Open(address string) error
	// Ring rings the terminal's bell, and Notify shows a text outside of the terminal.
	Ring() error
	Notify(text string) error
	// Save makes a file of what write writes, as rows.WriteFile does, and returns its whole path. A path may begin with
	// ~/.
	Save(path string, replace bool, write func(io.Writer) error) (whole string, err error)
}

// Sentence makes a sentence of an error: with a prefix, a capital letter, a full stop, and no control characters.
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
	return display.Capital(text)
}

// Kind is how a message is meant. Each has a word besides its colour.
type Kind int

// The kinds of messages.
const (
	Note Kind = iota
	Done
	Warning
	Failure
)

// Toast shows a message for a while. It stays in the list of messages.
type Toast struct {
	Kind Kind
	Text string
}

// Perform asks the application to do an action if it is offered.
type Perform struct{ ID actions.ID }

// Tell is the command that shows a message.
func Tell(kind Kind, format string, args ...any) tea.Cmd {
	return Send(Toast{kind, fmt.Sprintf(format, args...)})
}

// Confirm asks before something that cannot be undone. Only the action Yes (y) confirms, never Enter. With Words, the
// user has to type one of them instead, and before a change of a protected profile its name.
type Confirm struct {
	Title string // "Delete property 42?"
	Text  string // what will happen, to which thing, in sentences
	Yes   string // what y does: "delete it"
	No    string // what n does, unless that is just to say no
	Local bool   // the service stays as it is
	Whole bool   // y does nothing before the end of the text was shown
	Words []string
	By    Screen // who may withdraw it; may be nil
	Then  func() tea.Cmd
}

// Withdraw closes the questions of a screen that are out of date.
type Withdraw struct{ By Screen }

// Pick asks the user to choose one of several things, found by typing.
type Pick struct {
	Title    string
	Options  []string
	Labels   []string // a word before each option, such as its key; may be nil
	Headings []string // above the options that have the same, until something is typed; may be nil
	Current  int      // the option under the cursor at first
	Then     func(index int) tea.Cmd
	Other    *Prompt        // takes what was typed and is none of the options; nil where there is nothing else
	More     *More          // choices beside the options; may be nil
	OnCancel func() tea.Cmd // runs if nothing is chosen; may be nil
}

// More is the choices that a Pick has beside its options.
type More struct {
	Options string // the section of the options
	// Recent reads the choices that come first until something is typed.
	Recent func() []Choice
	// Typed makes choices of what is typed, which come last, or before the options if it can hardly mean one.
	Typed func(text string) (choices []Choice, first bool)
	// Search returns what finds more once nothing was typed for a moment; nil if nothing is worth a search. What
	// it finds comes before all but the options that begin with what is typed.
	Search func(text string) Fetch[[]Choice]
}

// Choice is one thing to choose.
type Choice struct {
	Name string
	// Section is the heading above it, where there are several; "" for none.
	Section string
	Then    func() tea.Cmd
	Of      string // what it leads to, so that only the first of several choices is offered; "" if it's alone
}

// Prompt asks for one line of text.
type Prompt struct {
	Title    string
	Text     string // above the line; may be ""
	Field    widget.Field
	Yes      string // what Enter does: "reject"; "" for "ok"
	Changes  bool   // the service is asked to change something: a protected profile's name has to be typed too
	Then     func(value string) tea.Cmd
	OnCancel func() tea.Cmd // runs if nothing is given; may be nil
}
