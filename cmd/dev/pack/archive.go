package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// item is a file of an archive: its source and its path there.
type item struct {
	from, to string
	mode     int64
}

// forServers are the files of perksd's archive beside those that both programs have.
var forServers = []item{
	{"cmd/perksd/package/perksd.service", "systemd/perksd.service", 0o644},
	{"cmd/perksd/package/sysusers.conf", "systemd/sysusers.d/perksd.conf", 0o644},
	{"cmd/perksd/package/tmpfiles.conf", "systemd/tmpfiles.d/perksd.conf", 0o644},
	{"cmd/perksd/package/perksd.env", "etc/perksd/perksd.env", 0o644},
	{"cmd/perksd/package/perksd-operate", "sbin/perksd-operate", 0o755},
}

// items are the files of the archive with these programs, in their order.
func items(p platform, archived []string) ([]item, error) {
	var list []item
	err := filepath.WalkDir(stagedDocuments, func(file string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			list = append(list, item{file, strings.TrimPrefix(file, stagedDocuments+"/"), 0o644})
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	patterns := map[string]string{"completions": "completions/*perksctl*"}
	if p.os != "windows" { // where nothing reads manual pages
		patterns["man/man1"] = staged + "/man/man1/*"
	}
	if slices.Contains(archived, "perksd") {
		list = append(list, forServers...)
		patterns["man/man8"] = staged + "/man/man8/*"
		for _, shell := range []string{"_perksd", "perksd.bash", "perksd.fish"} {
			list = append(list, item{staged + "/completions/" + shell, "completions/" + shell, 0o644})
		}
	}
	for _, program := range archived {
		file := program
		if p.os == "windows" {
			file += ".exe"
		}
		list = append(list, item{filepath.Join(programsFor(p), file), "bin/" + file, 0o755},
			item{licencesOf(program, p.os), "licences/" + program, 0o644})
	}
	for dir, pattern := range patterns {
		found, err := filepath.Glob(pattern)
		if err != nil || found == nil {
			return nil, errors.Join(err, errors.New("there is no "+pattern))
		}
		for _, file := range found {
			list = append(list, item{file, filepath.Join(dir, filepath.Base(file)), 0o644})
		}
	}
	slices.SortFunc(list, func(a, b item) int { return strings.Compare(a.to, b.to) })
	return list, nil
}

// archive writes NAME_VERSION_OS_ARCH.tar.gz, or .zip for Windows, everything in one directory of the same name.
func archive(name string, v versions, p platform, archived []string, date time.Time) (err error) {
	list, err := items(p, archived)
	if err != nil {
		return err
	}
	dir := name + "_" + v.plain + "_" + p.String()
	suffix, writeTo := ".tar.gz", writeTar
	if p.os == "windows" {
		suffix, writeTo = ".zip", writeZip
	}
	file, err := os.Create(filepath.Join(results, dir+suffix))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return writeTo(file, dir, list, date)
}

func writeTar(file io.Writer, dir string, list []item, date time.Time) error {
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
		header := &tar.Header{Name: dir + "/" + i.to, Mode: i.mode, Size: int64(len(content)), ModTime: date,
			Uname: "root", Gname: "root", Format: tar.FormatPAX}
		if err := out.WriteHeader(header); err != nil {
			return err
		}
		if _, err := out.Write(content); err != nil {
			return err
		}
	}
	return errors.Join(out.Close(), squeezed.Close())
}

func writeZip(file io.Writer, dir string, list []item, date time.Time) error {
	out := zip.NewWriter(file)
	for _, i := range list {
		content, err := os.ReadFile(i.from)
		if err != nil {
			return err
		}
		header := &zip.FileHeader{Name: dir + "/" + i.to, Method: zip.Deflate, Modified: date}
		header.SetMode(os.FileMode(i.mode))
		entry, err := out.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := entry.Write(content); err != nil {
			return err
		}
	}
	return out.Close()
}
