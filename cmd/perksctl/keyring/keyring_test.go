//go:build keyring

// These tests log in with a real keyring, on their own bus and with their own home folder. `make keyring` runs them.
package keyring_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

// ownBus is the variable with the path of perksctl for a test that has its own bus.
const ownBus = "PERKS_TEST_OWN_BUS"

// underOwnBus runs the test again in a process with its own bus and an empty home, so that it cannot find the
// developer's keyring. It returns false in that process, where the test must run.
func underOwnBus(t *testing.T) bool {
	t.Helper()
	if os.Getenv(ownBus) != "" {
		return false
	}
	for _, program := range []string{"dbus-run-session", "gnome-keyring-daemon"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("this test needs %s, which is not installed here: install the packages dbus and gnome-keyring",
				program)
		}
	}
	program := filepath.Join(t.TempDir(), "perksctl")
	if output, err := exec.Command("go", "build", "-o", program,
		"example.com/perks/cmd/perksctl").CombinedOutput(); err != nil {
		t.Fatalf("building perksctl: %v\n%s", err, output)
	}
	home := t.TempDir()
	cmd := exec.Command("dbus-run-session", "--", os.Args[0], "-test.v", "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), ownBus+"="+program, "HOME="+home, "XDG_DATA_HOME="+home, "XDG_CACHE_HOME="+home,
		"XDG_RUNTIME_DIR="+home,
		"DISPLAY=", "WAYLAND_DISPLAY=")
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, output)
	}
	return true
}

// unlock starts the keyring with a password, which sets it up. The daemon exits with the bus.
func unlock(t *testing.T) {
	t.Helper()
	cmd := exec.Command("gnome-keyring-daemon", "--unlock", "--components=secrets")
	cmd.Stdin = strings.NewReader("the password of a test")
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("starting the keyring: %v\n%s", err, output)
	}
}

// computer is a configuration folder with a perksctl program.
type computer struct {
	t       *testing.T
	program string
	folder  string
	env     []string
}

func newComputer(t *testing.T) *computer {
	return &computer{t, os.Getenv(ownBus), filepath.Join(t.TempDir(), "config"), nil}
}

// run returns the command's output and exit code.
func (c *computer) run(input string, words ...string) (output string, code int) {
	c.t.Helper()
	cmd := exec.Command(c.program, words...)
	cmd.Stdin = strings.NewReader(input)
	cmd.Env = append(append(os.Environ(), "PERKSCTL_CONFIG_DIR="+c.folder), c.env...)
	text, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		c.t.Fatal(err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// want runs a command, and fails the test unless it succeeds and writes the texts.
func (c *computer) want(input, command string, texts ...string) {
	c.t.Helper()
	output, code := c.run(input, strings.Fields(command)...)
	if code != 0 {
		c.t.Fatalf("perksctl %s: exit code %d\n%s", command, code, output)
	}
	for _, text := range texts {
		if !strings.Contains(output, text) {
			c.t.Errorf("perksctl %s did not write %q:\n%s", command, text, output)
		}
	}
}

// filesWith lists the configuration files that have the text.
func (c *computer) filesWith(text string) []string {
	c.t.Helper()
	var found []string
	err := filepath.WalkDir(c.folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if strings.Contains(string(content), text) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return found
}

func (c *computer) deleteTokens() {
	c.t.Helper()
	if err := os.RemoveAll(filepath.Join(c.folder, "tokens")); err != nil {
		c.t.Fatal(err)
	}
}

func TestKeyring(t *testing.T) {
	if underOwnBus(t) {
		return
	}
	unlock(t)
	server := servertest.Start(t)
	server.ImportPerks(store.PerkRecord{})
	id, secret := server.Client()
	c := newComputer(t)
	login := "auth login --secret-stdin --api-url " + server.URL + " --client-id " + id

	// A secret in the file moves to the keyring.
	c.env = []string{"PERKSCTL_KEYRING=off"}
	c.want(secret, login, "The secret is saved in the file")
	if len(c.filesWith(secret)) != 1 {
		t.Error("the secret is not in the file")
	}
	c.env = nil
	c.want("", "auth status", "secret_in\tfile")
	c.want(secret, login, "The secret is saved in the keyring.")
	if files := c.filesWith(secret); len(files) > 0 {
		t.Errorf("the secret is in %s", files)
	}

	// Commands read it from the keyring.
	c.want("", "auth status", "secret_in\tkeyring", "api_url\t"+server.URL, "perks:redeem")
	c.deleteTokens()
	c.want("", "perk list --output id")
	c.want("", "profile list", "\tkeyring")
	c.want("", "doctor", "The keyring responds. The secret is in the keyring.")

	// Without the bus, the saved token suffices; without the token, the secret is missing.
	c.env = []string{"DBUS_SESSION_BUS_ADDRESS=unix:path=" + filepath.Join(t.TempDir(), "none")}
	c.want("", "perk list --output id")
	c.deleteTokens()
	if output, code := c.run("", "perk", "list"); code != 4 ||
		!strings.Contains(output, "there is no keyring here. Unlock or start") {
		t.Errorf("exit code %d\n%s", code, output)
	}
	c.env = nil

	c.want("", "auth logout", "deleted the secret in the keyring")
	if output, code := c.run("", "perk", "list"); code != 4 ||
		!strings.Contains(output, "Not logged in at "+server.URL) {
		t.Errorf("exit code %d\n%s", code, output)
	}
	c.want(secret, login, "The secret is saved in the keyring.")
	c.want("", "profile delete default --yes", "with the secret in the keyring and the token")
	if files := c.filesWith(id); len(files) > 0 {
		t.Errorf("the client is still in %s", files)
	}
}

func TestKeyringThatIsNotSetUp(t *testing.T) {
	if underOwnBus(t) {
		return
	}
	server := servertest.Start(t)
	id, secret := server.Client()
	c := newComputer(t)
	c.want(secret, "auth login --secret-stdin --api-url "+server.URL+" --client-id "+id,
		"There is no keyring here; the secret is saved in the file")
	c.deleteTokens()
	c.want("", "auth status", "secret_in\tfile")
	c.want("", "auth logout", "deleted the secret in the file and the token")
}

// TestKeyringThatHangs has a bus that accepts connections but never replies, as on computers without a screen.
func TestKeyringThatHangs(t *testing.T) {
	if underOwnBus(t) {
		return
	}
	bus := filepath.Join(t.TempDir(), "bus")
	listener, err := net.Listen("unix", bus)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	server := servertest.Start(t)
	id, secret := server.Client()
	c := newComputer(t)
	c.env = []string{"DBUS_SESSION_BUS_ADDRESS=unix:path=" + bus}
	start := time.Now()
	c.want(secret, "auth login --secret-stdin --api-url "+server.URL+" --client-id "+id,
		"The keyring does not respond; the secret is saved in the file")
	if took := time.Since(start); took < 3*time.Second || took > 5*time.Second {
		t.Errorf("the login took %s, want 3 s to 5 s", took)
	}
	c.deleteTokens()
	start = time.Now()
	c.want("", "auth status", "secret_in\tfile")
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("the status took %s, but the secret is not in the keyring", took)
	}
}
