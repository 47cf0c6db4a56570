// Package login is the screen to log in on, and to switch the profile. It is the first screen where nobody is logged in, and
// lies over another one where a session has ended.
//
// It knows no other screen, and not where profiles and secrets are kept.
package login

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// Screen is the screen.
type Screen struct {
	shell         *screen.Shell
	reason        string // somebody has to log in; "" where nobody has to be told
	width, height int

	form     *widget.Form
	allowed  string // the address at which http is allowed; "" is none
	askedOf  string // the address that the question about http is about
	edited   bool   // a person has typed something
	rejected bool   // the service has just refused the secret

	profiles []screen.Profile

	number int                // of the last attempt
	giveUp context.CancelFunc // ends the attempt that is under way; nil if none is
	status status
}

// New makes the screen. Why says why it is shown, as a sentence; it may be "".
func New(shell *screen.Shell, reason string) *Screen {
	s := &Screen{shell: shell, reason: reason}
	s.form = widget.NewForm(shell.Theme,
		widget.Field{Name: nameField, Label: "Profile", Value: defaultName, Hint: "such as default", Check: CheckName},
		widget.Field{Name: addressField, Label: "Address of the API", Hint: "such as https://perks.example/v2", Check: s.checkAddress},
		widget.Field{Name: idField, Label: "Client id", Hint: "such as acme", Check: func(id string) string {
			if strings.TrimSpace(id) == "" {
				return "Enter the id of the client."
			}
			return ""
		}},
		widget.Field{Name: sandboxField, Label: "Sandbox", Kind: widget.Switch, Value: widget.No},
		// It comes last, because Enter in the last field logs in.
		widget.Field{Name: secretField, Label: "Secret", Kind: widget.Secret, Hint: "(not shown)", Check: func(secret string) string {
			switch {
			case strings.TrimSpace(secret) != "":
				return ""
			case s.rejected:
				return "The service did not accept this id and secret."
			}
			return "Enter the secret."
		}},
	)
	s.fill(shell.Account.Profile)
	return s
}

func (s *Screen) Title() string { return "Log in" }

func (s *Screen) Init() tea.Cmd {
	accounts := s.shell.Accounts
	return func() tea.Msg {
		profiles, current, err := accounts.Profiles()
		done := profilesLoaded{screen: s, profiles: profiles, err: err}
		if i := slices.IndexFunc(profiles, func(p screen.Profile) bool { return p.Name == current }); i >= 0 {
			done.preferred = profiles[i]
		}
		return done
	}
}

func (s *Screen) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case screen.Edited:
		s.edited, s.status = true, status{}
		s.askAboutHTTP(false)
	case profilesLoaded:
		return s.handleProfiles(msg)
	case attempt:
		return s.ended(msg)
	}
	return nil
}

func (s *Screen) Do(id actions.ID) tea.Cmd {
	switch id {
	case actions.Submit:
		return s.submit()
	case actions.Profile:
		return s.shell.Post(s.pick())
	case actions.Cancel:
		if s.busy() {
			s.stop()
			s.status = status{text: "Given up. Nothing is kept of this login."}
			return nil
		}
		return s.shell.Post(screen.Back{From: s})
	}
	return nil
}

func (s *Screen) Offers() []actions.Offer {
	wait, alone, stay := "", "", ""
	if s.busy() {
		wait = "You are being logged in."
	}
	if len(s.profiles) == 0 {
		alone = "There is no profile yet; this login makes the first."
	}
	if s.shell.Account.Client == nil && !s.busy() {
		stay = "There is nothing to go back to; ctrl+c quits."
	}
	return append([]actions.Offer{
		actions.If(actions.Submit, wait).As("log in"), actions.If(actions.Profile, alone), actions.If(actions.Cancel, stay),
	}, actions.Able(actions.NextField, actions.PreviousField)...)
}

func (s *Screen) Resize(width, height int) { s.width, s.height = width, height }

// Form returns the form, which is open all the time: what is typed while the service is asked must not become a command.
func (s *Screen) Form() *widget.Form { return s.form }

// Unsaved is always "": a login is typed again soon enough, and a secret is not worth keeping on a screen.
func (s *Screen) Unsaved() string { return "" }

func (s *Screen) Close() { s.stop() }

