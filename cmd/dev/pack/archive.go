package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// item is a file of the archive: where it lies, and where it goes.
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
	for _, program := range programs {
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

// writeSums writes SHA256SUMS, by which sha256sum --check finds what was changed on the way.
func writeSums(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, entry := range entries {
		file, err := os.Open(filepath.Join(folder, entry.Name()))
		if err != nil {
			return err
		}
		sum := sha256.New()
		_, err = io.Copy(sum, file)
		if err := errors.Join(err, file.Close()); err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sum.Sum(nil), entry.Name())
	}
	return write(filepath.Join(folder, "SHA256SUMS"), sums.String())
}
