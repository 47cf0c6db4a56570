package sqlite

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	codes "modernc.org/sqlite/lib"

	"example.com/perks/store"
)

// damage finds out whether a database that SQLite calls damaged is: a disk that fails gives the same errors, and
// whoever restores a backup then loses what was written since.
type damage struct {
	file file
	log  *slog.Logger
	ctx  context.Context // ends a check
	stop context.CancelFunc

	mu        sync.Mutex
	checking  bool
	checkedAt time.Time
	checks    sync.WaitGroup
}

func newDamage(file file, log *slog.Logger) *damage {
	d := &damage{file: file, log: log}
	d.ctx, d.stop = context.WithCancel(context.Background())
	return d
}

// close ends a check that is running.
func (d *damage) close() {
	d.stop()
	d.checks.Wait()
}

// suspect starts a check if the error may come from damage, at most one each logInterval.
func (d *damage) suspect(err error) {
	if code := resultCode(err); code != codes.SQLITE_CORRUPT && code != codes.SQLITE_NOTADB {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ctx.Err() != nil || d.checking || !d.checkedAt.IsZero() && time.Since(d.checkedAt) < logInterval {
		return
	}
	d.checking = true
	d.checks.Go(func() {
		d.check(d.ctx)
		d.mu.Lock()
		defer d.mu.Unlock()
		d.checking, d.checkedAt = false, time.Now()
	})
}

// check reads the whole database, and logs what that tells of the disk and the file.
func (d *damage) check(ctx context.Context) {
	db := d.file.readers(nil) // connections that have cached nothing
	defer db.Close()
	const check = `SELECT quick_check FROM pragma_quick_check LIMIT 5`
	findings, err := store.All(view{ctx, db}, store.ScanValue[string], check)
	found := strings.Join(findings, "; ")
	code := resultCode(err)
	switch {
	case ctx.Err() != nil:
	case err == nil && found == "ok":
		d.log.Warn("the database is not damaged: its disk gave wrong data for a while; "+
			"look at the log of the operating system", "database", d.file.path)
	case err == nil, code == codes.SQLITE_CORRUPT, code == codes.SQLITE_NOTADB:
		d.log.Error("the database is damaged: stop the server and restore a backup with 'perksd restore'",
			"database", d.file.path, "finding", found, "error", err)
	default:
		d.log.Error("the disk of the database cannot be read: fix that first; "+
			"restore nothing while it is not known to be damaged", "database", d.file.path, "error", err)
	}
}
