package programs

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Disk is a small file system of its own that only the processes started through it see under its path. It is gone with
// the test, or with this process.
type Disk struct {
	Dir string // for programs that are started through Command

	t    testing.TB
	held *exec.Cmd
}

// NewDisk makes one of that many KiB in memory. It takes what the system grants: as root the right to mount, as anyone
// else a user namespace. Where neither is allowed, as in many containers, the test fails and says so.
func NewDisk(t testing.TB, kib int) *Disk {
	t.Helper()
	return newDisk(t, t.TempDir(), kib, nil)
}

// NewDiskOf makes a disk within a directory. It belongs to the directory's owner, who finds it where Path says.
func NewDiskOf(t testing.TB, dir string, kib int) *Disk {
	t.Helper()
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	if owner := info.Sys().(*syscall.Stat_t); int(owner.Uid) != os.Geteuid() {
		return newDisk(t, filepath.Join(dir, "disk"), kib, &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid})
	}
	return newDisk(t, filepath.Join(dir, "disk"), kib, nil)
}

func newDisk(t testing.TB, dir string, kib int, owner *syscall.Credential) *Disk {
	t.Helper()
	d := &Disk{t: t, Dir: dir}
	flags := "-m"
	if os.Geteuid() != 0 || owner != nil {
		flags = "-rm"
	}
	d.held = exec.Command("unshare", flags, "sh", "-c",
		`mkdir -p "$2" && mount -t tmpfs -o size="$1"k perks "$2" && : > "$2/ballast" && echo made && read -r end`,
		"disk", fmt.Sprint(kib), d.Dir)
	d.held.Dir = "/"
	d.held.SysProcAttr = &syscall.SysProcAttr{Credential: owner}
	input, err := d.held.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := d.held.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	d.held.Stderr = &said
	if err := d.held.Start(); err != nil {
		t.Fatalf("a small file system takes the program unshare of util-linux: %v", err)
	}
	t.Cleanup(func() {
		_ = input.Close() // which ends it
		_ = d.held.Wait()
	})
	if line, err := bufio.NewReader(output).ReadString('\n'); line != "made\n" {
		_, _ = io.Copy(io.Discard, output)
		_ = d.held.Wait()
		t.Fatalf("this test needs a small file system of its own: run it as root with the right to mount "+
			"(CAP_SYS_ADMIN in a container), or allow user namespaces to everyone: %v: %s", err, said.String())
	}
	return d
}

// Command has a program see the disk. The process is the program's own.
func (d *Disk) Command(program string, args ...string) *exec.Cmd {
	flags := []string{"--target", fmt.Sprint(d.held.Process.Pid), "--mount"}
	if os.Geteuid() != 0 {
		flags = append(flags, "--user", "--preserve-credentials")
	}
	return exec.Command("nsenter", append(append(flags, program), args...)...)
}

// Path is where this process finds a file of the disk.
func (d *Disk) Path(name string) string {
	return filepath.Join(fmt.Sprintf("/proc/%d/root", d.held.Process.Pid), d.Dir, name)
}

// Fill leaves that many KiB free.
func (d *Disk) Fill(leave int) {
	d.t.Helper()
	ballast, err := os.OpenFile(d.Path("ballast"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		d.t.Fatal(err)
	}
	defer ballast.Close()
	var stat syscall.Statfs_t
	if err := syscall.Fstatfs(int(ballast.Fd()), &stat); err != nil {
		d.t.Fatal(err)
	}
	block := make([]byte, stat.Bsize)
	for left := uint64(leave<<10) / uint64(stat.Bsize); stat.Bavail > left; stat.Bavail-- {
		if _, err := ballast.Write(block); err != nil {
			return // others use the disk too
		}
	}
}

// Free gives back the space that Fill took.
func (d *Disk) Free() {
	d.t.Helper()
	if err := os.Truncate(d.Path("ballast"), 0); err != nil {
		d.t.Fatal(err)
	}
}