// The fields of the form.
const (
	nameField    = "profile"
	addressField = "api_url"
	httpField    = "insecure_http"
	idField      = "client_id"
	sandboxField = "sandbox"
	secretField  = "secret"
)

// defaultName is the profile that a first login makes, here as on the command line.
const defaultName = "default"

// fill puts a profile into the form and goes to the first thing that is missing.
func (s *Screen) fill(profile screen.Profile) {
	if profile.Name != "" {
		s.form.Set(nameField, display.Line(profile.Name))
	}
	s.form.Set(addressField, display.Line(profile.APIURL))
	s.form.Set(idField, display.Line(profile.ClientID))
	s.form.Set(sandboxField, yesOrNo(profile.Sandbox))
	s.form.Set(secretField, "")
	s.form.Remove(httpField)
	s.allowed, s.rejected, s.edited = "", false, false
	if profile.InsecureHTTP {
		s.allowed = s.address()
	}
	s.askAboutHTTP(true)
	s.goToMissing()
}

func (s *Screen) goToMissing() {
	for _, name := range []string{nameField, addressField, idField, secretField} {
		if s.value(name) == "" {
			s.form.FocusOnName(name)
			return
		}
	}
}

func (s *Screen) value(name string) string { return strings.TrimSpace(s.form.Value(name)) }

func (s *Screen) address() string { return strings.TrimRight(s.value(addressField), "/") }

func (s *Screen) entered() screen.Profile {
	address := s.address()
	return screen.Profile{
		Name: s.value(nameField), APIURL: address, ClientID: s.value(idField),
		Sandbox: s.sandbox(), InsecureHTTP: s.allows() && isPlainHTTP(address),
	}
}

func (s *Screen) sandbox() bool { return s.form.Value(sandboxField) == widget.Yes }

// allows tells whether http to another computer is allowed.
func (s *Screen) allows() bool {
	if s.asksAboutHTTP() {
		return s.form.Value(httpField) == widget.Yes
	}
	return s.allowed != "" && s.allowed == s.address()
}

func (s *Screen) asksAboutHTTP() bool { return s.form.Field(httpField).Name != "" }

// askAboutHTTP adds the question whether http is allowed where the address raises it, and takes it away again. While the
// address is being typed, what may yet become this computer raises nothing. A yes is only for the address that was asked about.
func (s *Screen) askAboutHTTP(settled bool) {
	address := s.address()
	if s.asksAboutHTTP() && address != s.askedOf {
		switch {
		case s.allows():
			s.allowed = s.askedOf
		case s.allowed == s.askedOf:
			s.allowed = ""
		}
		s.form.Set(httpField, yesOrNo(address == s.allowed))
	}
	s.askedOf = address
	asks := isPlainHTTP(address)
	if base, err := client.ParseBaseURL(address); asks && !settled && err == nil && base.Port() == "" && base.Path == "" {
		asks = !strings.HasPrefix("localhost", base.Host) && !strings.HasPrefix("127.0.0.1", base.Host)
	}
	switch {
	case asks && !s.asksAboutHTTP():
		s.form.Insert(addressField, widget.Field{
			Name: httpField, Label: "Allow http, on which others could read the secret", Kind: widget.Switch, Value: yesOrNo(address == s.allowed),
		})
	case !asks && s.asksAboutHTTP():
		s.form.Remove(httpField)
	}
}

func yesOrNo(yes bool) string {
	if yes {
		return widget.Yes
	}
	return widget.No
}

const maxName = 64

// CheckName says what is wrong with a name of a profile, "" if nothing is.
func CheckName(name string) string {
	name = strings.TrimSpace(name)
	strange := strings.ContainsFunc(name, func(r rune) bool { return !isAlphanumeric(r) && !strings.ContainsRune("._-", r) })
	switch {
	case name == "":
		return "Enter a name for the profile."
	case len(name) > maxName || strange || !isAlphanumeric(rune(name[0])):
		return "Use up to 64 letters, digits, dots, underscores and hyphens, a letter or digit first."
	}
	return ""
}

