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

// machine is a directory in which both programs are installed.
type machine struct {
	*root
	operate string // runs a command of perksd as the service does
	server  *exec.Cmd
	client  string // perksctl
}

// ways are those in which the server gets onto a machine.
var ways = map[string]func(*testing.T) machine{
	"deb": installDebian, "rpm": installRPM, "apk": installAlpine, "archive": installArchive,
}

// TestAFirstRedemptionAfterEachWayToInstall follows the steps of an operator and of a client, in a directory alone.
func TestAFirstRedemptionAfterEachWayToInstall(t *testing.T) {
	for name, install := range ways {
		t.Run(name, func(t *testing.T) {
			m := install(t)
			env := []string{"PATH=/bin:/usr/bin:/usr/sbin"}
			operate := func(input string, args ...string) string {
				t.Helper()
				cmd := m.inside(0, 0, env, m.operate, args...)
				cmd.Stdin = strings.NewReader(input)
				return m.data(cmd)
			}
			m.append(settings, "PERKSD_ADDR=127.0.0.1:0")
			account := setUp(t, operate)
			for name, want := range map[string]string{settings: "0640 root:perksd",
				"etc/perksd/tls": "0750 root:perksd", "var/lib/perksd/perks.db": "0600 perksd:perksd"} {
				if got := m.owned(name); got != want {
					t.Errorf("/%s is %s, want %s", name, got, want)
				}
			}
			said, stop := m.start()
			env = append(account.environment(said.WaitForURL(t)), "HOME=/home", "PERKSCTL_CONFIG_DIR=/home/perksctl")
			m.must(os.Mkdir(m.path("home"), 0o755))
			m.must(os.Chown(m.path("home"), nobody, nobody))
			redeemOnce(t, func(args ...string) string {
				t.Helper()
				return m.data(m.inside(nobody, nobody, env, m.client, args...))
			})
			if err := stop(); err != nil {
				t.Errorf("perksd exits with %v:\n%s", err, said.Rest())
			}
		})
	}
}

func installDebian(t *testing.T) machine {
	r := newRoot(t)
	r.dpkg("-i", serverPackage(t), clientPackage(t))
	r.copyPrograms("sh", "id", "setpriv", "awk", "sed", "tail")
	return r.withService("/usr/sbin/perksd-operate", "/usr/bin/perksctl")
}

// installRPM runs the scripts of the packages in the directory, where rpm changes its root to.
func installRPM(t *testing.T) machine {
	r := newRoot(t)
	r.copyPrograms("sh", "id", "setpriv", "awk", "sed", "tail", "cat", "systemd-sysusers", "systemd-tmpfiles")
	r.must(os.Mkdir(r.path("proc"), 0o755))
	said := r.run(exec.Command("unshare", "--mount", "sh", "-c",
		`mount -t proc proc "$1/proc" && exec rpm --root "$1" --nodeps --nosignature --install "$2" "$3"`, "sh",
		r.directory, built(t, "perksd_*_MACHINE.rpm"), built(t, "perksctl_*_MACHINE.rpm")))
	if !strings.Contains(said, "systemctl enable --now perksd") {
		t.Errorf("the next step is missing:\n%s", said)
	}
	if list := r.run(exec.Command("rpm", "--root", r.directory, "--query", "--configfiles",
		"perksd")); list != "/"+settings+"\n" {
		t.Errorf("the configuration files are %q", list)
	}
	return r.withService("/usr/sbin/perksd-operate", "/usr/bin/perksctl")
}

