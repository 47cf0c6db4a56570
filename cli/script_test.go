package cli_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/rogpeppe/go-internal/testscript"

	"example.com/perks/api"
	"example.com/perks/cli"
	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
	"example.com/perks/cmd/dev/programs"
	"example.com/perks/server"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

func TestMain(m *testing.M) {
	testscript.Main(programs.Tests{Of: m}, map[string]func(){
		"perksctl": func() { os.Exit(cli.Main(os.Args[1:], command.SystemStreams(), session.Environment())) },
		"types":    types,
	})
}

// types is a program that runs another one on a terminal of 100 columns, and types its first argument, where \n is the
// enter key. After that the input ends.
func types() {
	open := func() (screen, tty *os.File) {
		screen, tty, err := pty.Open()
		if err != nil {
			panic(err)
		}
		stty := exec.Command("stty", "-echo", "-opost", "cols", "100")
		stty.Stdin = tty
		if err := stty.Run(); err != nil {
			panic(err)
		}
		return screen, tty
	}
	keyboard, in := open()
	screen, out := open()
	cmd := exec.Command(os.Args[2], os.Args[3:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, in
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	in.Close()
	out.Close()
	const end = "\x04"
	_, _ = keyboard.WriteString(strings.ReplaceAll(os.Args[1], `\n`, "\n") + end + end)
	var copies sync.WaitGroup
	copies.Go(func() { _, _ = io.Copy(os.Stderr, keyboard) }) // both end when the program does
	copies.Go(func() { _, _ = io.Copy(os.Stdout, screen) })
	copies.Wait()
	_ = cmd.Wait()
	os.Exit(cmd.ProcessState.ExitCode())
}

// TestScripts runs commands as separate processes against the real server. Each script has its own server with the data
// of seed, and these commands in addition to those of testscript:
//
//	exits CODE command...   the command must exit with this code
//	fails TEXT argument...  perksctl must fail, and say this without a word of a library
//	completes WORD... = ... perksctl completes the last word to these values and directive
//	serve FILE              starts the server of another implementation, and makes it the service of perksctl
//	types KEYS command...   runs the command on a terminal, and types the keys, \n for enter
//	log-in                  logs in as the owner of property 42
//	stop-server             stops the server at $API_URL
//	remember NAME           sets the variable to what the last command wrote to stdout
//	receive SECRET FILE STATUS  starts a receiver of webhooks; see there
//	no-secrets FILE...      the files have neither $SECRET nor $OTHER_SECRET nor a token
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			if !hasRaceDetector() { // the real program starts in a third of the time of this one, which has the server
				perksctl, err := programs.Perksctl()
				if err != nil {
					return err
				}
				env.Setenv("PATH", filepath.Dir(perksctl)+string(filepath.ListSeparator)+env.Getenv("PATH"))
			}
			server := servertest.Start(t, func(c *server.Config) {
				c.SearchMetadata = []string{"ticket", "till"}
				c.FourEyes = strings.HasSuffix(env.WorkDir, "-foureyes") // in that script
			})
			env.Values["server"] = server
			for name, value := range seed(server) {
				env.Setenv(name, value)
			}
			env.Setenv("PERKSCTL_CONFIG_DIR", filepath.Join(env.WorkDir, "config"))
			env.Setenv("CR", "\r")
			env.Setenv("PERKSCTL_KEYRING", "off")     // tests must not use the developer's keyring
			env.Setenv("GORACE", "atexit_sleep_ms=0") // the race detector delays every exit by a second
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":     programs.Exits,
			"fails":     fails,
			"completes": completes,
			"serve":     serve,
			"log-in":    logIn,
			"stop-server": func(ts *testscript.TestScript, _ bool, _ []string) {
				ts.Value("server").(*servertest.Server).Stop()
			},
			"remember": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
			},
			"no-secrets": noSecrets,
			"indexed":    indexed,
			"receive":    receive,
		},
		RequireUniqueNames: true,
	})
}

