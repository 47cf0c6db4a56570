// Package doctor is the command that diagnoses configuration, connection, certificate, clock and login, and names what
// the service lacks. It changes nothing, and what it writes can be shown to others: it has neither secrets nor tokens.
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

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

// New makes the command.
func New(s *session.Session) *cobra.Command {
	var examples client.Examples
	property := ""
	cmd := session.Command(s, output.View{ID: "check"}, cobra.Command{
		Use:   "doctor",
		Short: "Diagnose configuration, connection, certificate, clock and login",
		Long: "Check the configuration, connection, certificate, clock, secret and scopes, and what the\n" +
			"service lacks, each for at most 5 seconds. It changes nothing. The exit code is 0 if nothing failed,\n" +
			"else that of the first failure: 2 for the configuration, 4 for the credentials, 8 if the service is\n" +
			"not reached.\n\n" +
			"--user names a user whose redemptions are read, to see whether the service honours idempotency keys,\n" +
			"and --property one to see whether it has an ETag. Without them, they are the first of a list, if\n" +
			"there is one.",
		Example: "  perksctl doctor\n  perksctl doctor --user alice --profile staging --output json",
		Args:    command.NoArgs,
	}, func(cmd *cobra.Command, _ []string, printer *output.Printer[finding]) error {
		d := newDiagnosis(s)
		d.examples = examples
		d.examples.PropertyID = api.PropertyID(property)
		return run(cmd.Context(), d, printer)
	})
	cmd.Flags().StringVar(&examples.UserID, "user", "", "the `id` of the user")
	cmd.Flags().StringVar(&property, "property", "", "the `id` of the property")
	return cmd
}

func run(ctx context.Context, d *diagnosis, printer *output.Printer[finding]) error {
	s := d.session
	if s.Flags.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.Flags.Timeout)
		defer cancel()
	}
	var err error
	if s.Output.IsPlain() && s.Streams.OutTTY {
		err = write(s.Streams, d.findings(ctx))
	} else {
		err = printer.List(ctx, d.findings(ctx))
	}
	if err != nil {
		return err
	}
	return d.err()
}

func (d *diagnosis) err() error {
	if d.failed == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d checks failed. The first: %w", d.failed, d.checked, d.first)
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

	err error // of a failed check; decides the exit code
}

func fine(format string, args ...any) finding {
	return finding{Outcome: ok, Found: fmt.Sprintf(format, args...)}
}

func warn(advice, format string, args ...any) finding {
	return finding{Outcome: warning, Found: fmt.Sprintf(format, args...), Advice: advice}
}

func fail(err error, advice string) finding {
	return finding{Outcome: failed, Found: sentence(command.Plain(err)), Advice: advice, err: err}
}

func skip(format string, args ...any) finding {
	return finding{Outcome: notChecked, Found: fmt.Sprintf(format, args...)}
}

// sentence begins a text with a capital, unless that is a path, and ends it with a full stop.
func sentence(text string) string {
	if first, _, _ := strings.Cut(text, " "); !strings.ContainsAny(first, `/\.`) {
		text = display.Capital(text)
	}
	if !strings.HasSuffix(text, ".") && !strings.HasSuffix(text, "?") && !strings.Contains(text, ". ") {
		text += "."
	}
	return text
}

// diagnosis is one run of the checks, and what the earlier ones have found for the later ones.
type diagnosis struct {
	session  *session.Session
	limit    time.Duration
	now      func() time.Time
	roots    *x509.CertPool // nil is the system's
	proxyFor func(*http.Request) (*url.URL, error)

	connection session.Connection
	base       *url.URL
	proxy      *url.URL         // nil without one
	health     *client.Response // nil without one
	healthAt   time.Time        // when the server made it, by our clock
	server     string           // its version
	token      session.Token
	examples   client.Examples // that the caller has named

	checked, failed int
	first           error // of those that failed
}

func newDiagnosis(s *session.Session) *diagnosis {
	s.WaitBudget = 1 // do not retry: a service that has to be asked twice is a finding
	return &diagnosis{session: s, limit: stepTime, now: time.Now, proxyFor: http.ProxyFromEnvironment}
}

type check struct {
	name  string
	needs []string // the checks that must not have failed
	run   func(context.Context) finding
}

func (d *diagnosis) checks() []check {
	checks := []check{
		{"configuration", nil, d.checkConfiguration},
		{"profile", nil, d.checkProfile},
		{"proxy", []string{"profile"}, d.checkProxy},
		{"network", []string{"proxy"}, d.checkNetwork},
		{"tls", []string{"network"}, d.checkTLS},
		{"health", []string{"tls"}, d.checkHealth},
		{"clock", []string{"tls"}, d.checkClock},
		{"secret", nil, d.checkSecret},
		{"credentials", []string{"profile", "secret", "health"}, d.checkCredentials},
		{"scopes", []string{"credentials"}, d.checkScopes},
		{"perks", []string{"credentials"}, d.checkPerks},
	}
	for _, promise := range client.Promises() {
		checks = append(checks, check{promise.About, []string{"credentials"}, d.checkPromise(promise)})
	}
	return append(checks, check{"version", nil, d.checkVersion})
}

