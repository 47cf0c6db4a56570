// Package doctor is the command that finds out why perksctl does not work here: it looks at each thing between a command
// and the service in turn, and says of each what was found and what to do.
//
// It changes nothing, and what it writes can be shown to others: neither secrets nor tokens stand in it.
package doctor

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

// New makes the command.
func New(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Find out what is wrong between here and the service",
		Long: "Check the configuration, the way to the service, its certificate, the clocks, the secret and what it allows, each for at\n" +
			"most 5 seconds. It changes nothing. The exit code is 0 if nothing failed, else that of the first failure: 2 the\n" +
			"configuration, 4 the credentials, 8 the service is not reached.",
		Example: "  perksctl doctor\n  perksctl doctor --profile staging --output json",
		Args:    command.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), newExamination(s)) },
	}
}

func run(ctx context.Context, x *examination) error {
	s := x.session
	printer, err := output.New[finding](s.Output, s.Streams, output.View{ID: "check"})
	if err != nil {
		return err
	}
	if s.Flags.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.Flags.Timeout)
		defer cancel()
	}
	findings := x.findings(ctx)
	if s.Output.IsPlain() && s.Streams.OutTTY {
		err = tell(s.Streams, findings)
	} else {
		err = printer.List(ctx, findings)
	}
	if err != nil {
		return err
	}
	return x.err()
}

// stepTime is how long one check may take.
const stepTime = 5 * time.Second

// The outcomes of a check.
const (
	ok         = "ok"
	warning    = "warning"
	failed     = "failed"
	notChecked = "not checked"
)

type finding struct {
	Check   string `json:"check"`
	Outcome string `json:"outcome"`
	Found   string `json:"found"`
	Advice  string `json:"advice"` // "" if there is nothing to do

	err error // set on failure alone; it decides about the exit code
}

func fine(format string, args ...any) finding {
	return finding{Outcome: ok, Found: fmt.Sprintf(format, args...)}
}

func warn(advice, format string, args ...any) finding {
	return finding{Outcome: warning, Found: fmt.Sprintf(format, args...), Advice: advice}
}

func fail(err error, advice string) finding {
	return finding{Outcome: failed, Found: sentence(err.Error()), Advice: advice, err: err}
}

func skip(format string, args ...any) finding {
	return finding{Outcome: notChecked, Found: fmt.Sprintf(format, args...)}
}

// sentence begins a text with a capital and ends it with a full stop.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	text = strings.ToUpper(text[:1]) + text[1:]
	if !strings.HasSuffix(text, ".") && !strings.HasSuffix(text, "?") && !strings.Contains(text, ". ") {
		text += "."
	}
	return text
}

// examination is one run of the checks, and what the earlier ones have found out for the later ones.
type examination struct {
	session  *session.Session
	limit    time.Duration
	now      func() time.Time
	roots    *x509.CertPool // nil is those of the system
	proxyFor func(*http.Request) (*url.URL, error)

	connection session.Connection
	base       *url.URL
	proxy      *url.URL // nil is none
	health     *exchange
	server     string // its version
	token      session.Token

	checked, failed int
	first           error // of those that failed
}

func (x *examination) err() error {
	if x.failed == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d checks failed. The first: %w", x.failed, x.checked, x.first)
}

func newExamination(s *session.Session) *examination {
	s.Patience = 1 // a service that has to be asked twice is what this is to find
	return &examination{session: s, limit: stepTime, now: time.Now, proxyFor: http.ProxyFromEnvironment}
}

type check struct {
	name  string
	needs []string // the checks that must not have failed
	run   func(context.Context) finding
}

func (x *examination) checks() []check {
	return []check{
		{"configuration", nil, x.checkConfiguration},
		{"profile", nil, x.checkProfile},
		{"proxy", []string{"profile"}, x.checkProxy},
		{"network", []string{"proxy"}, x.checkNetwork},
		{"tls", []string{"network"}, x.checkTLS},
		{"health", []string{"tls"}, x.checkHealth},
		{"clock", []string{"tls"}, x.checkClock},
		{"secret", nil, x.checkSecret},
		{"credentials", []string{"profile", "secret", "health"}, x.checkCredentials},
		{"scopes", []string{"credentials"}, x.checkScopes},
		{"perks", []string{"credentials"}, x.checkPerks},
		{"version", nil, x.checkVersion},
	}
}

// findings runs the checks as they are asked for. A check whose way is barred is not run, and says what bars it.
func (x *examination) findings(ctx context.Context) iter.Seq2[finding, error] {
	return func(yield func(finding, error) bool) {
		barred := map[string]bool{}
		for _, c := range x.checks() {
			var f finding
			if i := slices.IndexFunc(c.needs, func(need string) bool { return barred[need] }); i >= 0 {
				f = skip("Not checked, because the check of %s did not succeed.", c.needs[i])
			} else {
				limited, cancel := context.WithTimeout(ctx, x.limit)
				f = c.run(limited)
				cancel()
			}
			if errors.Is(ctx.Err(), context.Canceled) {
				yield(finding{}, ctx.Err())
				return
			}
			f.Check = c.name
			x.checked++
			if f.err != nil {
				x.failed++
				x.first = cmp.Or(x.first, f.err)
			}
			barred[c.name] = f.Outcome == failed || f.Outcome == notChecked
			if !yield(f, nil) {
				return
			}
		}
	}
}

