// Command pack makes of built programs what people install: manual pages, Debian packages, an archive, and the sums to check
// them by. It also knows under which licences everything may be used that the programs are built with.
//
// make package builds the programs, manual pages and scripts first and says which version they are. pack knows where these lie,
// and nothing of what the programs do.
package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/perks/cmd/dev/programs"
)

const usage = "usage: pack packages VERSION ARCH... | pack licences | pack version VERSION"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 1 && args[0] == "licences":
		return listLicences(ctx)
	case len(args) > 2 && args[0] == "packages", len(args) == 2 && args[0] == "version":
		// Every file in the packages has the time of the commit, so that one commit always makes the same bytes.
		date, err := dateOf(os.Getenv("SOURCE_DATE_EPOCH"))
		if err != nil {
			return err
		}
		version, err := debianVersion(args[1], date)
		if err != nil {
			return err
		}
		if args[0] == "packages" {
			return packages(ctx, version, date, args[2:])
		}
		fmt.Println(version)
		return nil
	}
	return errors.New(usage)
}

// dateOf reads the commit's date from SOURCE_DATE_EPOCH.
func dateOf(epoch string) (time.Time, error) {
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH must be the commit's date in seconds since 1970, not %q", epoch)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// tool is a command line of a tool whose version .ci/tools keeps, which go builds when it is not there yet.
func tool(ctx context.Context, name string, args ...string) (*exec.Cmd, error) {
	path, err := programs.Output(exec.CommandContext(ctx, "go", "-C", ".ci/tools", "tool", "-n", name))
	if err != nil {
		return nil, err
	}
	return exec.CommandContext(ctx, strings.TrimSpace(path), args...), nil
}

var (
	// described is what git describe says of a commit behind a tag: the tag, how many commits behind it, which commit.
	described = regexp.MustCompile(`^(.+)-([0-9]+)-(g[0-9a-f]+)$`)
	released  = regexp.MustCompile(`^v?([0-9]+(?:\.[0-9]+)+)(?:-(.+))?$`)
	allowed   = regexp.MustCompile(`^[A-Za-z0-9.+~]+$`)
)

// debianVersion converts a version of git describe to one that Debian sorts correctly: a candidate before its release (~), a
// commit after a release behind it (+). Without a tag the commit's date decides.
func debianVersion(version string, date time.Time) (string, error) {
	rest, dirty := strings.CutSuffix(version, "-dirty")
	behind := ""
	if parts := described.FindStringSubmatch(rest); parts != nil {
		rest, behind = parts[1], "+"+parts[2]+"."+parts[3]
	}
	made := "0~" + date.Format("20060102150405") + "." + strings.ReplaceAll(rest, "-", ".")
	if parts := released.FindStringSubmatch(rest); parts != nil {
		made = parts[1]
		if parts[2] != "" {
			made += "~" + strings.ReplaceAll(parts[2], "-", ".")
		}
	}
	made += behind
	if dirty {
		made += "+dirty"
	}
	if version == "" || !allowed.MatchString(made) {
		return "", fmt.Errorf("%q cannot be the version of a package: letters, digits, '.', '-' and '+' are allowed", version)
	}
	return made, nil
}

// item is a file of the archive: its source and its path there.
type item struct {
	from, to string
	mode     int64
}

// items are the files of the archive in their order.
func items(arch string) ([]item, error) {
	list := []item{
		{"README.md", "README.md", 0o644},
		{"cmd/perksd/package/perksd.service", "systemd/perksd.service", 0o644},
		{"cmd/perksd/package/sysusers.conf", "systemd/sysusers.d/perksd.conf", 0o644},
		{"cmd/perksd/package/tmpfiles.conf", "systemd/tmpfiles.d/perksd.conf", 0o644},
		{"cmd/perksd/package/perksd.env", "etc/perksd/perksd.env", 0o644},
		{"cmd/perksd/package/perksd-operate", "sbin/perksd-operate", 0o755},
	}
	for _, program := range shipped {
		list = append(list, item{filepath.Join(programsFor(arch), program), "bin/" + program, 0o755})
	}
	for _, folder := range []struct{ from, to string }{
		{"completions", "completions"}, {staged + "/completions", "completions"}, {staged + "/licences", "licences"},
		{staged + "/man/man1", "man/man1"}, {staged + "/man/man8", "man/man8"},
	} {
		entries, err := os.ReadDir(folder.from)
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			list = append(list, item{filepath.Join(folder.from, entry.Name()), folder.to + "/" + entry.Name(), 0o644})
		}
	}
	documents, err := filepath.Glob("docs/*.md")
	if err != nil {
		return nil, err
	}
	for _, document := range documents {
		list = append(list, item{document, document, 0o644})
	}
	slices.SortFunc(list, func(a, b item) int { return strings.Compare(a.to, b.to) })
	return list, nil
}

