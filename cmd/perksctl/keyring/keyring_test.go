//go:build keyring

// These tests log in through a real keyring, over a bus and in a home folder of their own. `make keyring` runs them.
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

// ownBus names the variable that tells the path of perksctl to a test that has a bus of its own.
const ownBus = "PERKS_TEST_OWN_BUS"

// underOwnBus runs the test once more in a process of its own, whose bus ends with it and whose home is empty, so that it
// cannot find the keyring of whoever runs it. It is false where that has been done, and the test is to begin.
func underOwnBus(t *testing.T) bool {
	t.Helper()
	if os.Getenv(ownBus) != "" {
		return false
	}
	for _, program := range []string{"dbus-run-session", "gnome-keyring-daemon"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("this test needs %s, which is not installed here: install the packages dbus and gnome-keyring", program)
		}
	}
	program := filepath.Join(t.TempDir(), "perksctl")
	if output, err := exec.Command("go", "build", "-o", program, "example.com/perks/cmd/perksctl").CombinedOutput(); err != nil {
		t.Fatalf("building perksctl: %v\n%s", err, output)
	}
	home := t.TempDir()
	cmd := exec.Command("dbus-run-session", "--", os.Args[0], "-test.v", "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), ownBus+"="+program, "HOME="+home, "XDG_DATA_HOME="+home, "XDG_CACHE_HOME="+home, "XDG_RUNTIME_DIR="+home,
		"DISPLAY=", "WAYLAND_DISPLAY=")
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, output)
	}
	return true
}

// unlock starts the keyring with a password, which sets it up. The daemon ends with the bus.
func unlock(t *testing.T) {
	t.Helper()
	cmd := exec.Command("gnome-keyring-daemon", "--unlock", "--components=secrets")
	cmd.Stdin = strings.NewReader("the password of a test")
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("starting the keyring: %v\n%s", err, output)
	}
}

// computer is a configuration folder, and perksctl as people run it.
type computer struct {
	t       *testing.T
	program string
	folder  string
	env     []string
}

func newComputer(t *testing.T) *computer {
	return &computer{t, os.Getenv(ownBus), filepath.Join(t.TempDir(), "config"), nil}
}

// run returns what the command wrote and its exit code.
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

// want runs a command that has to succeed and to write the texts.
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

// filesWith lists the files of the configuration that hold the text.
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

	// A secret of the file moves into the keyring.
	c.env = []string{"PERKSCTL_KEYRING=off"}
	c.want(secret, login, "The secret is saved in the file")
	if len(c.filesWith(secret)) != 1 {
		t.Error("the secret is not in the file")
	}
	c.env = nil
	c.want("", "auth status", "secret_in\tfile")
	c.want(secret, login, "The secret is saved in the keyring.")
	if files := c.filesWith(secret); len(files) > 0 {
		t.Errorf("the secret stands in %s", files)
	}

	// Commands find it there.
	c.want("", "auth status", "secret_in\tkeyring", "api_url\t"+server.URL, "perks:redeem")
	c.deleteTokens()
	c.want("", "perk list --output id")
	c.want("", "profile list", "\tkeyring")
	c.want("", "doctor", "The keyring answers. The secret is in the keyring.")

	// Without the bus, the kept token suffices; after it, the secret is missed.
	c.env = []string{"DBUS_SESSION_BUS_ADDRESS=unix:path=" + filepath.Join(t.TempDir(), "none")}
	c.want("", "perk list --output id")
	c.deleteTokens()
	if output, code := c.run("", "perk", "list"); code != 4 || !strings.Contains(output, "there is no keyring here. Unlock or start") {
		t.Errorf("exit code %d\n%s", code, output)
	}
	c.env = nil

	c.want("", "auth logout", "deleted the secret in the keyring")
	if output, code := c.run("", "perk", "list"); code != 4 || !strings.Contains(output, "Not logged in at "+server.URL) {
		t.Errorf("exit code %d\n%s", code, output)
	}
	c.want(secret, login, "The secret is saved in the keyring.")
	c.want("", "profile delete default --yes", "with the secret in the keyring and the token")
	if files := c.filesWith(id); len(files) > 0 {
		t.Errorf("the client stands in %s still", files)
	}
}

func TestKeyringThatNobodyHasSetUp(t *testing.T) {
	if underOwnBus(t) {
		return
	}
	server := servertest.Start(t)
	id, secret := server.Client()
	c := newComputer(t)
	c.want(secret, "auth login --secret-stdin --api-url "+server.URL+" --client-id "+id, "There is no keyring here; the secret is saved in the file")
	c.deleteTokens()
	c.want("", "auth status", "secret_in\tfile")
	c.want("", "auth logout", "deleted the secret in the file and the token")
}

// TestKeyringThatHangs has a bus that takes connections and then says nothing, as on computers without a screen.
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
	began := time.Now()
	c.want(secret, "auth login --secret-stdin --api-url "+server.URL+" --client-id "+id, "The keyring does not answer; the secret is saved in the file")
	if took := time.Since(began); took < 3*time.Second || took > 5*time.Second {
		t.Errorf("the login took %s, want the 3 s for the keyring and little more", took)
	}
	c.deleteTokens()
	began = time.Now()
	c.want("", "auth status", "secret_in\tfile")
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("the status took %s, though the secret is not in the keyring", took)
	}
}