func isAlphanumeric(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

func (s *Screen) checkAddress(address string) string {
	address = strings.TrimSpace(address)
	if address == "" {
		return "Enter the address of the API, such as https://perks.example/v2."
	}
	if _, err := client.ParseBaseURL(address); err != nil {
		return screen.Sentence("", err)
	}
	if isPlainHTTP(address) && !s.allows() {
		if !s.asksAboutHTTP() {
			return "" // it is being typed
		}
		return "http would send the secret unencrypted over the network. Use https; or, if you trust the network, allow http below."
	}
	return ""
}

// isPlainHTTP tells whether everyone on the way could read what is sent to an address.
func isPlainHTTP(address string) bool {
	base, err := client.ParseBaseURL(address)
	if err != nil || base.Scheme != "http" || base.Hostname() == "localhost" {
		return false
	}
	ip := net.ParseIP(base.Hostname())
	return ip == nil || !ip.IsLoopback()
}

// attempt is a login, or a try to do with the secret that is kept, and how it has ended.
type attempt struct {
	screen    *Screen
	number    int
	minHeight bool           // with the secret that is kept
	profile   screen.Profile // as it was entered
	account   screen.Account
	note      string
	err       error
}

func (s *Screen) busy() bool { return s.giveUp != nil }

func (s *Screen) begin(profile screen.Profile, minHeight bool, connect func(context.Context) (screen.Account, string, error)) tea.Cmd {
	ctx, giveUp := context.WithCancel(context.Background()) // #nosec G118 -- stop calls it
	s.giveUp = giveUp
	s.number++
	s.status = status{}
	a := attempt{screen: s, number: s.number, minHeight: minHeight, profile: profile}
	return func() tea.Msg {
		a.account, a.note, a.err = connect(ctx)
		return a
	}
}

// stop gives up the attempt that is under way, whose end is not listened to any more.
func (s *Screen) stop() {
	if s.giveUp != nil {
		s.giveUp()
		s.giveUp = nil
	}
	s.number++
}

// submit logs in with what was entered, unless that is wrong or a login is under way.
func (s *Screen) submit() tea.Cmd {
	if s.busy() {
		return nil
	}
	s.rejected = false
	s.form.Refuse(api.FieldErrors{addressField: nil}) // the service may be there by now
	s.askAboutHTTP(true)
	if !s.form.Check() {
		return nil
	}
	profile, secret := s.entered(), s.value(secretField)
	accounts := s.shell.Accounts
	return s.begin(profile, false, func(ctx context.Context) (screen.Account, string, error) { return accounts.Login(ctx, profile, secret) })
}

// ended goes on once there is an account, or says what has failed, where it can beside the field that it is about.
func (s *Screen) ended(msg attempt) tea.Cmd {
	if msg.screen != s || msg.number != s.number {
		return nil
	}
	s.stop()
	var missing *screen.NotLoggedIn
	var refused *client.Error
	var unreachable *client.Unreachable
	switch {
	case msg.err == nil && msg.minHeight:
		return s.shell.Post(screen.LoggedIn{Account: msg.account})
	case msg.err == nil:
		s.form.Set(secretField, "")
		s.shell.Post(screen.LoggedIn{Account: msg.account})
		return screen.Tell(screen.Done, "Logged in. %s", msg.note)
	case msg.minHeight && errors.As(msg.err, &missing):
		s.status = status{text: fmt.Sprintf("No secret is kept for profile %s: enter it.", msg.profile.Name)}
	case msg.minHeight:
		s.status = status{failed: true, text: screen.Sentence("", msg.err)}
	case errors.As(msg.err, &unreachable):
		problem := screen.Sentence("", unreachable)
		if unreachable.Advice() == "" {
			problem += " Check the address, and the network."
		}
		s.failAddress(msg.profile.APIURL, problem)
	case errors.As(msg.err, &refused) && refused.Status == http.StatusUnauthorized:
		s.rejected = true
		s.form.Set(secretField, "")
		s.form.Check()
		s.form.FocusOnName(secretField)
	case errors.As(msg.err, &refused) && (refused.Status == http.StatusNotFound || refused.Stray):
		s.failAddress(msg.profile.APIURL, fmt.Sprintf("No API of perks answers at this address (status %d). It ends with the path of the version, such as /v2.", refused.Status))
	default:
		s.status = status{failed: true, text: screen.Sentence("", msg.err)}
	}
	return nil
}

// failAddress speaks beside the address, unless that is another one by now.
func (s *Screen) failAddress(sent, problem string) {
	if s.entered().APIURL != sent {
		s.status = status{failed: true, text: problem}
		return
	}
	s.form.Refuse(api.FieldErrors{addressField: {problem}})
}