func (d *diagnosis) checkPromise(promise client.PromiseCheck) func(context.Context) finding {
	return func(ctx context.Context) finding {
		c, err := d.client(d.connection.APIURL, d.token.AccessToken)
		if err != nil {
			return fail(err, "")
		}
		p := promise.Ask(ctx, c, d.examples)
		switch {
		case p.Err != nil:
			return fail(p.Err, "")
		case p.Keeps:
			return fine("%s", p.Found)
		case !p.IsKnown && p.Advice == "":
			return skip("%s", p.Found)
		}
		return warn(p.Advice, "%s", p.Found)
	}
}

// findings runs the checks one by one. It skips a check if one that it needs did not succeed.
func (d *diagnosis) findings(ctx context.Context) iter.Seq2[finding, error] {
	return func(yield func(finding, error) bool) {
		unsuccessful := map[string]bool{}
		for _, c := range d.checks() {
			var f finding
			if i := slices.IndexFunc(c.needs, func(need string) bool { return unsuccessful[need] }); i >= 0 {
				f = skip("Not checked, because the check of %s did not succeed.", c.needs[i])
			} else {
				limited, cancel := context.WithTimeout(ctx, d.limit)
				f = c.run(limited)
				cancel()
			}
			if errors.Is(ctx.Err(), context.Canceled) {
				yield(finding{}, ctx.Err())
				return
			}
			f.Check = c.name
			d.checked++
			if f.err != nil {
				d.failed++
				d.first = cmp.Or(d.first, f.err)
			}
			unsuccessful[c.name] = f.Outcome == failed || f.Outcome == notChecked
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

// write writes each finding as soon as it is there: its outcome, and beside it the finding and the advice.
func write(s *command.Streams, findings iter.Seq2[finding, error]) error {
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

// wrap breaks a text between words into lines of the width, 0 for any. Unlike display.Wrap it keeps commands and paths
// whole, for copying.
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

func (d *diagnosis) checkConfiguration(context.Context) finding {
	file, err := d.session.Config()
	if err != nil {
		return warn("", "%s", sentence(command.Plain(err)))
	}
	path := string(file)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return fine("There is no %s.", path)
	}
	c, err := file.Load()
	if err != nil {
		return fail(err, "")
	}
	for _, each := range []string{path, filepath.Dir(path)} {
		if info, err := os.Stat(each); err == nil && info.Mode().Perm()&0o022 != 0 && runtime.GOOS != "windows" {
			return warn("Run chmod go-w "+each,
				"%s can be changed by other users of this computer, who could send your secret elsewhere.", each)
		}
	}
	return fine("%s holds %s.", path, display.Plural(len(c.Profiles), "profile", "profiles"))
}

func (d *diagnosis) checkProfile(context.Context) finding {
	connection, err := d.session.Connection()
	if err != nil {
		return fail(err, "")
	}
	base, err := client.ParseBaseURL(connection.APIURL)
	if err != nil {
		return fail(command.Usagef("%s.", err), "")
	}
	d.connection, d.base = connection, base
	found := "Commands go to " + connection.Target()
	if connection.ClientID != "" {
		found += " as " + connection.ClientID
	}
	set := d.variables(session.EnvProfile, session.EnvAPIURL, session.EnvClientID, session.EnvClientSecret,
		session.EnvToken, session.EnvCACert)
	if set != "" { // which overrides the profile
		found += ". Set in the environment: " + set
	}
	return fine("%s.", found)
}

// checkSecret asks the keyring only if a saved secret is needed.
func (d *diagnosis) checkSecret(ctx context.Context) finding {
	if d.connection.FromEnvironment() {
		return fine("The environment has the credentials; no saved secret is used.")
	}
	secrets, err := d.session.Secrets()
	if err != nil {
		return fail(err, "")
	}
	location, file, err := secrets.Location(d.connection.Key())
	if err != nil {
		return fail(&command.NotLoggedIn{Message: sentence(command.Plain(err))}, "")
	}
	where := ""
	switch {
	case location == session.InKeyring:
		where = " The secret is in the keyring."
	case location == session.InFile:
		where = " The secret is in the file " + file + ", which only you can read."
	case d.base != nil: // a profile is known
		where = " No secret is saved for this profile."
	}
	off, err := secrets.KeyringState(ctx)
	const advice = "Unlock or start the keyring; or set " + session.EnvKeyring + "=off to save secrets in a file"
	switch {
	case off:
		return fine("%s is off.%s", session.EnvKeyring, where)
	case err == nil:
		return fine("The keyring responds.%s", where)
	case location == session.InKeyring:
		return fail(&command.NotLoggedIn{Message: fmt.Sprintf("The secret is in the keyring: %s.", command.Plain(err))},
			advice+", and log in again")
	case errors.Is(err, session.ErrNoKeyring):
		return fine("There is no keyring here; secrets are saved in a file.%s", where)
	}
	return warn(advice, "%s%s", sentence(command.Plain(err)), where)
}

func (d *diagnosis) checkVersion(context.Context) finding {
	found := fmt.Sprintf("perksctl %s (%s, %s/%s)", d.session.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	if d.server == "" {
		return fine("%s.", found)
	}
	found += "; the server is version " + d.server
	switch age := ageOf(d.server, d.session.Version); age {
	case tooOld:
		return warn("Ask the operator to upgrade it; until then, commands may ask for what it does not have",
			"The server is too old for this perksctl: %s.", found)
	case tooNew:
		return warn("Install perksctl "+d.server+" or newer", "The server is too new for this perksctl: %s.", found)
	}
	return fine("%s.", found)
}
