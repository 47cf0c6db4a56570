// Package login is the screen to log in, and to switch the profile. It opens first if nobody is logged in, and on top
// of another screen when a session has expired.
package login

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
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
	reason        string // why the user has to log in; "" if they asked to
	width, height int

	form     *widget.Form
	allowed  string // the address for which http is allowed; "" for none
	askedOf  string // the address that the field about http is for
	edited   bool   // the user has typed something
	rejected bool   // the service has just refused the secret

	profiles []screen.Profile
	promises *screen.Loader[[]client.Promise] // of the service that is logged in to

	number int                // of the last attempt
	giveUp context.CancelFunc // cancels the attempt; nil if there is none
	status status
}

// New makes the screen. The reason is a sentence that says why the user has to log in; it may be "".
func New(shell *screen.Shell, reason string) *Screen {
	s := &Screen{shell: shell, reason: reason, promises: screen.NewBackgroundLoader[[]client.Promise](shell)}
	s.form = widget.NewForm(shell.Theme,
		widget.Field{Name: nameField, Label: "Profile", Value: defaultName, Hint: "such as default", Check: CheckName},
		widget.Field{Name: addressField, Label: "Address of the API", Hint: "such as https://perks.example/v2",
			Check: s.checkAddress},
		widget.Field{Name: idField, Label: "Client id", Hint: "such as acme", Check: func(id string) string {
			if strings.TrimSpace(id) == "" {
				return "Enter the id of the client."
			}
			return ""
		}},
		widget.Field{Name: sandboxField, Label: "Sandbox", Kind: widget.Switch, Value: widget.No},
		// It comes last, because Enter in the last field logs in.
		widget.Field{Name: secretField, Label: "Secret", Kind: widget.Secret, Hint: "(not shown)",
			Check: func(secret string) string {
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
	return tea.Batch(s.askAboutService(), func() tea.Msg {
		profiles, current, err := accounts.Profiles()
		done := profilesLoaded{screen: s, profiles: profiles, err: err}
		if i := slices.IndexFunc(profiles, func(p screen.Profile) bool { return p.Name == current }); i >= 0 {
			done.preferred = profiles[i]
		}
		return done
	})
}

// askAboutService asks what the service of the present profile does. It asks about the user and the property that
// were opened last.
func (s *Screen) askAboutService() tea.Cmd {
	memory, profile := s.shell.Memory, s.shell.Account.Profile
	if s.shell.Account.Client == nil || s.reason != "" {
		return nil
	}
	return s.promises.Load(func(ctx context.Context, c *client.Client) (all []client.Promise, err error) {
		last := func(kind string) (id string) {
			if recent := memory.Recent(profile, kind); len(recent) > 0 {
				id, _ = screen.RecentTitle(recent[0])
			}
			return id
		}
		by := client.Examples{UserID: last("user"), PropertyID: api.PropertyID(last("property"))}
		for _, promise := range client.Promises() {
			all = append(all, promise.Ask(ctx, c, by))
		}
		return all, nil
	})
}

func (s *Screen) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case screen.Edited:
		s.edited, s.status = true, status{}
		s.askAboutHTTP(false)
		if at := s.form.Focus(); at == addressField || at == idField {
			s.form.Remove(actorField) // another client may not name anybody
		}
	case profilesLoaded:
		return s.handleProfiles(msg)
	case attempt:
		return s.handleAttempt(msg)
	}
	next, _ := s.promises.Handle(msg)
	return next
}

func (s *Screen) Offers() []actions.Offer {
	wait, stay := actions.WhyIf(s.busy(), "Logging in."), ""
	alone := actions.WhyIf(len(s.profiles) == 0, "This login creates the first profile.")
	if s.shell.Account.Client == nil && !s.busy() {
		quit := "ctrl+c" // the other keys are typed
		if s.shell.Command != nil {
			quit = s.shell.Key(actions.Quit)
		}
		stay = "Nothing to go back to. " + quit + " quits."
	}
	return append([]actions.Offer{
		{ID: actions.Submit, Why: wait, Hint: "log in", Do: s.submit},
		{ID: actions.Profile, Why: alone, Do: func() tea.Cmd { return s.shell.Post(s.pick()) }},
		{ID: actions.Cancel, Why: stay, Do: s.cancel},
	}, actions.Enabled(actions.NextField, actions.PreviousField)...)
}

// cancel cancels the attempt, or else closes the screen.
func (s *Screen) cancel() tea.Cmd {
	if !s.busy() {
		return s.shell.Post(screen.Back{From: s})
	}
	s.stop()
	s.status = status{text: "Cancelled. Nothing was stored."}
	return nil
}

func (s *Screen) Resize(width, height int) { s.width, s.height = width, height }

// Form is always open: what is typed during a login must not become a command.
func (s *Screen) Form() *widget.Form { return s.form }

// Unsaved ignores the form: it is quickly typed again, and a secret should not stay on a screen.
func (s *Screen) Unsaved() string { return "" }

func (s *Screen) Close() {
	s.stop()
	s.promises.Cancel()
}

// The fields of the form.
const (
	nameField    = "profile"
	addressField = "api_url"
	httpField    = "insecure_http"
	idField      = "client_id"
	sandboxField = "sandbox"
	secretField  = "secret"
	actorField   = "actor" // asked for once the service has said that the client may name who sits at it
)

// defaultName is the profile of a first login, as on the command line.
const defaultName = "default"

// fill fills the form with a profile, and focuses the first empty field.
func (s *Screen) fill(profile screen.Profile) {
	if profile.Name != "" {
		s.form.Set(nameField, display.Line(profile.Name))
	}
	s.form.Set(addressField, display.Line(profile.APIURL))
	s.form.Set(idField, display.Line(profile.ClientID))
	s.form.Set(sandboxField, yesOrNo(profile.Sandbox))
	s.form.Set(secretField, "")
	s.form.Remove(httpField)
	s.form.Remove(actorField)
	if profile.Actor != "" {
		s.askName(sandboxField, profile.Actor)
	}
	s.allowed, s.rejected, s.edited = "", false, false
	if profile.InsecureHTTP {
		s.allowed = s.address()
	}
	s.askAboutHTTP(true)
	s.goToMissing()
}

// askName adds the field for who sits at the client.
func (s *Screen) askName(behind, offered string) {
	s.form.Insert(behind, widget.Field{
		Name: actorField, Label: "Your name", Value: display.Line(offered), Hint: "empty for none",
		Check: func(name string) string {
			problem := api.ActorRule(strings.TrimSpace(name))
			if problem == "" || strings.TrimSpace(name) == "" {
				return ""
			}
			return "Your name " + problem + "."
		},
	})
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

// address is what is typed, with a scheme if that is left out: http on this computer, https elsewhere.
func (s *Screen) address() string {
	typed := strings.TrimRight(s.value(addressField), "/")
	if typed == "" || strings.Contains(typed, ":/") {
		return typed
	}
	if plain := "http://" + typed; !isPlainHTTP(plain) {
		return plain
	}
	return "https://" + typed
}

// version is what the path of the API ends with.
const version = "/v2"

// addresses are where to look for the API: an address can leave out the version.
func addresses(typed string) []string {
	if base, err := client.ParseBaseURL(typed); err == nil && !endsInVersion.MatchString(base.Path) {
		return []string{typed + version, typed}
	}
	return []string{typed}
}

var endsInVersion = regexp.MustCompile(`/v[0-9]+$`)

func (s *Screen) entered() screen.Profile {
	address := s.address()
	return screen.Profile{
		Name: s.value(nameField), APIURL: address, ClientID: s.value(idField), Actor: s.value(actorField),
		Sandbox: s.sandbox(), InsecureHTTP: s.allows() && isPlainHTTP(address),
	}
}

func (s *Screen) sandbox() bool { return s.form.Value(sandboxField) == widget.Yes }

// allows tells whether http is allowed for the address.
func (s *Screen) allows() bool {
	if s.asksAboutHTTP() {
		return s.form.Value(httpField) == widget.Yes
	}
	return s.allowed != "" && s.allowed == s.address()
}

func (s *Screen) asksAboutHTTP() bool { return s.form.Field(httpField).Name != "" }

// askAboutHTTP adds or removes the field that allows http. While the address is being typed, a beginning of localhost
// does not add it. A yes is for one address only.
func (s *Screen) askAboutHTTP(complete bool) {
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
	if base, err := client.ParseBaseURL(address); asks && !complete && err == nil && base.Port() == "" &&
		base.Path == "" {
		asks = !strings.HasPrefix("localhost", base.Host) && !strings.HasPrefix("127.0.0.1", base.Host)
	}
	switch {
	case asks && !s.asksAboutHTTP():
		s.form.Insert(addressField, widget.Field{
			Name: httpField, Label: "Allow http (others can read the secret)", Kind: widget.Switch,
			Value: yesOrNo(address == s.allowed),
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

// CheckName says what is wrong with the name of a profile; "" if nothing is.
func CheckName(name string) string {
	name = strings.TrimSpace(name)
	strange := strings.ContainsFunc(name, func(r rune) bool {
		return !isAlphanumeric(r) && !strings.ContainsRune("._-", r)
	})
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
	if strings.TrimSpace(address) == "" {
		return "Enter the address of the API, such as https://perks.example/v2."
	}
	address = s.address()
	if _, err := client.ParseBaseURL(address); err != nil {
		return screen.Sentence("", err)
	}
	if isPlainHTTP(address) && !s.allows() {
		if !s.asksAboutHTTP() {
			return "" // it is being typed
		}
		return "http sends the secret unencrypted. Use https, or allow http below."
	}
	return ""
}

// isPlainHTTP tells whether others on the network could read what is sent to an address.
func isPlainHTTP(address string) bool {
	base, err := client.ParseBaseURL(address)
	if err != nil || base.Scheme != "http" || base.Hostname() == "localhost" {
		return false
	}
	ip := net.ParseIP(base.Hostname())
	return ip == nil || !ip.IsLoopback()
}

// attempt is a login and its outcome.
type attempt struct {
	screen  *Screen
	number  int
	stored  bool           // with the stored secret
	profile screen.Profile // as it was entered
	account screen.Account
	note    string
	err     error
}

func (s *Screen) busy() bool { return s.giveUp != nil }

func (s *Screen) begin(profile screen.Profile, stored bool, connect func(context.Context) (screen.Account, string,
	error)) tea.Cmd {
	ctx, giveUp := context.WithCancel(context.Background()) // #nosec G118 -- stop calls it
	s.giveUp = giveUp
	s.number++
	s.status = status{}
	a := attempt{screen: s, number: s.number, stored: stored, profile: profile}
	return func() tea.Msg {
		a.account, a.note, a.err = connect(ctx)
		return a
	}
}

// stop cancels the attempt, and ignores its outcome.
func (s *Screen) stop() {
	if s.giveUp != nil {
		s.giveUp()
		s.giveUp = nil
	}
	s.number++
}

func (s *Screen) submit() tea.Cmd {
	s.rejected = false
	s.form.Refuse(api.FieldErrors{addressField: nil}) // the service may be reachable now
	s.askAboutHTTP(true)
	if !s.form.Check() {
		if s.form.Focus() == addressField && s.asksAboutHTTP() && !s.allows() {
			s.form.FocusOnName(httpField)
		}
		return nil
	}
	profile, secret, named := s.entered(), s.value(secretField), s.form.Field(actorField).Name != ""
	ask := func(offered string) (string, error) {
		if named { // and the field is empty
			return "", nil
		}
		return "", &nameWanted{offered}
	}
	accounts := s.shell.Accounts
	return s.begin(profile, false, func(ctx context.Context) (account screen.Account, note string, err error) {
		at := profile
		for _, at.APIURL = range addresses(profile.APIURL) {
			if account, note, err = accounts.Login(ctx, at, secret, ask); !isElsewhere(err) {
				break
			}
		}
		return account, note, err
	})
}

// nameWanted ends a login of a client that may name who sits at it, for the user to say who that is.
type nameWanted struct{ offered string }

func (n *nameWanted) Error() string { return "nobody is named yet" }

// isElsewhere tells whether an error says that there is no API at an address.
func isElsewhere(err error) bool {
	var refused *client.Error
	return errors.As(err, &refused) && refused.Status != http.StatusUnauthorized &&
		(refused.Status == http.StatusNotFound || refused.NotFromService)
}

// handleAttempt takes the outcome of an attempt. It shows an error beside its field if it has one.
func (s *Screen) handleAttempt(msg attempt) tea.Cmd {
	if msg.screen != s || msg.number != s.number {
		return nil
	}
	s.stop()
	var missing *screen.NotLoggedIn
	var refused *client.Error
	var unreachable *client.Unreachable
	var wanted *nameWanted
	switch {
	case msg.err == nil && msg.stored:
		return s.shell.Post(screen.LoggedIn{Account: msg.account})
	case msg.err == nil:
		s.form.Set(secretField, "")
		s.shell.Post(screen.LoggedIn{Account: msg.account})
		return screen.Tell(screen.Done, "%s", strings.TrimSpace("Logged in. "+msg.note))
	case errors.As(msg.err, &wanted):
		s.askName(secretField, wanted.offered)
		s.form.FocusOnName(actorField)
		s.status = status{text: "Say who you are. It is kept with what you do."}
	case msg.stored && errors.As(msg.err, &missing):
		s.status = status{text: fmt.Sprintf("No secret is stored for profile %s: enter it.", msg.profile.Name)}
	case msg.stored:
		s.status = status{failed: true, text: screen.Sentence("", msg.err)}
	case errors.As(msg.err, &unreachable):
		problem := screen.Sentence("", unreachable)
		if unreachable.Advice() == "" {
			problem += " Check the address, and the network."
		}
		s.failAddress(msg.profile.APIURL, problem)
	case errors.As(msg.err, &refused) && refused.LoginNeeded() && !isElsewhere(msg.err):
		s.rejected = true
		s.form.Set(secretField, "")
		s.form.Check()
		s.form.FocusOnName(secretField)
	case refused != nil && refused.CredentialsRefused:
		problem := screen.Sentence("", refused) + " Check the id, the secret and the address."
		s.status = status{failed: true, text: problem}
	case isElsewhere(msg.err) && errors.As(msg.err, &refused):
		s.failAddress(msg.profile.APIURL, fmt.Sprintf("No Perks API here (%d). The address ends in %s.", refused.Status,
			version))
	default:
		s.status = status{failed: true, text: screen.Sentence("", msg.err)}
	}
	return nil
}

// failAddress shows a problem beside the address, unless that has changed since.
func (s *Screen) failAddress(sent, problem string) {
	if s.entered().APIURL != sent {
		s.status = status{failed: true, text: problem}
		return
	}
	s.form.Refuse(api.FieldErrors{addressField: {problem}})
}