// installAlpine does what apk does: it unpacks a package, and runs its scripts, with the programs that Alpine has.
func installAlpine(t *testing.T) machine {
	r := newRoot(t)
	r.copyPrograms("setpriv")
	busybox, err := exec.LookPath("busybox")
	r.must(err)
	r.copy(busybox, r.path("bin/busybox"))
	// Debian builds it without these two.
	for name, script := range map[string]string{
		"addgroup": `[ "$*" = "-S perksd" ] && echo perksd:x:101: >>/etc/group`,
		"adduser": `[ "$*" = "-S -D -H -h /var/lib/perksd -s /sbin/nologin -g perks service -G perksd perksd" ] &&` +
			`echo "perksd:x:100:101:perks service:/var/lib/perksd:/sbin/nologin" >>/etc/passwd`,
	} {
		r.must(os.WriteFile(r.path("bin/"+name), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
	}
	for _, name := range []string{"sh", "grep", "mkdir", "chown", "chmod", "cat", "id", "awk", "sed", "tail"} {
		r.must(os.Symlink("busybox", r.path("bin/"+name)))
	}
	r.must(os.WriteFile(r.path("etc/passwd"), []byte("root:x:0:0:root:/root:/bin/sh\n"), 0o644))
	r.must(os.WriteFile(r.path("etc/group"), []byte("root:x:0:root\n"), 0o644))
	for _, name := range []string{"perksd", "perksctl"} {
		file := built(t, name+"_*_MACHINE.apk")
		r.run(exec.Command("tar", "-C", r.directory, "--warning=no-unknown-keyword", "-xzf", file))
		for _, script := range []string{".pre-install", ".post-install"} {
			if r.exists(script) {
				said := r.run(r.inside(0, 0, []string{"PATH=/bin"}, "/"+script, "1"))
				if script == ".post-install" && !strings.Contains(said, "rc-service perksd start") {
					t.Errorf("the next step is missing:\n%s", said)
				}
				r.must(os.Remove(r.path(script)))
			}
		}
	}
	if r.exists(".post-deinstall") {
		t.Error("the package for Alpine has a script of Debian")
	}
	return r.withService("/usr/sbin/perksd-operate", "/usr/bin/perksctl")
}

// installArchive copies the files of the archive to where the unit and perksd-operate expect them.
func installArchive(t *testing.T) machine {
	r := newRoot(t)
	r.run(exec.Command("tar", "-C", r.directory, "--strip-components=1", "--no-same-owner", "-xzf",
		built(t, "perks_*_linux_ARCH.tar.gz")))
	r.copyPrograms("sh", "id", "setpriv", "awk", "sed", "tail")
	r.copy(r.path("bin/perksd"), r.path("usr/bin/perksd"))
	r.run(exec.Command("systemd-sysusers", "--root="+r.directory, r.path("systemd/sysusers.d/perksd.conf")))
	r.run(exec.Command("systemd-tmpfiles", "--root="+r.directory, "--create", r.path("systemd/tmpfiles.d/perksd.conf")))
	return r.withService("/sbin/perksd-operate", "/bin/perksctl")
}

// withService prepares perksd as in perksd.service: the user, the directory, the variables.
func (r *root) withService(operate, client string) machine {
	r.t.Helper()
	server := r.inside(r.account("etc/passwd", "perksd"), r.account("etc/group", "perksd"), nil, "/usr/bin/perksd",
		"serve")
	server.Dir = "/var/lib/perksd"
	return machine{r, operate, server, client}
}

// start starts the service with its settings, and waits until it tells the supervisor that it is ready.
func (m machine) start() (said *programs.Log, stop func() error) {
	m.t.Helper()
	supervisor, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: m.path("notify"), Net: "unixgram"})
	m.must(err)
	defer supervisor.Close()
	m.must(os.Chmod(m.path("notify"), 0o777))
	m.must(supervisor.SetDeadline(time.Now().Add(time.Minute)))
	m.server.Env = []string{"NOTIFY_SOCKET=/notify"}
	for line := range strings.Lines(m.read(settings)) {
		if !strings.HasPrefix(line, "#") && strings.Contains(line, "=") {
			m.server.Env = append(m.server.Env, strings.TrimSpace(line))
		}
	}
	said, stop = startAndFollow(m.t, m.server, func() int { return m.server.Process.Pid })
	ready := make([]byte, 100)
	if n, err := supervisor.Read(ready); err != nil || string(ready[:n]) != "READY=1" {
		m.t.Errorf("the supervisor got %q, %v", ready[:n], err)
	}
	return said, stop
}

// startAndFollow starts a server. The returned function sends SIGTERM to the process of the number, and waits for the
// server's end.
func startAndFollow(t *testing.T, server *exec.Cmd, pid func() int) (said *programs.Log, stop func() error) {
	t.Helper()
	log, stderr := io.Pipe()
	server.Stderr = stderr
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- server.Wait(); stderr.Close() }()
	t.Cleanup(func() { server.Process.Kill() })
	return programs.Follow(t, log), func() error {
		t.Helper()
		if err := syscall.Kill(pid(), syscall.SIGTERM); err != nil {
			return err
		}
		return <-done
	}
}

// credentials are those of a client.
type credentials struct {
	ID     string `json:"client_id"`
	Secret string `json:"client_secret"`
}

func (c credentials) environment(url string) []string {
	return []string{"PERKSCTL_API_URL=" + url + "/v2", "PERKSCTL_CLIENT_ID=" + c.ID,
		"PERKSCTL_CLIENT_SECRET=" + c.Secret}
}

// setUp makes a client, a perk and a user.
func setUp(t *testing.T, operate func(input string, args ...string) string) credentials {
	t.Helper()
	var account credentials
	if err := json.Unmarshal([]byte(operate("", "client", "create", "--name", "My team", "-o", "json")),
		&account); err != nil {
		t.Fatal(err)
	}
	operate("id,title,description,city\ncoffee,Free coffee,One cup,Berlin\n", "import", "perks", "--format", "csv", "-")
	operate("id\nalice\n", "import", "users", "--format", "csv", "-")
	return account
}

// redeemOnce redeems a perk, and finds what was redeemed.
func redeemOnce(t *testing.T, perksctl func(args ...string) string) {
	t.Helper()
	var redeemed []api.Redemption
	for _, command := range []string{"perk redeem coffee --user alice -o json",
		"user perks alice --type redeemed -o json"} {
		text := perksctl(strings.Fields(command)...)
		if !strings.HasPrefix(text, "[") {
			text = "[" + text + "]"
		}
		if err := json.Unmarshal([]byte(text), &redeemed); err != nil || len(redeemed) != 1 ||
			redeemed[0].PerkID != "coffee" || redeemed[0].Status != api.StatusApproved {
			t.Errorf("perksctl %s: %v, %s", command, err, text)
		}
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
		r.must(json.Unmarshal([]byte(r.data(exec.Command(r.path("usr/bin/"+program), "version", "-o", "json"))),
			&reported))
		line := strings.TrimSpace(r.data(exec.Command(r.path("usr/bin/"+program), "version")))
		if line != reported.Line(program) || !strings.Contains(line, want.Commit[:12]) {
			t.Errorf("%s prints %q as text, and %+v as JSON", program, line, reported)
		}
		want.Version, want.Go, want.OS, want.Arch = reported.Version, reported.Go, reported.OS, reported.Arch
		if reported != want || reported.Version == "" || reported.Version == "dev" {
			t.Errorf("%s reports %+v, want %+v", program, reported, want)
		}
	}
}