// The widths of the columns before the text: those of the longest outcome and check, and a gap.
const (
	outcomeWidth = len(notChecked) + 2
	checkWidth   = len("configuration") + 2
	narrowest    = 20 // columns of text on the smallest screen
)

// tell writes each finding as soon as it is there: its outcome, and beside it what was found and, under that, what to do.
func tell(s *command.Streams, findings iter.Seq2[finding, error]) error {
	for f, err := range findings {
		if err != nil {
			return err
		}
		width := 0
		if s.Width > 0 {
			width = max(s.Width-outcomeWidth-checkWidth, narrowest)
		}
		lines := wrap(f.Found, width)
		if f.Advice != "" {
			lines = append(lines, wrap("-> "+f.Advice, width)...)
		}
		outcome := display.Pad(f.Outcome, outcomeWidth)
		if f.Outcome == failed || f.Outcome == warning {
			outcome = s.Heading(outcome)
		}
		head := outcome + display.Pad(f.Check, checkWidth)
		for _, line := range lines {
			if _, err := fmt.Fprintln(s.Out, head+line); err != nil {
				return err
			}
			head = strings.Repeat(" ", outcomeWidth+checkWidth)
		}
	}
	return nil
}

// wrap breaks a text between its words into lines of the width; 0 is without bounds. Unlike display.Wrap it keeps commands and
// paths whole, to be copied.
func wrap(text string, width int) []string {
	lines := []string{""}
	for _, word := range strings.Fields(display.Line(text)) {
		last := len(lines) - 1
		switch {
		case lines[last] == "":
			lines[last] = word
		case width > 0 && display.Width(lines[last]+" "+word) > width:
			lines = append(lines, word)
		default:
			lines[last] += " " + word
		}
	}
	return lines
}

func (x *examination) checkConfiguration(context.Context) finding {
	file, err := x.session.Config()
	if err != nil {
		return warn("", "%s", sentence(err.Error()))
	}
	path := string(file)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return fine("There is no %s.", path)
	}
	c, err := file.Load()
	if err != nil {
		return fail(command.Usagef("%s.", err), "")
	}
	for _, each := range []string{path, filepath.Dir(path)} {
		if info, err := os.Stat(each); err == nil && info.Mode().Perm()&0o022 != 0 && runtime.GOOS != "windows" {
			return warn("Run chmod go-w "+each, "%s can be changed by other users of this computer, who could send your secret elsewhere.", each)
		}
	}
	return fine("%s holds %s.", path, display.Plural(len(c.Profiles), "profile", "profiles"))
}

func (x *examination) checkProfile(context.Context) finding {
	connection, err := x.session.Connection()
	if err != nil {
		return fail(err, "")
	}
	base, err := client.ParseBaseURL(connection.APIURL)
	if err != nil {
		return fail(command.Usagef("%s.", err), "")
	}
	x.connection, x.base = connection, base
	found := "Commands go to " + connection.Place()
	if connection.ClientID != "" {
		found += " as " + connection.ClientID
	}
	set := x.variables(session.EnvProfile, session.EnvAPIURL, session.EnvClientID, session.EnvClientSecret, session.EnvToken, session.EnvCACert)
	if set != "" { // and goes before the profile
		return fine("%s. Set in the environment: %s.", found, set)
	}
	return fine("%s.", found)
}

// checkSecret asks the keyring only where a secret of this computer is needed.
func (x *examination) checkSecret(ctx context.Context) finding {
	if x.connection.FromEnvironment() {
		return fine("The environment gives what is needed; nothing that is kept here is used.")
	}
	secrets, err := x.session.Secrets()
	if err != nil {
		return fail(err, "")
	}
	place, file, err := secrets.Place(x.connection.Key())
	if err != nil {
		return fail(&command.NotLoggedIn{Message: sentence(err.Error())}, "")
	}
	off, err := secrets.KeyringState(ctx)
	where := x.kept(place, file)
	switch {
	case off:
		return fine("%s", join(session.EnvKeyring+" is off.", where))
	case err == nil:
		return fine("%s", join("The keyring answers.", where))
	case place == session.InKeyring:
		return fail(&command.NotLoggedIn{Message: fmt.Sprintf("The secret is in the keyring: %s.", err)}, keyringAdvice+", and log in again")
	case errors.Is(err, session.ErrNoKeyring):
		return fine("%s", join("There is no keyring here; secrets are kept in a file.", where))
	}
	return warn(keyringAdvice, "%s", join(sentence(err.Error()), where))
}

func join(sentences ...string) string { return strings.TrimSpace(strings.Join(sentences, " ")) }

const keyringAdvice = "Unlock or start the keyring; or set " + session.EnvKeyring + "=off to keep secrets in a file"

func (x *examination) kept(place session.Place, file string) string {
	switch place {
	case session.InKeyring:
		return "The secret is in the keyring."
	case session.InFile:
		return "The secret is in the file " + file + ", which only you can read."
	}
	if x.base == nil {
		return "" // no profile is known
	}
	return "No secret is kept for this profile."
}

func (x *examination) checkVersion(context.Context) finding {
	found := fmt.Sprintf("perksctl %s (%s, %s/%s)", x.session.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	if x.server != "" {
		found += "; the server is version " + x.server
	}
	return fine("%s.", found)
}
