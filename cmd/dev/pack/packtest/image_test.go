//go:build package

package packtest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// containerUser is the user that the image names.
const containerUser = 65532

// container is the image for this machine, unpacked by skopeo and tar.
type container struct {
	*root
	config struct {
		User         string
		Env          []string
		Entrypoint   []string
		Cmd          []string
		WorkingDir   string
		Volumes      map[string]struct{}
		ExposedPorts map[string]struct{}
		StopSignal   string
		Labels       map[string]string
		Healthcheck  struct{ Test []string }
	}
	network int // the process whose network it has; 0 is one of its own
}

func unpackImage(t *testing.T) *container {
	c := &container{root: newRoot(t)}
	layers := t.TempDir()
	c.run(exec.Command("skopeo", "--insecure-policy", "copy", "--quiet", "oci-archive:"+built(t, "perksd_*_image.tar"),
		"dir:"+layers))
	var manifest struct {
		Config struct{ Digest string }
		Layers []struct{ Digest string }
	}
	blob := func(digest string) string { return filepath.Join(layers, strings.TrimPrefix(digest, "sha256:")) }
	c.decode(filepath.Join(layers, "manifest.json"), &manifest)
	var image struct{ Config any }
	image.Config = &c.config
	c.decode(blob(manifest.Config.Digest), &image)
	c.must(os.RemoveAll(c.directory))
	c.must(os.Mkdir(c.directory, 0o755))
	for _, layer := range manifest.Layers {
		c.run(exec.Command("tar", "-C", c.directory, "--numeric-owner", "--same-owner", "-xzpf", blob(layer.Digest)))
	}
	return c
}

func (r *root) decode(file string, into any) {
	r.t.Helper()
	text, err := os.ReadFile(file)
	r.must(err)
	r.must(json.Unmarshal(text, into))
}

// command runs a program of the image as a container does: as its user without any right, with its variables, on a root
// that cannot be written to, with a directory for each volume.
func (c *container) command(env []string, args ...string) *exec.Cmd {
	sandbox := []string{"setpriv", "--reuid=65532", "--regid=65532", "--clear-groups", "--inh-caps=-all",
		"--bounding-set=-all",
		"bwrap", "--ro-bind", c.directory, "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--chdir",
		c.config.WorkingDir,
		"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--as-pid-1", "--die-with-parent",
		"--clearenv", "--info-fd", "3"}
	for volume := range c.config.Volumes {
		sandbox = append(sandbox, "--bind", c.path(volume), volume)
	}
	for _, variable := range append(c.config.Env, env...) {
		name, value, _ := strings.Cut(variable, "=")
		sandbox = append(sandbox, "--setenv", name, value)
	}
	if c.network != 0 {
		sandbox = append([]string{"nsenter", "--target", fmt.Sprint(c.network), "--net"}, sandbox...)
	} else {
		sandbox = append(sandbox, "--unshare-net")
	}
	sandbox = append(sandbox, "--")
	cmd := exec.Command(sandbox[0], append(sandbox[1:], args...)...)
	cmd.Dir = "/"
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	c.must(err)
	c.t.Cleanup(func() { null.Close() })
	cmd.ExtraFiles = []*os.File{null}
	return cmd
}

// TestTheImageServesAFirstRedemption runs the image with its own settings, behind a proxy that is not there.
func TestTheImageServesAFirstRedemption(t *testing.T) {
	c := unpackImage(t)
	for _, name := range []string{"dev", "proc"} { // which whoever runs a container adds
		c.must(os.Mkdir(c.path(name), 0o755))
	}
	account := setUp(t, func(input string, args ...string) string {
		t.Helper()
		cmd := c.command(nil, append(c.config.Entrypoint, args...)...)
		cmd.Stdin = strings.NewReader(input)
		return c.data(cmd)
	})
	refused, err := c.command(nil, append(c.config.Entrypoint, c.config.Cmd...)...).CombinedOutput()
	if err == nil || !strings.Contains(string(refused), "perksd does not serve plain HTTP on :8080") {
		t.Errorf("without a certificate or a proxy: %v %s", err, refused)
	}

	server := c.command([]string{"PERKSD_BEHIND_PROXY=true"}, append(c.config.Entrypoint, c.config.Cmd...)...)
	about, told, err := os.Pipe()
	c.must(err)
	server.ExtraFiles = []*os.File{told}
	said, stop := startAndFollow(t, server, func() int { return c.network })
	c.must(told.Close())
	var process struct {
		ID int `json:"child-pid"`
	}
	c.must(json.NewDecoder(about).Decode(&process))
	c.network = process.ID
	said.WaitFor(t, "listening on http://[::]:8080")
	if got, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.network)); err != nil ||
		!strings.Contains(string(got), fmt.Sprintf("Uid:\t%d\t%[1]d\t%[1]d\t%[1]d\n", containerUser)) {
		t.Errorf("perksd runs as %v\n%s", err, got)
	}

	health := c.config.Healthcheck.Test
	if len(health) < 2 || health[0] != "CMD" {
		t.Fatalf("the health check is %q", health)
	}
	if said := c.data(c.command(nil, health[1:]...)); said != "ready\n" {
		t.Errorf("the health check says %q", said)
	}
	client := &root{t, t.TempDir()}
	client.run(exec.Command("tar", "-C", client.directory, "--strip-components=1", "-xzf",
		built(t, "perksctl_*_linux_ARCH.tar.gz")))
	redeemOnce(t, func(args ...string) string {
		t.Helper()
		cmd := exec.Command("nsenter", append([]string{"--target", fmt.Sprint(c.network), "--net",
			client.path("bin/perksctl")}, args...)...)
		cmd.Env = append(account.environment("http://127.0.0.1:8080"), "PERKSCTL_CONFIG_DIR="+client.path("settings"))
		return client.data(cmd)
	})
	if err := stop(); err != nil {
		t.Errorf("after SIGTERM perksd exits with %v:\n%s", err, said.Rest())
	}
}