// hasRaceDetector tells whether this program was built with the race detector.
func hasRaceDetector() bool {
	info, _ := debug.ReadBuildInfo()
	return info != nil && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// seed adds data to a server and returns the variables of scripts.
func seed(server *servertest.Server) map[string]string {
	owner, secret := server.Client()
	other, otherSecret := server.Client()
	reader, readerSecret := server.Client(api.ScopePerksRead)
	naming, namingSecret := server.ClientWith(func(c *store.Client) { c.NamesActors = true })
	image := "https://img.example.com/1.jpg"
	food, arts := "Food & Drink", "Arts"
	long := time.Date(2035, 6, 1, 0, 0, 0, 0, time.UTC)
	past := time.Date(2020, 6, 1, 0, 0, 0, 0, time.UTC)
	lat, lng := 52.52, 13.405
	none := int64(0)
	server.ImportPerks(
		store.PerkRecord{Perk: api.Perk{ID: "coffee", Title: "Coffee for two", Category: &food, ValidTo: &long},
			Lat: &lat, Lng: &lng},
		store.PerkRecord{Perk: api.Perk{ID: "museum", Title: "=Museum night", Category: &arts, ImageURL: &image,
			City: "Paris"}},
		store.PerkRecord{Perk: api.Perk{ID: "spa-day", Title: "Spa \x1b[31mday", City: "Paris"},
			Approval: store.ApprovalManual},
		store.PerkRecord{Perk: api.Perk{ID: "sold-out", Title: "Last ticket"}, Stock: &none},
		store.PerkRecord{Perk: api.Perk{ID: "expired", Title: "Old news", ValidTo: &past}},
	)
	server.ImportSandboxPerks(store.PerkRecord{Perk: api.Perk{ID: "try-me", Title: "Only in the sandbox"}})
	server.ImportUsers("alice", "bob")
	price, _ := api.ParsePrice("250.00")
	flat := api.Property{ID: 42, Title: "Flat", City: "Leeds", Postcode: "LS1", PricePW: price, Bedrooms: 1,
		Bathrooms: 1, Images: []string{}}
	second := flat
	second.ID, second.Title = 43, "House"
	server.ImportProperties(owner, flat, second)
	castle := flat
	castle.ID, castle.Title = 99, "Castle"
	server.ImportProperties(other, castle)
	return map[string]string{
		"API_URL": server.URL, "CLIENT": owner, "SECRET": secret,
		"OTHER_CLIENT": other, "OTHER_SECRET": otherSecret,
		"READER": reader, "READER_SECRET": readerSecret,
		"NAMING": naming, "NAMING_SECRET": namingSecret,
	}
}

func fails(ts *testscript.TestScript, _ bool, args []string) {
	if ts.Exec("perksctl", args[1:]...) == nil {
		ts.Fatalf("it succeeds")
	}
	message := ts.ReadFile("stderr")
	if !strings.Contains(message, args[0]) {
		ts.Fatalf("it does not say %q", args[0])
	}
	if found := librariesWords.FindString(message); found != "" {
		ts.Fatalf("it says %q", found)
	}
}

func completes(ts *testscript.TestScript, _ bool, args []string) {
	words := slices.Index(args, "=")
	ts.Check(ts.Exec("perksctl", append([]string{"__complete"}, args[:words]...)...))
	message, _ := strings.CutPrefix(ts.ReadFile("stderr"), "Completion ended with directive: ")
	if strings.Count(message, "\n") != 1 {
		ts.Fatalf("it writes a message")
	}
	if got := strings.Split(strings.TrimSuffix(ts.ReadFile("stdout"), "\n"), "\n"); !slices.Equal(got, args[words+1:]) {
		ts.Fatalf("got %q", got)
	}
}

// serve starts a server without any code of ours. Each line of the file is a method, a path below /v2, perhaps with
// what the query or headers must be, a status, perhaps with an ETag behind a comma, and a body. The status "lost"
// closes the connection without a reply, and "silent" waits. With a line "then FILE" behind it, the routes are those
// of another file from this request on. The file "requests" gets a line for each request.
func serve(ts *testscript.TestScript, _ bool, args []string) {
	routes, requests := ts.MkAbs(args[0]), ts.MkAbs("requests")
	var mu sync.Mutex
	find := func(r *http.Request, body []byte) (found []string, err error) {
		mu.Lock()
		defer mu.Unlock()
		text, err := os.ReadFile(routes) // a script may change it
		lines := strings.Split(string(text), "\n")
		i := slices.IndexFunc(lines, func(line string) bool { return matches(strings.SplitN(line, " ", 4), r) })
		if i >= 0 {
			found = strings.SplitN(lines[i], " ", 4)
			if file, changes := strings.CutPrefix(lines[i+1], "then "); changes {
				routes = ts.MkAbs(file)
			}
		}
		file, openErr := os.OpenFile(requests, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err = errors.Join(err, openErr); err == nil {
			defer file.Close()
			line := r.Method + " " + r.URL.Path + " " + string(body) + " " + r.Header.Get("If-Match")
			_, err = fmt.Fprintln(file, strings.TrimSpace(line))
		}
		return found, err
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		route, err := find(r, body)
		switch {
		case err != nil:
			http.Error(w, err.Error(), http.StatusTeapot)
		case route == nil:
			http.NotFound(w, r)
		default:
			reply(w, r, route)
		}
	}))
	ts.Defer(server.Close)
	ts.Setenv("PERKSCTL_API_URL", server.URL+"/v2")
	ts.Setenv("PERKSCTL_TOKEN", "t")
}

