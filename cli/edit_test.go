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

func TestEditAsksBeforeSending(t *testing.T) {
	x, facts := loggedIn(t)
	x.edits("put title Loft", "put city York")
	question := "Change property 42 at " + facts["API_URL"] + " (profile default)? [y]es, [e]dit again, [n]o: "
	r := x.typing("what?\nE\nyes\n", "property", "edit", "42")
	shown := "- title: Flat\n+ title: Loft\n"
	want := shown + question + question + shown + "- city: Leeds\n+ city: York\n" + question +
		"Updated property 42 at " + facts["API_URL"] + " (profile default).\n"
	if r.code != 0 || r.err != want || r.out != "" {
		t.Errorf("%+v\nwant\n%s", r, want)
	}
	if got := x.property("42", "title,city"); got != "title\tLoft city\tYork" {
		t.Error(got)
	}
	if drafts := savedDrafts(t); len(drafts) != 0 {
		t.Errorf("drafts left: %q", drafts)
	}
}

func TestEditKeepsDraftAfterNo(t *testing.T) {
	for _, answer := range []string{"n\n", ""} {
		x, _ := loggedIn(t)
		x.edits("put title Loft", "true")
		r := x.typing(answer, "property", "edit", "42")
		drafts := savedDrafts(t)
		if r.code != 3 || len(drafts) != 1 || !strings.Contains(r.err,
			"  perksctl property edit 42 --resume "+drafts[0]+"\n") {
			t.Fatalf("%+v %q", r, drafts)
		}
		if got := x.property("42", "title"); got != "title\tFlat" {
			t.Error(got)
		}
		if r := x.typing("y\n", "property", "edit", "42", "--resume", drafts[0]); r.code != 0 ||
			len(savedDrafts(t)) != 0 {
			t.Errorf("%+v", r)
		}
		if got := x.property("42", "title"); got != "title\tLoft" {
			t.Error(got)
		}
	}
}

func TestEditReopensInvalidDraft(t *testing.T) {
	x, _ := loggedIn(t)
	read := x.edits(`put bedrooms many; echo "colour: red" >> "$1"`, `keep wrong; put bedrooms "["`,
		"keep broken; put bedrooms 3", `keep still; sed '/^colour/d' still > "$1"`)
	r := x.typing("y\n", "property", "edit", "42")
	if r.code != 0 {
		t.Fatalf("%+v", r)
	}
	if text := read("wrong"); !strings.Contains(text, "\n#! bedrooms must be a whole number\nbedrooms: many\n") ||
		!strings.Contains(text, "\n#! colour is not a field of a property; the fields are title, description, ") {
		t.Error(text)
	}
	if text := read("broken"); !strings.HasPrefix(text, "#! This is not valid YAML: line ") ||
		strings.Count(text, "#!") != 1 {
		t.Error(text)
	}
	if text := read("still"); strings.Count(text, "#!") != 1 || !strings.Contains(text, "bedrooms: 3\n") {
		t.Error(text)
	}
	if got := x.property("42", "bedrooms"); got != "bedrooms\t3" {
		t.Error(got)
	}
}

func TestEditStopsIfDraftStaysInvalid(t *testing.T) {
	x, _ := loggedIn(t)
	x.edits("put bedrooms many", "true")
	if r := x.typing("", "property", "edit", "42"); r.code != 3 || len(savedDrafts(t)) != 1 ||
		!strings.Contains(r.err, "--resume") {
		t.Errorf("%+v", r)
	}
}

func TestEditMergesConcurrentChange(t *testing.T) {
	x, _ := loggedIn(t)
	x.edits("put title Mine; perksctl property update 42 --city York --price-pw 300 2> log || exit 9")
	r := x.typing("y\ny\n", "property", "edit", "42")
	warning := "warning: Somebody else changed property 42 meanwhile:\n  city\n    before: Leeds\n    theirs: York\n " +
		" price_pw\n    before: 250.00\n    theirs: 300\n"
	if r.code != 0 || !strings.Contains(r.err, warning) || strings.Count(r.err, "- title: Flat\n+ title: Mine\n") != 2 {
		t.Errorf("%+v", r)
	}
	if got := x.property("42", "title,city,price_pw"); got != "title\tMine city\tYork price_pw\t300" {
		t.Error(got)
	}
}

func TestEditMergesWithoutTerminal(t *testing.T) {
	x, _ := loggedIn(t)
	x.edits("put title Mine; perksctl property update 42 --city York 2> log || exit 9")
	if r := x.run("property", "edit", "42", "--yes"); r.code != 0 || !strings.Contains(r.err, "theirs: York") {
		t.Errorf("%+v", r)
	}
	if got := x.property("42", "title,city"); got != "title\tMine city\tYork" {
		t.Error(got)
	}
}

func TestEditAsksAboutConflict(t *testing.T) {
	x, _ := loggedIn(t)
	read := x.edits("put title Mine; perksctl property update 42 --title Theirs 2> log || exit 9",
		"keep conflict; put title Both")
	r := x.typing("y\ny\n", "property", "edit", "42")
	if r.code != 0 || !strings.Contains(r.err, "  title\n    before: Flat\n    theirs: Theirs\n    yours:  Mine\n") ||
		!strings.Contains(r.err, "- title: Theirs\n+ title: Both\n") {
		t.Errorf("%+v", r)
	}
	if text := read("conflict"); !strings.Contains(text,
		"#!   title: Theirs\n#! Before, it was:\n#!   title: Flat\ntitle: Mine\n") {
		t.Error(text)
	}
	if got := x.property("42", "title"); got != "title\tBoth" {
		t.Error(got)
	}
}

func TestEditFailsOnConflictWithoutTerminal(t *testing.T) {
	x, _ := loggedIn(t)
	read := x.edits("put title Mine; perksctl property update 42 --title Theirs --city York 2> log || exit 9",
		"keep resumed")
	r := x.run("property", "edit", "42", "--yes")
	drafts := savedDrafts(t)
	if r.code != 6 || len(drafts) != 1 || !strings.Contains(r.err,
		"Edit it on a terminal to decide about: title.\nYour draft is in "+drafts[0]) {
		t.Fatalf("%+v %q", r, drafts)
	}
	if r := x.typing("y\n", "property", "edit", "42", "--resume", drafts[0]); r.code != 0 {
		t.Errorf("%+v", r)
	}
	if text := read("resumed"); !strings.Contains(text, "#!   title: Theirs\n") ||
		!strings.Contains(text, "\ncity: York\n") {
		t.Error(text)
	}
	if got := x.property("42", "title,city"); got != "title\tMine city\tYork" {
		t.Error(got)
	}
}

func TestEditOfDeletedProperty(t *testing.T) {
	x, _ := loggedIn(t)
	x.edits("put title Mine; perksctl property delete 42 --yes 2> log || exit 9")
	r := x.typing("y\n", "property", "edit", "42")
	if r.code != 5 || len(savedDrafts(t)) != 1 || !strings.Contains(r.err, "There is no property 42") ||
		!strings.Contains(r.err, "--resume") {
		t.Errorf("%+v", r)
	}
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

func TestEditWithoutPermission(t *testing.T) {
	x, _ := loggedIn(t)
	x.edits("put title Mine")
	r := x.typing("y\n", "property", "edit", "99")
	drafts := savedDrafts(t)
	if r.code != 4 || len(drafts) != 1 || !strings.Contains(r.err, drafts[0]) {
		t.Errorf("%+v", r)
	}
}
