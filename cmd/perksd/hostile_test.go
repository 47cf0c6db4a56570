package main

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/creack/pty"

	"example.com/perks/api"
	"example.com/perks/cmd/dev/programs"
	"example.com/perks/server/servertest"
)

// hostileFixture is an operator whose database has hostile text in every field, with two servers: one logs text to a
// terminal, one JSON to a pipe.
type hostileFixture struct {
	*operator
	api        string
	logs       map[string]*programs.Log
	stops      []func() // of the servers
	redemption string   // an id that is pending
}

func newHostileFixture(t *testing.T) *hostileFixture {
	x := &hostileFixture{operator: withClient(t), logs: map[string]*programs.Log{}}
	x.env["PERKSD_SANDBOX_DATABASE"] = servertest.DatabaseAddress(t)
	x.must("migrate", "--sandbox")
	var created clientView
	if err := json.Unmarshal([]byte(x.must("client", "create", "--name", "Till", "--id", "till", "--scope",
		listed(api.AllScopes()), "-o", "json")), &created); err != nil {
		t.Fatal(err)
	}
	v, u := quoted(t, hostileText), quoted(t, hostileID)
	perk := strings.ReplaceAll(
		`{"title":V,"description":V,"category":V,"merchant_name":V,"discount_text":V,"terms":V,"city":V`, "V", v)
	x.must("import", "categories", x.file("categories.jsonl", `{"id":"c","category_name":`+v+`}`))
	x.must("import", "perks", x.file("perks.jsonl",
		perk+`,"id":"p","approval":"manual"}`+"\n"+perk+`,"id":"q"}`+"\n"+perk+`,"id":"r"}`))
	x.must("import", "users", x.file("users.jsonl", `{"id":`+u+`}`))
	x.must("import", "properties", x.file("properties.jsonl",
		strings.ReplaceAll(
			`{"propertyId":7,"title":V,"description":V,"address":V,"city":V,`+
				`"postcode":"P","price_pw":"1","owner":"till"}`, "V", v)))
	x.redeems("00000000-0000-7000-8000-000000000000", "r", hostileID)
	if err := os.Mkdir(x.path("config"), 0o700); err != nil {
		t.Fatal(err)
	}
	bad, err := json.Marshal(map[string]string{"id": hostileText, hostileText: hostileText, "propertyId": hostileText,
		"category_name": hostileText})
	if err != nil {
		t.Fatal(err)
	}
	x.file("bad.jsonl", string(bad)+"\n"+hostileText+"\n")
	x.file("bad.json", "["+string(bad)+"]")
	x.file("bad.csv", `"`+hostileText+"\"\n\""+hostileText+"\"\n")

	var base string
	for _, kind := range []string{"text", "json"} {
		cmd := x.command("perksd", "serve", "--addr", "127.0.0.1:0", "--log-level", "debug", "--log-format", kind)
		var from io.Reader
		if kind == "text" {
			from = onTerminal(t, cmd)
		} else {
			pipe, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			from = pipe
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
		}
		log := programs.Follow(t, from)
		x.logs[kind] = log
		base = log.WaitForURL(t)
		for _, path := range []string{"/v2/partners/perks/" + url.PathEscape(hostileText), "/v2/auth/token",
			"/v2/" + url.PathEscape(hostileID)} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			request.SetBasicAuth(hostileText, hostileText)
			request.Header["User-Agent"] = []string{hostileID}
			request.Header["X-Request-Id"] = []string{hostileID}
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has exited, unless the test failed
		x.api = base + "/v2"
		stop := func() {
			_ = cmd.Process.Signal(syscall.SIGTERM)
			log.Rest()
			_ = cmd.Wait()
		}
		if kind == "json" {
			x.stops = append(x.stops, stop)
		} else {
			stop() // a file has one server
		}
	}
	for name, value := range map[string]string{
		"PERKSCTL_API_URL": x.api, "PERKSCTL_CLIENT_ID": "till", "PERKSCTL_CLIENT_SECRET": created.Secret,
		"PERKSCTL_CONFIG_DIR": x.path("config"),
		"PERKSCTL_KEYRING":    "off", "EDITOR": "sed -i s/^city:.*/city:\\ York/", "NO_COLOR": "1", "TERM": "xterm",
		"HOME": x.directory, "PATH": os.Getenv("PATH"), "GORACE": "atexit_sleep_ms=0",
	} {
		x.env[name] = value
	}
	return x
}

func quoted(t *testing.T, text string) string {
	t.Helper()
	raw, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// command makes a command of one of the programs.
func (x *hostileFixture) command(program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(x.t.Context(), program, args...)
	cmd.Dir = x.directory
	for _, name := range slices.Sorted(maps.Keys(x.env)) {
		cmd.Env = append(cmd.Env, name+"="+x.env[name])
	}
	return cmd
}

// onTerminal starts a command whose output goes to a terminal, and returns the terminal's other side.
func onTerminal(t *testing.T, cmd *exec.Cmd) io.Reader {
	t.Helper()
	screen, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = screen.Close() })
	for _, stream := range []*io.Writer{&cmd.Stdout, &cmd.Stderr} {
		if *stream == nil {
			*stream = tty
		}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = tty.Close() // the command has it
	return screen
}

// run runs a line and returns its output. On a terminal both streams are one.
func (x *hostileFixture) run(line commandLine, terminal bool) (stdout, stderr string) {
	x.t.Helper()
	fill := strings.NewReplacer("V", hostileText, "U", hostileID, "ID", x.redemption, "API", x.api)
	args := strings.Fields(line.line)
	for i, arg := range args {
		switch {
		case arg == `""`:
			args[i] = ""
		case !strings.HasPrefix(arg, "--") || strings.Contains(arg, "V"):
			args[i] = fill.Replace(arg)
		}
	}
	cmd := x.command(line.program, args...)
	cmd.Stdin = strings.NewReader(fill.Replace(line.input))
	var out, messages watched
	out.until, out.reached = line.until, func() { _ = cmd.Process.Signal(syscall.SIGINT) }
	if terminal {
		_, _ = io.Copy(&out, onTerminal(x.t, cmd)) // returns an error when the terminal is closed
	} else {
		cmd.Stdout, cmd.Stderr = &out, &messages
		if err := cmd.Start(); err != nil {
			x.t.Fatal(err)
		}
	}
	if err := cmd.Wait(); err != nil && cmd.ProcessState == nil {
		x.t.Fatal(err)
	}
	if code := cmd.ProcessState.ExitCode(); line.holds && code != 0 && !strings.Contains(line.line, "error(") {
		x.t.Errorf("%s %s: exit code %d\n%s%s", line.program, line.line, code, out.String(), messages.String())
	}
	if terminal {
		return strings.ReplaceAll(out.String(), "\r\n", "\n"), ""
	}
	return out.String(), messages.String()
}

// watched is a buffer that calls reached when it contains a text.
type watched struct {
	mu      sync.Mutex
	text    bytes.Buffer
	until   string
	reached func()
}

func (w *watched) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.Write(text)
	if w.until != "" && strings.Contains(w.text.String(), w.until) {
		w.until = ""
		w.reached()
	}
	return len(text), nil
}

func (w *watched) String() string { return w.text.String() }
