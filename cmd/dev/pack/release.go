package main

import (
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"example.com/perks/cmd/dev/programs"
)

const (
	built   = "bin"         // make release has put the programs here, OS_ARCH/, and the manual pages, man/
	staged  = "bin/stage"   // intermediate files
	results = "bin/release" // what people install

	stagedDocuments = staged + "/documents"
)

// documents are the files and directories that people get to read and copy from. They link to each other, so all of
// them go everywhere.
var documents = []string{"CHANGELOG.md", "README.md", "api/openapi.yaml", "deploy", "docs"}

// formats are the packages that nfpm makes, each with how it names architectures.
var formats = []struct {
	name    string
	version func(versions) string
	archs   map[string]string // where they differ from Go's
}{
	{"deb", func(v versions) string { return v.debian }, nil},
	{"rpm", func(v versions) string { return v.debian }, map[string]string{"amd64": "x86_64", "arm64": "aarch64"}},
	{"apk", func(v versions) string { return v.alpine }, map[string]string{"amd64": "x86_64", "arm64": "aarch64"}},
}

// release makes everything that people install, and the file with the sums.
func release(ctx context.Context, v versions, date time.Time, platforms []platform) error {
	if err := errors.Join(os.RemoveAll(staged), os.RemoveAll(results)); err != nil {
		return err
	}
	if err := stage(ctx, date, platforms); err != nil {
		return err
	}
	if err := os.MkdirAll(results, 0o755); err != nil {
		return err
	}
	var servers []platform
	for _, p := range platforms {
		for _, program := range p.programs() {
			if err := materials(ctx, program, v, p); err != nil {
				return err
			}
		}
		if err := archive("perksctl", v, p, clients, date); err != nil {
			return err
		}
		if p.os != "linux" {
			continue
		}
		servers = append(servers, p)
		if err := archive("perks", v, p, shipped, date); err != nil {
			return err
		}
		for _, program := range packaged {
			if err := packages(ctx, program, v, p); err != nil {
				return err
			}
		}
	}
	if servers != nil {
		if err := image(ctx, v, servers); err != nil {
			return err
		}
	}
	return writeSums(results)
}

// stage prepares the files that several packages share.
func stage(ctx context.Context, date time.Time, platforms []platform) error {
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
	if err := errors.Join(stageScripts(date), stageDocuments(ctx)); err != nil {
		return err
	}
	for _, p := range platforms {
		for _, program := range p.programs() {
			file := licencesOf(program, p.os)
			if _, err := os.Stat(file); err == nil {
				continue // another architecture has the same
			}
			text, err := copyright(ctx, program, p.os)
			if err == nil {
				err = write(file, text)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// stageScripts copies the scripts of Alpine's package, because nfpm gives them the times of their files.
func stageScripts(date time.Time) error {
	scripts, err := filepath.Glob("cmd/perksd/package/alpine/*-*")
	if err != nil {
		return err
	}
	for _, script := range scripts {
		text, err := os.ReadFile(script)
		if err != nil {
			return err
		}
		to := filepath.Join(staged, "alpine", filepath.Base(script))
		if err := errors.Join(write(to, string(text)), os.Chtimes(to, date, date)); err != nil {
			return err
		}
	}
	return nil
}

// stageDocuments copies what git keeps of the documents, because a person's secrets may lie in deploy.
func stageDocuments(ctx context.Context) error {
	args := append([]string{"ls-files", "-z", "--"}, documents...)
	list, err := programs.Output(exec.CommandContext(ctx, "git", args...))
	if err != nil {
		return err
	}
	for file := range strings.SplitSeq(strings.TrimSuffix(list, "\x00"), "\x00") {
		text, err := os.ReadFile(file)
		if err := errors.Join(err, write(filepath.Join(stagedDocuments, file), string(text))); err != nil {
			return err
		}
	}
	return nil
}

func programsFor(p platform) string { return filepath.Join(built, p.String()) }
func licencesOf(program, system string) string {
	return filepath.Join(staged, "licences", system, program)
}

// packages makes a program's package in each format.
func packages(ctx context.Context, program string, v versions, p platform) error {
	for _, format := range formats {
		version, arch := format.version(v), cmp.Or(format.archs[p.arch], p.arch)
		cmd, err := tool(ctx, "nfpm", "package", "--config", filepath.Join("cmd", program, "package", "nfpm.yaml"),
			"--packager", format.name,
			"--target", filepath.Join(results, fmt.Sprintf("%s_%s_%s.%s", program, version, arch, format.name)))
		if err != nil {
			return err
		}
		cmd.Env = append(os.Environ(), "VERSION="+version, "ARCH="+p.arch, "PROGRAMS="+programsFor(p), "STAGE="+staged)
		if _, err := programs.Output(cmd); err != nil {
			return err
		}
	}
	return nil
}

// image makes the image of a container that runs perksd.
func image(ctx context.Context, v versions, platforms []platform) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	args := []string{v.plain, filepath.Join(root, results, "perksd_"+v.plain+"_image.tar"),
		filepath.Join(root, licencesOf("perksd", "linux"))}
	for _, p := range platforms {
		args = append(args, p.arch+"="+filepath.Join(root, programsFor(p), "perksd"))
	}
	cmd, err := tool(ctx, "image", args...)
	if err != nil {
		return err
	}
	_, err = programs.Output(cmd)
	return err
}

// compressAll writes each file of a directory, such as perksd.8, into another one as perksd.8.gz.
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
		if err := errors.Join(err, out.Close(),
			write(filepath.Join(to, entry.Name()+".gz"), small.String())); err != nil {
			return err
		}
	}
	return nil
}

// writeSums writes SHA256SUMS, for sha256sum --check.
func writeSums(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), entry.Name())
	}
	return write(filepath.Join(dir, "SHA256SUMS"), sums.String())
}

func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