func matches(route []string, r *http.Request) bool {
	if len(route) < 3 {
		return false
	}
	address, err := url.Parse("/v2" + route[1])
	if err != nil || route[0] != r.Method || address.Path != r.URL.Path {
		return false
	}
	for name := range address.Query() {
		if address.Query().Get(name) != cmp.Or(r.URL.Query().Get(name), r.Header.Get(name)) {
			return false
		}
	}
	return true
}

func reply(w http.ResponseWriter, r *http.Request, route []string) {
	switch status := route[2]; status {
	case "lost":
		panic(http.ErrAbortHandler)
	case "silent":
		<-r.Context().Done()
	default:
		status, etag, _ := strings.Cut(status, ",")
		code, _ := strconv.Atoi(status)
		w.Header().Set("Content-Type", "application/json")
		if etag != "" {
			w.Header().Set("ETag", etag)
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, strings.Join(route[3:], ""))
	}
}

func logIn(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Setenv("PERKSCTL_CLIENT_SECRET", ts.Getenv("SECRET"))
	ts.Check(ts.Exec("perksctl", "auth", "login", "--api-url", ts.Getenv("API_URL"), "--client-id",
		ts.Getenv("CLIENT")))
	ts.Setenv("PERKSCTL_CLIENT_SECRET", "")
}

// indexed waits until no list by metadata may lack redemptions.
func indexed(ts *testscript.TestScript, _ bool, _ []string) {
	server := ts.Value("server").(*servertest.Server)
	token := server.Token(api.ScopeRedemptionsRead)
	for isIndexed := false; !isIndexed; {
		response, _ := server.Get(token, server.LiveURL()+"/redemptions?metadata.ticket=1")
		isIndexed = response.Header.Get(api.HeaderIndexed) == ""
	}
}

func noSecrets(ts *testscript.TestScript, _ bool, files []string) {
	for _, file := range files {
		text := []byte(ts.ReadFile(file))
		for _, secret := range []string{ts.Getenv("SECRET"), ts.Getenv("OTHER_SECRET")} {
			if bytes.Contains(text, []byte(secret)) {
				ts.Fatalf("%s has a secret", file)
			}
		}
		if bytes.Contains(text, []byte("eyJ")) { // the start of every JWT
			ts.Fatalf("%s has a token:\n%s", file, text)
		}
	}
}
