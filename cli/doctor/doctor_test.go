package doctor

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"example.com/perks/api"
	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

// fixture is an environment and a configuration directory for perksctl doctor.
type fixture struct {
	t   *testing.T
	env map[string]string
	dir string
}

func newFixture(t *testing.T, address string, pairs ...string) *fixture {
	p := &fixture{t, map[string]string{}, t.TempDir()}
	p.env[session.EnvConfigDir] = p.dir
	p.env[session.EnvKeyring] = "off"
	p.env[session.EnvAPIURL] = address
	p.env[session.EnvClientID] = "c"
	p.env[session.EnvClientSecret] = "very secret"
	for i := 0; i < len(pairs); i += 2 {
		p.env[pairs[i]] = pairs[i+1]
	}
	return p
}

func (p *fixture) diagnosis(flags ...string) *diagnosis {
	p.t.Helper()
	s, _, _ := command.BufferedStreams("")
	run := session.New(s, func(name string) string { return p.env[name] }, "1.2.3")
	set := pflag.NewFlagSet("test", pflag.ContinueOnError)
	run.Bind(set)
	if err := set.Parse(flags); err != nil {
		p.t.Fatal(err)
	}
	d := newDiagnosis(run)
	d.proxyFor = func(*http.Request) (*url.URL, error) { return nil, nil }
	return d
}

// report has the findings by check, and the command's error.
type report struct {
	t        *testing.T
	findings map[string]finding
	err      error
}

func diagnose(t *testing.T, d *diagnosis) report {
	t.Helper()
	r := report{t, map[string]finding{}, nil}
	for f, err := range d.findings(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		r.findings[f.Check] = f
		if strings.Contains(f.Found+f.Advice, "very secret") || strings.Contains(f.Found+f.Advice, "eyJ") {
			t.Errorf("%s shows a secret: %+v", f.Check, f)
		}
	}
	r.err = d.err()
	return r
}

func (r report) want(check, outcome, found, advice string) {
	r.t.Helper()
	f := r.findings[check]
	if f.Outcome != outcome || !strings.Contains(f.Found, found) || !strings.Contains(f.Advice, advice) ||
		advice == "" && f.Advice != "" {
		r.t.Errorf("%s: got %+v, want %s, %q and %q", check, f, outcome, found, advice)
	}
}

func (r report) wantCode(code int) {
	r.t.Helper()
	if got := output.ExitCode(r.err); got != code {
		r.t.Errorf("exit code %d (%v), want %d", got, r.err, code)
	}
}

func TestCredentialsSayWhoMayBeNamed(t *testing.T) {
	server := servertest.Start(t)
	id, secret := server.Client()
	desk, deskSecret := server.ClientWith(func(c *store.Client) { c.NamesActors = true })
	for _, test := range []struct{ id, secret, name, outcome, found, advice string }{
		{desk, deskSecret, "ann", ok, `kept under the name "ann"`, ""},
		{desk, deskSecret, "", ok, "The client may say who sits at it", ""},
		{id, secret, "ann", warning, `does not say that the client may name "ann"`,
			"'perksd client update " + id + " --actors'"},
		{id, secret, "", ok, "issued a token to " + id, ""},
	} {
		r := diagnose(t, newFixture(t, server.URL, session.EnvClientID, test.id, session.EnvClientSecret, test.secret,
			session.EnvActor, test.name).diagnosis())
		r.want("credentials", test.outcome, test.found, test.advice)
	}
}

func TestCredentials(t *testing.T) {
	server := servertest.Start(t)
	reader, readerSecret := server.Client(api.ScopePerksRead)
	writer, writerSecret := server.Client(api.ScopePropertiesWrite)
	t.Run("few scopes", func(t *testing.T) {
		r := diagnose(t, newFixture(t, server.URL, session.EnvClientID, reader, session.EnvClientSecret,
			readerSecret).diagnosis())
		r.want("scopes", warning,
			"lacks perks:redeem (perk redeem); perks:write (perk create, ",
			"ask the operator")
		r.want("perks", ok, "can be read", "")
		r.wantCode(command.ExitOK)
	})
	usual, usualSecret := server.Client(api.DefaultScopes()...)
	t.Run("the usual scopes", func(t *testing.T) {
		p := newFixture(t, server.URL, session.EnvClientID, usual, session.EnvClientSecret, usualSecret)
		r := diagnose(t, p.diagnosis())
		r.want("scopes", ok, "the usual scopes. It lacks perks:write (perk create, perk update, perk edit, "+
			"perk stock, perk history); properties:create (property create); "+
			"redemptions:decide (redemption approve, redemption reject);", "")
	})
	for _, scope := range api.AllScopes() {
		if commandsOf[scope] == "" {
			t.Errorf("no command needs the scope %s", scope)
		}
	}
	t.Run("no scope for perks", func(t *testing.T) {
		r := diagnose(t, newFixture(t, server.URL, session.EnvClientID, writer, session.EnvClientSecret,
			writerSecret).diagnosis())
		r.want("perks", warning, "may not read the perks", "operator")
		r.wantCode(command.ExitOK)
	})
}

