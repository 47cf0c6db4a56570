package cli_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"example.com/perks/api"
	"example.com/perks/cli"
	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"perksctl": func() { os.Exit(cli.Main(os.Args[1:], command.SystemStreams(), session.Environment())) },
	})
}

// TestScripts runs commands as separate processes against the real server. Each script has its own server with the data
// of seed, and these commands in addition to those of testscript:
//
//	exits CODE command...   the command must exit with this code
//	log-in                  logs in as the owner of property 42
//	stop-server             stops the server at $API_URL
//	remember NAME           sets the variable to what the last command wrote to stdout
//	no-secrets FILE...      the files have neither $SECRET nor $OTHER_SECRET nor a token
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			server := servertest.Start(t)
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
			"exits":  exits,
			"log-in": logIn,
			"stop-server": func(ts *testscript.TestScript, _ bool,
				_ []string) {
				ts.Value("server").(*servertest.Server).Stop()
			},
			"remember": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
			},
			"no-secrets": noSecrets,
		},
		RequireUniqueNames: true,
	})
}

// seed adds data to a server and returns the variables of scripts.
func seed(server *servertest.Server) map[string]string {
	owner, secret := server.Client()
	other, otherSecret := server.Client()
	reader, readerSecret := server.Client(api.ScopePerksRead)
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
	}
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE command...")
	}
	want, err := strconv.Atoi(args[0])
	if err != nil {
		ts.Fatalf("%q is not an exit code", args[0])
	}
	got := 0
	var failed *exec.ExitError
	err = ts.Exec(args[1], args[2:]...)
	if errors.As(err, &failed) {
		got = failed.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func logIn(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Setenv("PERKSCTL_CLIENT_SECRET", ts.Getenv("SECRET"))
	ts.Check(ts.Exec("perksctl", "auth", "login", "--api-url", ts.Getenv("API_URL"), "--client-id",
		ts.Getenv("CLIENT")))
	ts.Setenv("PERKSCTL_CLIENT_SECRET", "")
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
