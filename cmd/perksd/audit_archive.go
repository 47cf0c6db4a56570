package main

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"example.com/perks/api/display"
	"example.com/perks/cli/command"
	"example.com/perks/store"
)

// An archive is JSON lines, compressed by gzip: an archiveHeader, entries, an archiveEnd.

type archiveHeader struct {
	Archive string    `json:"archive"` // archiveKind
	Before  time.Time `json:"before"`
}

const archiveKind = "perksd audit 1"

type archiveEnd struct {
	Entries *int64 `json:"entries"`
	SHA256  string `json:"sha256"` // of all lines before
}

// minArchiveAge keeps entries that replays of creations and running upgrades read.
const minArchiveAge = 48 * time.Hour

func (p *program) auditArchiveCommand() *cobra.Command {
	var before string
	cmd := &cobra.Command{
		Use:   "archive --before TIME FILE",
		Short: "Move old entries of the audit log to a file",
		Long: "Move the entries of the audit log from before a time to a new file, while servers run. 'perksd\n" +
			"audit --file FILE' reads it.\n\n" +
			"The file is compressed by gzip, ends with a checksum, and is on the disk before anything is removed.\n" +
			"If the command is interrupted, run it again: it continues with the file that is there. An entry of\n" +
			"the audit log names the file.\n\n" +
			"These stay: redemptions, which the log derives from themselves; the last deletion of each property\n" +
			"that does not live, so that 'perksd property restore' works; resets of a sandbox; and the entries of\n" +
			"earlier archives. TIME must be at least two days ago. Who reads events from a position before an\n" +
			"archived entry is refused, and told to begin anew.\n\n" +
			"SQLite uses the space again; to make the file smaller, restore a backup. PostgreSQL's autovacuum\n" +
			"frees it.",
		Example: "  perksd audit archive --before 2026-01-01 audit-2025.gz\n" +
			"  perksd audit --file audit-2025.gz --subject property/42 -o json",
		Args: command.Exactly("FILE"),
	}
	cmd.Flags().StringVar(&before, "before", "",
		"move entries from before this `TIME`: a day, an instant or an age such as 365d")
	p.sandboxFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		now := p.now()
		at, err := readTime(before, now)
		switch {
		case err != nil:
			return usagef(cmd, "--before %s", err)
		case at.IsZero():
			return usagef(cmd, "--before is missing")
		case at.After(now.Add(-minArchiveAge)):
			return usagef(cmd, "--before must be at least two days ago, because servers still read newer entries")
		}
		return p.withExistingStore(cmd.Context(), func(db store.Store) error {
			return p.archiveAudit(cmd.Context(), db, at, args[0])
		})
	}
	return cmd
}

// archiveAudit writes the file unless it is there, and then removes what it has from the database.
func (p *program) archiveAudit(ctx context.Context, db store.Store, before time.Time, path string) error {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		var written int64
		if written, err = writeArchive(path, before, db.MovableAudit(ctx, before)); err == nil && written == 0 {
			_, err = fmt.Fprintf(p.Out, "No entry from before %s can be archived.\n", timeText(before))
			return err
		}
	}
	if err != nil {
		return err
	}
	a := archive{path: path}
	if err := a.check(); err != nil {
		return err
	}
	if !a.header.Before.Equal(before) {
		return fmt.Errorf("%s is there already, with entries from before %s: name another file, or finish that "+
			"archive with --before %s", path, timeText(a.header.Before), a.header.Before.UTC().Format(time.RFC3339Nano))
	}
	if err := syncArchive(path); err != nil { // an interrupted command may not have
		return err
	}
	archived := store.Archived{
		File: filepath.Base(path), Before: before, Entries: *a.end.Entries, SHA256: a.end.SHA256,
	}
	if err := db.RecordArchive(ctx, archived, p.operator, p.now()); err != nil {
		return err
	}
	var removed int64
	var batch []store.AuditEntry
	size := 0
	remove := func() error {
		n, err := db.RemoveArchived(ctx, batch)
		removed, batch, size = removed+n, nil, 0
		return err
	}
	for entry, err := range a.entries() {
		if err != nil {
			return err
		}
		batch = append(batch, entry)
		if size += len(entry.Before) + len(entry.After); len(batch) == 1000 || size >= maxBuffered {
			if err := remove(); err != nil {
				return err
			}
		}
	}
	if err := remove(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.Out, "Archived %s from before %s in %s; %s removed now.\n",
		display.Plural(archived.Entries, "entry", "entries"), timeText(before), path,
		display.Plural(removed, "entry", "entries"))
	return err
}