// archive writes perks_VERSION_linux_ARCH.tar.gz, everything in one folder of the same name.
func archive(version, arch string, date time.Time) (err error) {
	list, err := items(arch)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("perks_%s_linux_%s", version, arch)
	file, err := os.Create(filepath.Join(results, name+".tar.gz"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	// Without a name and a time of its own the compressed stream is the same each time.
	squeezed, err := gzip.NewWriterLevel(file, gzip.BestCompression)
	if err != nil {
		return err
	}
	out := tar.NewWriter(squeezed)
	for _, i := range list {
		content, err := os.ReadFile(i.from)
		if err != nil {
			return err
		}
		header := &tar.Header{Name: name + "/" + i.to, Mode: i.mode, Size: int64(len(content)), ModTime: date, Uname: "root", Gname: "root", Format: tar.FormatPAX}
		if err := out.WriteHeader(header); err != nil {
			return err
		}
		if _, err := out.Write(content); err != nil {
			return err
		}
	}
	return errors.Join(out.Close(), squeezed.Close())
}

// compressAll writes each file of a folder, such as perksd.8, into another one as perksd.8.gz.
func compressAll(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(from, entry.Name()))
		if err != nil {
			return err
		}
		var small strings.Builder
		out, err := gzip.NewWriterLevel(&small, gzip.BestCompression)
		if err != nil {
			return err
		}
		_, err = out.Write(content)
		if err := errors.Join(err, out.Close(), write(filepath.Join(to, entry.Name()+".gz"), small.String())); err != nil {
			return err
		}
	}
	return nil
}

// writeSums writes SHA256SUMS, for sha256sum --check.
func writeSums(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), entry.Name())
	}
	return write(filepath.Join(folder, "SHA256SUMS"), sums.String())
}

const (
	built   = "bin"         // make package has put the programs here, linux_ARCH/, and the manual pages, man/
	staged  = "bin/stage"   // intermediate files
	results = "bin/package" // what people install
)

// packages makes the packages and the archive of each architecture, and the file with their sums.
func packages(ctx context.Context, version string, date time.Time, archs []string) error {
	if err := errors.Join(os.RemoveAll(staged), os.RemoveAll(results)); err != nil {
		return err
	}
	if err := stage(ctx); err != nil {
		return err
	}
	if err := os.MkdirAll(results, 0o755); err != nil {
		return err
	}
	for _, arch := range archs {
		for _, program := range shipped {
			if err := debianPackage(ctx, program, version, arch); err != nil {
				return err
			}
		}
		if err := archive(version, arch, date); err != nil {
			return err
		}
	}
	return writeSums(results)
}

// stage prepares the files that are the same for all architectures.
func stage(ctx context.Context) error {
	for _, section := range []string{"man1", "man8"} {
		if err := compressAll(filepath.Join(built, "man", section), filepath.Join(staged, "man", section)); err != nil {
			return err
		}
	}
	for shell, name := range map[string]string{"bash": "perksd.bash", "zsh": "_perksd", "fish": "perksd.fish"} {
		script, err := programs.Output(exec.CommandContext(ctx, filepath.Join(built, "perksd"), "completion", shell))
		if err == nil {
			err = write(filepath.Join(staged, "completions", name), script)
		}
		if err != nil {
			return err
		}
	}
	for _, program := range shipped {
		text, err := copyright(ctx, program)
		if err == nil {
			err = write(filepath.Join(staged, "licences", program), text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

func programsFor(arch string) string { return filepath.Join(built, "linux_"+arch) }

func debianPackage(ctx context.Context, program, version, arch string) error {
	cmd, err := tool(ctx, "nfpm", "package", "--config", filepath.Join("cmd", program, "package", "nfpm.yaml"), "--packager", "deb",
		"--target", filepath.Join(results, fmt.Sprintf("%s_%s_%s.deb", program, version, arch)))
	if err != nil {
		return err
	}
	cmd.Env = append(os.Environ(), "VERSION="+version, "ARCH="+arch, "PROGRAMS="+programsFor(arch), "STAGE="+staged)
	_, err = programs.Output(cmd)
	return err
}
