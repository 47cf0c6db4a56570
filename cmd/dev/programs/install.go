// Package programs runs the real perksd and perksctl for tests, the demo, the benchmarks and the pictures: over databases of
// their own, in an environment that nothing else on the machine reaches.
//
// It knows the programs' command lines and HTTP addresses, and nothing of how either is made.
package programs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

// folder holds the program while Main runs.
var folder string

// Main runs a package's tests. Its TestMain has to call it, so that the program is built once for all of them and removed
// in the end.
func Main(m *testing.M) { os.Exit(Tests{m}.Run()) }

// Tests is Main for a TestMain that has more to do and ends the process itself.
type Tests struct{ Of *testing.M }

// Run runs the tests and returns their exit code.
func (t Tests) Run() int {
	var err error
	if folder, err = os.MkdirTemp("", "perksd-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	return t.Of.Run()
}

// built is the program's path. Who asks first builds it.
var built = sync.OnceValues(func() (path string, err error) {
	// go test takes a result from its cache unless a file that the test has read is another now. It sees what this process
	// reads, and not what a compiler does.
	if _, err := os.ReadDir(sources()); err != nil {
		return "", err
	}
	path = filepath.Join(folder, "perksd")
	if output, err := exec.Command("go", "build", "-o", path, "example.com/perks/cmd/perksd").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building perksd: %w\n%s", err, output)
	}
	return path, nil
})

// sources is the folder of the program's source, above the one of this file.
func sources() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..", "perksd")
}

// Installation is perksd over one database.
type Installation struct {
	Environment []string // what its commands find beside the address of the database, each as NAME=VALUE

	t       testing.TB
	program string
	address string // of the database
	disk    *Disk  // that the program sees, or nil
}

// Install gives perksd an empty database of the kind that the environment variable PERKS_TEST_DATABASE names.
func Install(t testing.TB) *Installation {
	t.Helper()
	return InstallOver(t, servertest.DatabaseAddress(t))
}

// InstallOver gives perksd the database at an address.
func InstallOver(t testing.TB, address string) *Installation {
	t.Helper()
	program, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return &Installation{t: t, program: program, address: address}
}

// InstallOn gives perksd the SQLite file perks.db on a disk.
func InstallOn(t testing.TB, disk *Disk) *Installation {
	t.Helper()
	i := InstallOver(t, "sqlite:"+filepath.Join(disk.Folder, "perks.db"))
	i.disk = disk
	return i
}

// Command is a command line of perksd over the database, with nothing in its environment but what it was given.
func (i *Installation) Command(args ...string) *exec.Cmd {
	cmd := exec.Command(i.program, args...)
	if i.disk != nil {
		cmd = i.disk.Command(i.program, args...)
	}
	cmd.Env = append([]string{"PERKSD_DATABASE=" + i.address}, i.Environment...)
	return cmd
}

// Must runs a command with an input and returns its output.
func (i *Installation) Must(stdin string, args ...string) string {
	i.t.Helper()
	cmd := i.Command(args...)
	cmd.Stdin = strings.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if err != nil {
		i.t.Fatalf("perksd %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(output)
}

// Refuses runs a command that has to fail with a text in what it says.
func (i *Installation) Refuses(text string, args ...string) {
	i.t.Helper()
	output, err := i.Command(args...).CombinedOutput()
	if err == nil || !strings.Contains(string(output), text) {
		i.t.Errorf("perksd %s: %v, want a refusal with %q\n%s", strings.Join(args, " "), err, text, output)
	}
}

// ImportCSV imports records of a kind.
func (i *Installation) ImportCSV(kind, text string) {
	i.t.Helper()
	i.Must(text, "import", kind, "--format", "csv", "-")
}

// Client makes a client with all scopes and returns its id and secret.
func (i *Installation) Client(name string) (id, secret string) {
	i.t.Helper()
	var created struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	if err := json.Unmarshal([]byte(i.Must("", "client", "create", "--name", name, "-o", "json")), &created); err != nil {
		i.t.Fatal(err)
	}
	return created.ID, created.Secret
}

// Redemptions reads the database, beside servers that may be running.
func (i *Installation) Redemptions() []store.RedemptionRecord {
	i.t.Helper()
	var all []store.RedemptionRecord
	for line := range strings.Lines(i.Must("", "export", "redemptions", "-o", "jsonl")) {
		var r store.RedemptionRecord
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			i.t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}
