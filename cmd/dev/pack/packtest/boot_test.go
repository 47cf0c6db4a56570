//go:build package

package packtest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/perks/server/servertest"
)

// TestTheServiceRunsUnderSystemd starts systemd in namespaces, on a temporary copy of this machine.
func TestTheServiceRunsUnderSystemd(t *testing.T) {
	// Not in TMPDIR, which may be in /dev/shm: RemoveIPC= removes what belongs to the service's user there.
	directory, err := os.MkdirTemp("/var/tmp", "perks-boot-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(directory) })
	r := &root{t, directory}
	r.copy(serverPackage(t), r.path("perksd.deb"))
	r.copy(clientPackage(t), r.path("perksctl.deb"))
	for _, script := range []string{"boot.sh", "drive.sh", "odd.env"} {
		r.copy(filepath.Join("testdata", script), r.path(script))
	}
	authority := servertest.NewAuthority(t, "Packages")
	server := authority.Issue()
	r.must(os.WriteFile(r.path("fullchain.pem"), server.Cert, 0o600))
	r.must(os.WriteFile(r.path("privkey.pem"), server.Key, 0o600))
	r.must(os.WriteFile(r.path("authority.pem"), authority.PEM(), 0o600))

	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	boot := exec.CommandContext(ctx, "unshare", "--mount", "--pid", "--fork", "--kill-child", "--uts", "--ipc", "--net",
		"--cgroup", "sh", r.path("boot.sh"), r.directory)
	if said, err := boot.CombinedOutput(); !r.exists("drive.log") {
		t.Fatalf("systemd did not start: %v\n%s", err, said)
	}
	var said []string
	for line := range strings.Lines(r.read("drive.log")) {
		if line, ours := strings.CutPrefix(line, "== "); ours {
			said = append(said, strings.TrimSpace(line))
		}
	}
	want := []string{
		"after installing: inactive disabled",
		"a client was made",
		"odd settings: read as systemd does",
		"after starting: active",
		"protections: Uid:perksdperksdperksdperksd CapBnd:0000000000000000 NoNewPrivs:1 Seccomp:2",
		"perks that are listed: 5",
		"after reloading: active the same process",
		"in the log: 1 reload",
		"after the upgrade: active another process",
		"restarts by itself: 0",
		"after it was killed: active",
		"after stopping: inactive success",
		"after the removal: inactive no process",
		"what is left: /etc/perksd/tls: fullchain.pem privkey.pem /var/lib/perksd: perks.db",
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("the steps differ (-want +got):\n%s\n%s", diff, r.read("drive.log"))
	}
}