// writeArchive writes the entries, if any, to a new file, which has its name only when it is complete and on the disk.
func writeArchive(path string, before time.Time, entries iter.Seq2[store.AuditEntry, error]) (
	written int64, err error) {
	directory, partial := filepath.Dir(path), "."+filepath.Base(path)+".*.partial"
	left, _ := filepath.Glob(filepath.Join(directory, partial)) // by an interrupted command
	for _, name := range left {
		_ = os.Remove(name)
	}
	file, err := os.CreateTemp(directory, partial)
	if err != nil {
		return 0, err
	}
	defer func() {
		err = errors.Join(err, os.Remove(file.Name()))
	}()
	defer file.Close()
	compressed := gzip.NewWriter(file)
	buffered := bufio.NewWriter(compressed)
	sum := sha256.New()
	out := io.MultiWriter(buffered, sum)
	if err := json.NewEncoder(out).Encode(archiveHeader{archiveKind, before.UTC()}); err != nil {
		return 0, err
	}
	for entry, err := range entries {
		if err != nil {
			return 0, err
		}
		encoded, err := store.EncodeArchived(entry)
		if err == nil {
			_, err = out.Write(append(encoded, '\n'))
		}
		if err != nil {
			return 0, err
		}
		written++
	}
	if written == 0 {
		return 0, nil
	}
	err = json.NewEncoder(out).Encode(archiveEnd{&written, hex.EncodeToString(sum.Sum(nil))})
	err = cmp.Or(err, buffered.Flush(), compressed.Close(), file.Sync(), file.Close())
	if err == nil {
		err = os.Link(file.Name(), path) // fails if another command has made it meanwhile
	}
	return written, err
}

// syncArchive returns when the file and its name are on the disk.
func syncArchive(path string) error {
	for _, name := range []string{path, filepath.Dir(path)} {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		if err := errors.Join(file.Sync(), file.Close()); err != nil {
			return err
		}
	}
	return nil
}

// archive is a file of 'perksd audit archive'.
type archive struct {
	path   string
	header archiveHeader
	end    archiveEnd // known after the last entry
}

// check reads the whole file.
func (a *archive) check() error {
	for _, err := range a.entries() {
		if err != nil {
			return err
		}
	}
	return nil
}

// entries reads the file. What it yields before an error is not checked.
func (a *archive) entries() iter.Seq2[store.AuditEntry, error] {
	return func(yield func(store.AuditEntry, error) bool) {
		file, err := os.Open(a.path)
		if err != nil {
			yield(store.AuditEntry{}, err)
			return
		}
		defer file.Close()
		plain, err := gzip.NewReader(bufio.NewReader(file))
		if err == nil {
			err = a.read(bufio.NewReader(plain), yield)
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("it ends too early")
		}
		if err != nil {
			yield(store.AuditEntry{}, fmt.Errorf("%s is not a complete archive of 'perksd audit archive', "+
				"or it is damaged: %w", a.path, err))
		}
	}
}

// read returns nil if yield wants no more.
func (a *archive) read(from *bufio.Reader, yield func(store.AuditEntry, error) bool) error {
	sum := sha256.New() // of all lines before
	text, err := from.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(text, &a.header)
	}
	if err == nil && a.header.Archive != archiveKind {
		err = errors.New("it begins otherwise")
	}
	for entries := int64(0); err == nil; entries++ {
		sum.Write(text)
		if text, err = from.ReadBytes('\n'); err != nil {
			break
		}
		if bytes.HasPrefix(text, []byte(`{"entries":`)) {
			if err := json.Unmarshal(text, &a.end); err != nil {
				return err
			}
			if a.end.Entries == nil || *a.end.Entries != entries || a.end.SHA256 != hex.EncodeToString(sum.Sum(nil)) {
				return errors.New("its checksum is another one")
			}
			if _, err := from.ReadByte(); err != io.EOF {
				return errors.New("something comes after its end")
			}
			return nil
		}
		entry, failure := store.DecodeArchived(text)
		if err = failure; err == nil && !yield(entry, nil) {
			return nil
		}
	}
	return err
}

// archivedAudit returns the matching entries of an archive, oldest first. It checks the whole file first.
func archivedAudit(path string, query store.AuditQuery) iter.Seq2[store.AuditEntry, error] {
	return func(yield func(store.AuditEntry, error) bool) {
		a := archive{path: path}
		if err := a.check(); err != nil {
			yield(store.AuditEntry{}, err)
			return
		}
		var last []store.AuditEntry
		for entry, err := range a.entries() {
			switch {
			case err != nil:
				yield(entry, err)
				return
			case !query.Matches(entry):
			case query.Last > 0:
				last = append(last[max(0, len(last)+1-query.Last):], entry)
			case !yield(entry, nil):
				return
			}
		}
		for _, entry := range last {
			if !yield(entry, nil) {
				return
			}
		}
	}
}
