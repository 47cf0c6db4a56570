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

// nobody is an unprivileged user.
const nobody = 65534

// TestTheInstalledProgramsWork follows the steps of an operator and of a client, in the folder alone.
func TestTheInstalledProgramsWork(t *testing.T) {
	r := newRoot(t)
	r.dpkg("-i", serverPackage(t), clientPackage(t))
	r.copyPrograms("sh", "id", "setpriv", "awk", "sed", "tail")
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

	// As in perksd.service: the user, the folder, the variables, and the socket for readiness.
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
	done := make(chan error, 1)
	go func() { done <- server.Wait(); stderr.Close() }()
	t.Cleanup(func() { server.Process.Kill() })
	said := programs.Follow(t, log)
	url := said.WaitForURL(t)
	ready := make([]byte, 100)
	if n, err := supervisor.Read(ready); err != nil || string(ready[:n]) != "READY=1" {
		t.Errorf("the supervisor got %q, %v", ready[:n], err)
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
	if err := <-done; err != nil {
		t.Errorf("perksd exits with %v:\n%s", err, said.Rest())
	}
}

func TestBothProgramsReportTheirCommit(t *testing.T) {
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
		var reported api.BuildInfo
		r.must(json.Unmarshal([]byte(r.data(exec.Command(r.path("usr/bin/"+program), "version", "-o", "json"))), &reported))
		line := strings.TrimSpace(r.data(exec.Command(r.path("usr/bin/"+program), "version")))
		if line != reported.Line(program) || !strings.Contains(line, reported.Commit[:12]) {
			t.Errorf("%s prints %q as text, and %+v as JSON", program, line, reported)
		}
		want.Version, want.Go, want.OS, want.Arch = reported.Version, reported.Go, reported.OS, reported.Arch
		if reported != want || reported.Version == "" || reported.Version == "dev" {
			t.Errorf("%s reports %+v, want %+v", program, reported, want)
		}
	}
}
