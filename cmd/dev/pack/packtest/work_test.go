//go:build package

package packtest

import (
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/cmd/dev/programs"
)

// nobody is a user who owns nothing.
const nobody = 65534

// TestOneCanWorkWithWhatIsInstalled goes the way of an operator and of one who redeems, with the folder as the whole machine.
func TestOneCanWorkWithWhatIsInstalled(t *testing.T) {
	r := newRoot(t)
	r.dpkg("-i", serverPackage(t), clientPackage(t))
	r.borrow("sh", "id", "setpriv", "awk", "sed", "tail")
	uid, gid := r.account("etc/passwd", "perksd"), r.account("etc/group", "perksd")

	r.append(settings, "PERKSD_ADDR=127.0.0.1:0")
	operate := func(args ...string) string {
		t.Helper()
		return r.data(r.inside(0, 0, []string{"PATH=/bin:/usr/bin"}, "/usr/sbin/perksd-operate", args...))
	}
	var client struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	r.must(json.Unmarshal([]byte(operate("client", "create", "--name", "My team", "-o", "json")), &client))
	operate("demo-data", "--perks", "20", "--users", "3", "--properties", "2", "--owner", client.ID)
	if got := r.owned("var/lib/perksd/perks.db"); got != "0600 perksd:perksd" {
		t.Errorf("the database is %s", got)
	}

	// As perksd.service has it: the user, the folder, the variables, and where to say that it is ready.
	supervisor, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: r.path("notify"), Net: "unixgram"})
	r.must(err)
	defer supervisor.Close()
	r.must(os.Chmod(r.path("notify"), 0o777))
	r.must(supervisor.SetDeadline(time.Now().Add(time.Minute)))
	env := []string{"NOTIFY_SOCKET=/notify"}
	for line := range strings.Lines(r.read(settings)) {
		if !strings.HasPrefix(line, "#") && strings.Contains(line, "=") {
			env = append(env, strings.TrimSpace(line))
		}
	}
	server := r.inside(uid, gid, env, "/usr/bin/perksd", "serve")
	server.Dir = "/var/lib/perksd"
	log, stderr := io.Pipe()
	server.Stderr = stderr
	r.must(server.Start())
	ended := make(chan error, 1)
	go func() { ended <- server.Wait(); stderr.Close() }()
	t.Cleanup(func() { server.Process.Kill() })
	said := programs.Follow(t, log)
	url := said.WaitForURL(t)
	ready := make([]byte, 100)
	if n, err := supervisor.Read(ready); err != nil || string(ready[:n]) != "READY=1" {
		t.Errorf("the supervisor is told %q, %v", ready[:n], err)
	}

	r.must(os.Mkdir(r.path("home"), 0o755))
	r.must(os.Chown(r.path("home"), nobody, nobody))
	perksctl := func(args ...string) string {
		t.Helper()
		env := []string{"HOME=/home", "PERKSCTL_CONFIG_DIR=/home/perksctl", "PERKSCTL_API_URL=" + url + "/v2", "PERKSCTL_CLIENT_ID=" + client.ID, "PERKSCTL_CLIENT_SECRET=" + client.Secret}
		return r.data(r.inside(nobody, nobody, env, "/usr/bin/perksctl", args...))
	}
	var perks []struct {
		ID string `json:"id"`
	}
	r.must(json.Unmarshal([]byte(perksctl("perk", "list", "--all", "-o", "json")), &perks))
	if len(perks) == 0 {
		t.Error("there are no perks")
	}
	if listing := perksctl("property", "get", "1", "-o", "json"); !strings.Contains(listing, "propertyId") {
		t.Errorf("a property is %s", listing)
	}

	r.must(server.Process.Signal(syscall.SIGTERM))
	if err := <-ended; err != nil {
		t.Errorf("perksd ends with %v:\n%s", err, said.Rest())
	}
}

func TestBothProgramsTellTheCommitThatTheyWereBuiltFrom(t *testing.T) {
	r := newRoot(t)
	r.dpkg("-i", serverPackage(t), clientPackage(t))
	git := func(args ...string) string {
		t.Helper()
		return strings.TrimSpace(r.data(exec.Command("git", append([]string{"-C", repository}, args...)...)))
	}
	want := api.BuildInfo{Commit: git("rev-parse", "HEAD"), Modified: git("status", "--porcelain") != ""}
	committed, err := time.Parse(time.RFC3339, git("log", "-1", "--format=%cI"))
	r.must(err)
	want.Date = committed.UTC().Format(time.RFC3339)
	for _, program := range []string{"perksd", "perksctl"} {
		var told api.BuildInfo
		r.must(json.Unmarshal([]byte(r.data(exec.Command(r.path("usr/bin/"+program), "version", "-o", "json"))), &told))
		line := strings.TrimSpace(r.data(exec.Command(r.path("usr/bin/"+program), "version")))
		if line != told.Line(program) || !strings.Contains(line, told.Commit[:12]) {
			t.Errorf("for people %s says %q, for programs %+v", program, line, told)
		}
		want.Version, want.Go, want.OS, want.Arch = told.Version, told.Go, told.OS, told.Arch
		if told != want || told.Version == "" || told.Version == "dev" {
			t.Errorf("%s tells %+v, want %+v", program, told, want)
		}
	}
}
