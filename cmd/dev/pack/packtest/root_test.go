//go:build package

// Package packtest tests what is in bin/release: it installs each kind of package into a directory, and runs the
// installed programs there. `make release-test` runs it, as root, because it gives files to a user of that directory.
package packtest

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// repository is where the packages were built.
const repository = "../../../.."

func TestMain(m *testing.M) {
	if os.Getuid() != 0 {
		fmt.Fprintln(os.Stderr,
			"the packages are installed into a directory with files of several users: run this as root")
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// root is a directory into which packages are installed, like the root of a machine.
type root struct {
	t         *testing.T
	directory string
}

func newRoot(t *testing.T) *root {
	t.Helper()
	directory, err := os.MkdirTemp("", "perks-root-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(directory) })
	r := &root{t, directory}
	r.must(os.Chmod(directory, 0o755))
	for _, name := range []string{"etc", "tmp", "var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers"} {
		r.must(os.MkdirAll(r.path(name), 0o755))
	}
	r.must(os.WriteFile(r.path("var/lib/dpkg/status"), nil, 0o644))
	return r
}

func (r *root) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *root) path(name string) string { return filepath.Join(r.directory, name) }

// dpkg runs dpkg on the directory and returns its output. The machine's systemd makes the user and gives it its files.
func (r *root) dpkg(args ...string) string {
	r.t.Helper()
	common := []string{"--root=" + r.directory, "--force-script-chrootless", "--ignore-depends=systemd"}
	return r.run(exec.Command("dpkg", append(common, args...)...))
}

// run runs a command that has to succeed, and returns all its output.
func (r *root) run(cmd *exec.Cmd) string {
	r.t.Helper()
	said, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, said)
	}
	return string(said)
}

// data runs a command and returns what it prints on stdout alone.
func (r *root) data(cmd *exec.Cmd) string {
	r.t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, stderr.String())
	}
	return string(out)
}

// built is the path of a file for this machine. ARCH in the pattern is how Go calls its processor, MACHINE how the
// kernel does.
func built(t *testing.T, pattern string) string {
	t.Helper()
	machine := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	pattern = strings.NewReplacer("ARCH", runtime.GOARCH, "MACHINE", machine).Replace(pattern)
	found, err := filepath.Glob(filepath.Join(repository, "bin/release", pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("in bin/release are %v for %s; 'make release' builds them", found, pattern)
	}
	return found[0]
}

func serverPackage(t *testing.T) string { return built(t, "perksd_*_ARCH.deb") }
func clientPackage(t *testing.T) string { return built(t, "perksctl_*_ARCH.deb") }

// inside makes a command that runs in the directory as its root, as the user.
func (r *root) inside(uid, gid int, env []string, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Env = env
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: r.directory,
		Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	return cmd
}

// account returns the id of a user or a group there.
func (r *root) account(file, name string) int {
	r.t.Helper()
	text, err := os.ReadFile(r.path(file))
	r.must(err)
	for line := range strings.Lines(string(text)) {
		if fields := strings.Split(strings.TrimSpace(line), ":"); fields[0] == name {
			id, err := strconv.Atoi(fields[2])
			r.must(err)
			return id
		}
	}
	r.t.Fatalf("/%s lacks %s:\n%s", file, name, text)
	return 0
}

// copyPrograms copies programs of this machine, and their libraries, into the directory.
func (r *root) copyPrograms(programs ...string) {
	r.t.Helper()
	for _, program := range programs {
		found, err := exec.LookPath(program)
		r.must(err)
		files := []string{found}
		for _, word := range strings.Fields(r.run(exec.Command("ldd", found))) {
			if strings.HasPrefix(word, "/") {
				files = append(files, word)
			}
		}
		for i, file := range files {
			to := r.path(file)
			if i == 0 {
				to = r.path(filepath.Join("/bin", program))
			}
			r.copy(file, to)
		}
	}
}

func (r *root) copy(from, to string) {
	r.t.Helper()
	r.must(os.MkdirAll(filepath.Dir(to), 0o755))
	in, err := os.Open(from)
	r.must(err)
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	r.must(err)
	_, err = io.Copy(out, in)
	r.must(err)
	r.must(out.Close())
}

// owned returns mode and owners of a file, such as "0640 root:perksd".
func (r *root) owned(name string) string {
	r.t.Helper()
	info, err := os.Lstat(r.path(name))
	r.must(err)
	stat := info.Sys().(*syscall.Stat_t)
	who := func(file string, id uint32) string {
		if id == 0 {
			return "root"
		}
		if int(id) == r.account(file, "perksd") {
			return "perksd"
		}
		return strconv.Itoa(int(id))
	}
	return fmt.Sprintf("%04o %s:%s", info.Mode().Perm(), who("etc/passwd", stat.Uid), who("etc/group", stat.Gid))
}

func (r *root) exists(name string) bool {
	_, err := os.Lstat(r.path(name))
	return err == nil
}

func (r *root) read(name string) string {
	r.t.Helper()
	text, err := os.ReadFile(r.path(name))
	r.must(err)
	return string(text)
}

// overwrite replaces the content of a file, which keeps its mode and owners.
func (r *root) overwrite(name, text string) {
	r.t.Helper()
	r.must(os.WriteFile(r.path(name), []byte(text), 0))
}

// append adds a line to a file, which keeps its mode and owners.
func (r *root) append(name, line string) {
	r.t.Helper()
	file, err := os.OpenFile(r.path(name), os.O_APPEND|os.O_WRONLY, 0)
	r.must(err)
	_, err = fmt.Fprintln(file, line)
	r.must(err)
	r.must(file.Close())
}
