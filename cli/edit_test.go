package cli_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/perks/cli/session"
	"example.com/perks/server/servertest"
)

// edits sets the editor to shell scripts, one for each time that it opens; the last one repeats. In a script, $1 is the
// file, `put FIELD VALUE` edits it, `keep NAME` copies it for read, and perksctl acts as another client.
func (x *terminal) edits(scripts ...string) (read func(name string) string) {
	x.t.Helper()
	dir := x.t.TempDir()
	x.t.Setenv("TMPDIR", x.t.TempDir())
	program := "PERKSCTL_CONFIG_DIR='" + x.env[session.EnvConfigDir] + "'; export PERKSCTL_CONFIG_DIR; cd '" + dir +
		"'\n" +
		`put() { sed "s|^$1: .*|$1: $2|" "$file" > new && cp new "$file"; }; keep() { cp "$file" "$1"; }; file=$1` +
		"\n"
	for i, script := range scripts {
		if i < len(scripts)-1 {
			marker := "opened" + string(rune('a'+i))
			program += "if [ ! -e " + marker + " ]; then : > " + marker + "; " + script + "; exit; fi\n"
		} else {
			program += script + "\n"
		}
	}
	path := write(x.t, filepath.Join(dir, "editor.sh"), program)
	x.env["EDITOR"] = "sh '" + path + "'"
	return func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			x.t.Error(err)
		}
		return string(text)
	}
}

// savedDrafts returns the paths of the drafts that perksctl saved.
func savedDrafts(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(os.TempDir(), "perksctl-edit-*", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// property reads fields of a property as tab-separated lines.
func (x *terminal) property(id, fields string) string {
	x.t.Helper()
	return strings.ReplaceAll(strings.TrimSpace(x.must("property", "get", id, "--quiet", "--fields", fields).out), "\n",
		" ")
}

// behindProxy returns a terminal behind a proxy that passes changes to patch.
func behindProxy(t *testing.T, patch func(real http.Handler, w http.ResponseWriter, r *http.Request)) *terminal {
	t.Helper()
	facts := seed(servertest.Start(t))
	address, err := url.Parse(strings.TrimSuffix(facts["API_URL"], "/v2"))
	if err != nil {
		t.Fatal(err)
	}
	real := httputil.NewSingleHostReverseProxy(address)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPatch {
			patch(real, w, r)
			return
		}
		real.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	return newTerminal(t, map[string]string{
		session.EnvAPIURL: proxy.URL + "/v2", session.EnvClientID: facts["CLIENT"],
		session.EnvClientSecret: facts["SECRET"],
	})
}

func replaceBody(r *http.Request, body string) {
	r.Body = io.NopCloser(strings.NewReader(body))
	r.ContentLength = int64(len(body))
}

func closeConnection(w http.ResponseWriter) {
	connection, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		connection.Close()
	}
}

func TestEditShowsErrorsOfTheServer(t *testing.T) {
	broken := true
	x := behindProxy(t, func(real http.Handler, w http.ResponseWriter, r *http.Request) {
		if broken {
			replaceBody(r, `{"bedrooms":-1,"colour":"red"}`)
			broken = false
		}
		real.ServeHTTP(w, r)
	})
	read := x.edits("put bedrooms 2", "keep refused; put bedrooms 3")
	r := x.typing("y\ny\n", "property", "edit", "42")
	text := read("refused")
	if r.code != 0 || !strings.HasPrefix(text, "#! The server refused this: ") ||
		!strings.Contains(text, "#! colour is not a field") ||
		!strings.Contains(text, "#! bedrooms must not be negative\nbedrooms: 2\n") {
		t.Errorf("%+v\n%s", r, text)
	}
	if got := x.property("42", "bedrooms"); got != "bedrooms\t3" {
		t.Error(got)
	}
	broken = true
	x.edits("put bedrooms 4")
	r = x.run("property", "edit", "42", "--yes")
	if r.code != 1 || !strings.Contains(r.err, "  bedrooms: must not be negative\n") || len(savedDrafts(t)) != 1 {
		t.Errorf("%+v", r)
	}
}

func TestEditChecksIfReplyIsLost(t *testing.T) {
	x := behindProxy(t, func(real http.Handler, w http.ResponseWriter, r *http.Request) {
		real.ServeHTTP(httptest.NewRecorder(), r)
		closeConnection(w)
	})
	x.edits("put title Loft")
	r := x.run("property", "edit", "42", "--yes")
	if r.code != 0 || !strings.Contains(r.err, "The reply was lost, but the change to property 42 was made.") ||
		len(savedDrafts(t)) != 0 {
		t.Errorf("%+v", r)
	}
}

// TestEditRecognizesItsOwnChange makes the change and replies with 412, as for a retry after a lost reply.
func TestEditRecognizesItsOwnChange(t *testing.T) {
	x := behindProxy(t, func(real http.Handler, w http.ResponseWriter, r *http.Request) {
		real.ServeHTTP(httptest.NewRecorder(), r.Clone(r.Context()))
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusPreconditionFailed)
		fmt.Fprint(w, `{"error": {"code": "precondition_failed", "message": "The property was changed."}}`)
	})
	x.edits("put title Loft")
	r := x.run("property", "edit", "42", "--yes")
	if r.code != 0 || strings.Contains(r.err, "Somebody else") ||
		!strings.Contains(r.err, "property 42 is already as you want it") || len(savedDrafts(t)) != 0 {
		t.Errorf("%+v", r)
	}
}

func TestEditWithUnknownOutcome(t *testing.T) {
	x := behindProxy(t, func(real http.Handler, w http.ResponseWriter, r *http.Request) { closeConnection(w) })
	x.edits("put title Loft")
	r := x.run("property", "edit", "42", "--yes")
	if r.code != 8 || !strings.Contains(r.err, "  perksctl property get 42\nYour draft is in ") ||
		len(savedDrafts(t)) != 1 {
		t.Errorf("%+v", r)
	}
}
