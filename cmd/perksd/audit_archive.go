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
	"hash"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"example.com/perks/api/display"
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
		Long: "Move the entries of the audit log from before a time to a new file, while servers run.\n" +
			"'perksd audit --file FILE' reads it.\n\n" +
			"The file is compressed by gzip, ends with a checksum, and is on the disk before anything is removed. If the\n" +
			"command is interrupted, run it again: it continues with the file that is there. An entry of the audit log names\n" +
			"the file.\n\n" +
			"These stay: redemptions, which the log derives from themselves; the last deletion of each property that does\n" +
			"not live, so that 'perksd property restore' works; resets of a sandbox; and the entries of earlier archives.\n" +
			"TIME must be at least two days ago. Who reads events from a position before an archived entry is refused, and\n" +
			"told to begin anew.\n\n" +
			"SQLite uses the space again; to make the file smaller, restore a backup. PostgreSQL's autovacuum frees it.",
		Example: "  perksd audit archive --before 2026-01-01 audit-2025.gz\n" +
			"  perksd audit --file audit-2025.gz --subject property/42 -o json",
		Args: arguments("FILE"),
	}
	cmd.Flags().StringVar(&before, "before", "",
		"move entries from before this `TIME`: a day, an instant or an age such as 365d")
	p.sandboxFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		now := p.now()
		at, err := readTime(before, now)
		switch {
		case err != nil:
			return usagef(cmd, "--before %w", err)
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
			_, err = fmt.Fprintf(p.stdout, "No entry from before %s can be archived.\n", timeText(before))
			return err
		}
	}
	if err != nil {
		return err
	}
	archived := store.Archived{File: filepath.Base(path), Before: before}
	end, err := readArchive(path, func(header archiveHeader) error {
		if !header.Before.Equal(before) {
			return fmt.Errorf("%s is there already, with entries from before %s: name another file, or finish that archive "+
				"with --before %s", path, timeText(header.Before), header.Before.UTC().Format(time.RFC3339Nano))
		}
		return nil
	}, func(store.AuditEntry) error { return nil })
	if err != nil {
		return err
	}
	if err := syncArchive(path); err != nil { // an interrupted command may not have
		return err
	}
	archived.Entries, archived.SHA256 = *end.Entries, end.SHA256
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
	if _, err := readArchive(path, nil, func(e store.AuditEntry) error {
		batch = append(batch, e)
		if size += len(e.Before) + len(e.After); len(batch) < 1000 && size < maxBuffered {
			return nil
		}
		return remove()
	}); err != nil {
		return err
	}
	if err := remove(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "Archived %s from before %s in %s; %s removed now.\n",
		display.Plural(archived.Entries, "entry", "entries"), timeText(before), path,
		display.Plural(removed, "entry", "entries"))
	return err
}

// writeArchive writes the entries to a new file, unless there are none. The file has its name only when it is complete
// and on the disk.
func writeArchive(path string, before time.Time, entries iter.Seq2[store.AuditEntry, error]) (
	written int64, err error) {
	folder, partial := filepath.Dir(path), "."+filepath.Base(path)+".*.partial"
	left, _ := filepath.Glob(filepath.Join(folder, partial)) // by an interrupted command
	for _, name := range left {
		_ = os.Remove(name)
	}
	file, err := os.CreateTemp(folder, partial)
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
	line := func(record any, encoded []byte) error {
		if encoded == nil {
			var err error
			if encoded, err = json.Marshal(record); err != nil {
				return err
			}
		}
		encoded = append(encoded, '\n')
		sum.Write(encoded)
		_, err := buffered.Write(encoded)
		return err
	}
	if err := line(archiveHeader{archiveKind, before.UTC()}, nil); err != nil {
		return 0, err
	}
	for entry, err := range entries {
		if err != nil {
			return 0, err
		}
		encoded, err := store.EncodeArchived(entry)
		if err == nil {
			err = line(nil, encoded)
		}
		if err != nil {
			return 0, err
		}
		written++
	}
	if written == 0 {
		return 0, nil
	}
	err = line(archiveEnd{&written, hex.EncodeToString(sum.Sum(nil))}, nil)
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

// readArchive checks the header, passes each entry on, and checks the end. What it has passed on before it fails is not
// checked.
func readArchive(path string, check func(archiveHeader) error, each func(store.AuditEntry) error) (
	end archiveEnd, err error) {
	damaged := func(what error) error {
		if errors.Is(what, io.EOF) || errors.Is(what, io.ErrUnexpectedEOF) {
			what = errors.New("it ends too early")
		}
		return fmt.Errorf("%s is not a complete archive of 'perksd audit archive', or it is damaged: %w", path, what)
	}
	file, err := os.Open(path)
	if err != nil {
		return end, err
	}
	defer file.Close()
	plain, err := gzip.NewReader(bufio.NewReader(file))
	if err != nil {
		return end, damaged(err)
	}
	lines := archiveLines{bufio.NewReader(plain), sha256.New()}
	text, _, err := lines.next()
	var header archiveHeader
	if err == nil {
		err = json.Unmarshal(text, &header)
	}
	if err == nil && header.Archive != archiveKind {
		err = errors.New("it begins otherwise")
	}
	if err != nil {
		return end, damaged(err)
	}
	if check != nil {
		if err := check(header); err != nil {
			return end, err
		}
	}
	for entries := int64(0); ; entries++ {
		text, sum, err := lines.next()
		if err != nil {
			return end, damaged(err)
		}
		if bytes.HasPrefix(text, []byte(`{"entries":`)) {
			err = json.Unmarshal(text, &end)
			if err == nil && (end.Entries == nil || *end.Entries != entries || end.SHA256 != sum) {
				err = errors.New("its checksum is another one")
			}
			if err == nil {
				if _, _, after := lines.next(); after != io.EOF {
					err = errors.New("something comes after its end")
				}
			}
			if err != nil {
				return end, damaged(err)
			}
			return end, nil
		}
		entry, err := store.DecodeArchived(text)
		if err != nil {
			return end, damaged(err)
		}
		if err := each(entry); err != nil {
			return end, err
		}
	}
}

type archiveLines struct {
	from *bufio.Reader
	sum  hash.Hash
}

// next returns a line, and the sum of all before it.
func (l archiveLines) next() (text []byte, sum string, err error) {
	sum = hex.EncodeToString(l.sum.Sum(nil))
	text, err = l.from.ReadBytes('\n')
	if err == io.EOF && len(text) > 0 {
		err = io.ErrUnexpectedEOF
	}
	l.sum.Write(text)
	return text, sum, err
}

// archivedAudit returns the matching entries of an archive, oldest first. It checks the whole file first.
func archivedAudit(path string, query store.AuditQuery) iter.Seq2[store.AuditEntry, error] {
	return func(yield func(store.AuditEntry, error) bool) {
		if _, err := readArchive(path, nil, func(store.AuditEntry) error { return nil }); err != nil {
			yield(store.AuditEntry{}, err)
			return
		}
		errStop := errors.New("the reader wants no more")
		var last []store.AuditEntry
		_, err := readArchive(path, nil, func(e store.AuditEntry) error {
			switch {
			case !query.Matches(e):
			case query.Last > 0:
				if last = append(last, e); len(last) > query.Last {
					last = slices.Delete(last, 0, 1)
				}
			case !yield(e, nil):
				return errStop
			}
			return nil
		})
		if err == errStop {
			return
		}
		for _, e := range last {
			if !yield(e, nil) {
				return
			}
		}
		if err != nil {
			yield(store.AuditEntry{}, err)
		}
	}
}