func TestServerNeverResponds(t *testing.T) {
	for _, scheme := range []string{"http", "https"} {
		listener, err := net.Listen("tcp", "127.0.0.1:0") // nothing accepts connections
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		d := newFixture(t, scheme+"://"+listener.Addr().String()+"/v2").diagnosis()
		d.limit = 50 * time.Millisecond
		r := diagnose(t, d)
		r.want("network", ok, "", "")
		check := map[string]string{"http": "health", "https": "tls"}[scheme]
		r.want(check, failed, "t took too long", " ")
		r.want("credentials", notChecked, "", "")
		r.wantCode(command.ExitUnreached)
	}
}

func TestWrongAddress(t *testing.T) {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "<!doctype html><title>Welcome</title>")
	}))
	defer page.Close()
	none := httptest.NewServer(http.NotFoundHandler())
	defer none.Close()
	real := servertest.Start(t)
	for address, want := range map[string][2]string{
		page.URL: {"is not the address of the API: a web server responds there, with status 200",
			"such as /v2"},
		none.URL + "/v2": {"is not the address of the API: a web server responds there, with status 404",
			"such as /v2"},
		real.Root(): {"is not the address of the API, but " + real.URL + " is", "auth login --api-url " +
			real.URL},
		real.URL + "/partners":     {"but " + real.URL + " is", "auth login --api-url " + real.URL},
		real.Root() + "/v2/health": {"but " + real.URL + " is", "auth login --api-url " + real.URL},
	} {
		r := diagnose(t, newFixture(t, address).diagnosis())
		r.want("health", failed, want[0], want[1])
		r.want("credentials", notChecked, "", "")
		r.wantCode(command.ExitUsage)
	}
}

func TestWrongClock(t *testing.T) {
	for off, want := range map[time.Duration]string{
		time.Hour: "behind", -time.Hour: "ahead of", 10 * time.Second: "", -10 * time.Second: "",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Date", time.Now().Add(off).UTC().Format(http.TimeFormat))
			_, _ = io.WriteString(w, `{"status":"ok"}`)
		}))
		defer server.Close()
		r := diagnose(t, newFixture(t, server.URL+"/v2").diagnosis())
		if want == "" {
			r.want("clock", ok, "agree", "")
			continue
		}
		r.want("clock", warning, want+" the server's", "Set your clock")
		if found := r.findings["clock"].Found; !strings.Contains(found, "1h0m0s") &&
			!strings.Contains(found, "59m59s") && !strings.Contains(found, "1h0m1s") {
			t.Errorf("no difference in %s", found)
		}
	}
}

func TestProxyIsShownWithoutItsPassword(t *testing.T) {
	server := servertest.Start(t)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Host != "perks.invalid" {
			http.Error(w, "unknown host", http.StatusBadGateway)
			return
		}
		response, err := http.Get(server.Root() + r.URL.Path)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer response.Body.Close()
		w.Header().Set("Content-Type", response.Header.Get("Content-Type"))
		w.WriteHeader(response.StatusCode)
		_, _ = io.Copy(w, response.Body)
	}))
	defer proxy.Close()
	p := newFixture(t, "", session.EnvAPIURL, "", "HTTP_PROXY", "set")
	yaml := "profiles:\n  default:\n    api-url: http://perks.invalid/v2\n    client-id: c\n    insecure-http: true\n"
	if err := os.WriteFile(filepath.Join(p.dir, "config.yaml"), []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	d := p.diagnosis()
	d.proxyFor = func(*http.Request) (*url.URL, error) {
		return url.Parse(strings.Replace(proxy.URL, "http://", "http://me:very%20secret@", 1))
	}
	r := diagnose(t, d)
	r.want("proxy", ok, "http://me:xxxxx@127.0.0.1", "")
	r.want("proxy", ok, "as HTTP_PROXY says", "")
	r.want("network", ok, "127.0.0.1 is 127.0.0.1", "") // the proxy; it looks up the name of the service
	r.want("tls", warning, "anyone on the network can read", "https")
	r.want("health", ok, "healthy", "")
}

func TestSentenceLeavesAPathAsItIs(t *testing.T) {
	for text, want := range map[string]string{
		"cfg/config.yaml cannot be read": "cfg/config.yaml cannot be read.", "it took too long": "It took too long.",
	} {
		if got := sentence(text); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestInterruptStopsDoctor(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	d := newFixture(t, "http://127.0.0.1:1/v2").diagnosis()
	printer, err := output.New[finding](d.session.Output, d.session.Streams, output.View{ID: "check"})
	if err == nil {
		err = run(ctx, d, printer)
	}
	if output.ExitCode(err) != command.ExitInterrupted {
		t.Errorf("got %v", err)
	}
}

func TestReportFitsTheScreen(t *testing.T) {
	s, out, _ := command.BufferedStreams("")
	s.Width = 60
	findings := func(yield func(finding, error) bool) {
		_ = yield(finding{Check: "clock", Outcome: warning,
			Found: "Your clock is 1h0m0s ahead \x1b[31mof the server's.", Advice: "Set it"}, nil) &&
			yield(finding{Check: "version", Outcome: ok, Found: "perksctl 1."}, nil)
	}
	if err := write(s, findings); err != nil {
		t.Fatal(err)
	}
	want := "warning      clock          Your clock is 1h0m0s ahead\n" +
		"                            [31mof the server's.\n" +
		"                            -> Set it\n" +
		"ok           version        perksctl 1.\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
}
