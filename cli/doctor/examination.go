package doctor

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"example.com/perks/cli/session"
)

// stepTime is how long one check may take.
const stepTime = 5 * time.Second

// The outcomes of a check.
const (
	ok         = "ok"
	warning    = "warning"
	failed     = "failed"
	notChecked = "not checked"
)

// finding is what a check found.
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
			f := x.one(ctx, c, barred)
			if errors.Is(ctx.Err(), context.Canceled) {
				yield(finding{}, ctx.Err())
				return
			}
			f.Check = c.name
			barred[c.name] = f.Outcome == failed || f.Outcome == notChecked
			if !yield(f, nil) {
				return
			}
		}
	}
}

func (x *examination) one(ctx context.Context, c check, barred map[string]bool) finding {
	for _, need := range c.needs {
		if barred[need] {
			return skip("Not checked, because the check of %s did not succeed.", need)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, x.limit)
	defer cancel()
	return c.run(ctx)
}