func TestTheImageHasWhatAContainerNeedsAndNoMore(t *testing.T) {
	c := unpackImage(t)
	var files []string
	c.must(filepath.WalkDir(c.directory, func(path string, _ os.DirEntry, err error) error {
		if err == nil && path != c.directory {
			owned := c.run(exec.Command("stat", "--format=%a %u:%g", path))
			files = append(files, strings.TrimPrefix(path, c.directory)+" "+owned)
		}
		return err
	}))
	want := `/data 700 65532:65532
/etc 755 0:0
/etc/group 644 0:0
/etc/passwd 644 0:0
/etc/ssl 755 0:0
/etc/ssl/certs 755 0:0
/etc/ssl/certs/ca-certificates.crt 644 0:0
/tmp 1777 0:0
/usr 755 0:0
/usr/bin 755 0:0
/usr/bin/perksd 755 0:0
/usr/share 755 0:0
/usr/share/doc 755 0:0
/usr/share/doc/perksd 755 0:0
/usr/share/doc/perksd/copyright 644 0:0
`
	if diff := cmp.Diff(want, strings.Join(files, "")); diff != "" {
		t.Errorf("the files differ (-want +got):\n%s", diff)
	}
	if authorities := strings.Count(c.read("etc/ssl/certs/ca-certificates.crt"),
		"BEGIN CERTIFICATE"); authorities < 100 {
		t.Errorf("it trusts %d authorities", authorities)
	}
	if !strings.Contains(c.read("usr/share/doc/perksd/copyright"), "Mozilla's list (MPL-2.0)") {
		t.Error("the terms of the certificates are missing")
	}
	config := fmt.Sprintln(c.config.User, c.config.Entrypoint, c.config.Cmd, c.config.WorkingDir, c.config.Volumes,
		c.config.ExposedPorts, c.config.StopSignal)
	if config != "65532:65532 [/usr/bin/perksd] [serve] /data map[/data:{}] map[8080/tcp:{}] SIGTERM\n" {
		t.Errorf("the configuration is %s", config)
	}
	commit := strings.TrimSpace(c.data(exec.Command("git", "-C", repository, "rev-parse", "HEAD")))
	if c.config.Labels["org.opencontainers.image.revision"] != commit ||
		c.config.Labels["org.opencontainers.image.version"] == "" {
		t.Errorf("the labels are %v", c.config.Labels)
	}
}

// TestTheImageCanBeReadInEachWay names it as those do that read the index, and as Docker did before it read that.
func TestTheImageCanBeReadInEachWay(t *testing.T) {
	r := &root{t, t.TempDir()}
	file := built(t, "perksd_*_image.tar")
	tag := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "perksd_"), "_image.tar")
	servers, err := filepath.Glob(filepath.Join(repository, "bin/release/perksd_*.deb"))
	r.must(err)
	for _, server := range servers {
		arch := strings.TrimSuffix(server[strings.LastIndex(server, "_")+1:], ".deb")
		for _, name := range []string{"oci-archive:" + file, "docker-archive:" + file + ":perksd:" + tag + "-" + arch} {
			var image struct{ Architecture string }
			r.must(json.Unmarshal([]byte(r.data(exec.Command("skopeo", "inspect", "--override-arch", arch,
				"--override-os", "linux", "--config", name))), &image))
			if image.Architecture != arch {
				t.Errorf("%s is for %s", name, image.Architecture)
			}
		}
	}
}
