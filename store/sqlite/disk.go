package sqlite

import (
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"example.com/perks/store"
)

const (
	diskInterval = time.Minute     // between two looks at the disk
	diskHistory  = time.Hour       // of the looks that a forecast uses
	diskSpan     = diskHistory / 4 // it needs at least
	diskWarning  = 7 * 24 * time.Hour
	diskAgain    = time.Hour // between two warnings
)

// disk forecasts when the file system of a database will be full. The changes of a client may fill it with audit
// entries.
type disk struct {
	path  string
	space func(directory string) (free int64, err error) // for this process, in bytes
	log   *slog.Logger

	mu       sync.Mutex
	looks    []diskLook // of the last diskHistory, oldest first
	warnedAt time.Time

	ended   chan struct{}
	running sync.WaitGroup
}

type diskLook struct {
	at   time.Time
	free int64
}

func newDisk(path string, log *slog.Logger) *disk {
	return &disk{path: path, space: freeSpace, log: log, ended: make(chan struct{})}
}

// watch looks at once, and again until close is called.
func (d *disk) watch() {
	d.look(time.Now())
	d.running.Go(func() {
		ticker := time.NewTicker(diskInterval)
		defer ticker.Stop()
		for {
			select {
			case at := <-ticker.C:
				d.look(at)
			case <-d.ended:
				return
			}
		}
	})
}

func (d *disk) close() {
	close(d.ended)
	d.running.Wait()
}

// look measures the free space, and warns if it will not last.
func (d *disk) look(at time.Time) {
	free, err := d.space(filepath.Dir(d.path))
	if err != nil {
		return // the next write tells what is wrong with the disk
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.looks = append(d.looks, diskLook{at, free})
	for at.Sub(d.looks[0].at) > diskHistory {
		d.looks = d.looks[1:]
	}
	lasts := d.lasts()
	if lasts == 0 || lasts >= diskWarning || !d.warnedAt.IsZero() && at.Sub(d.warnedAt) < diskAgain {
		return
	}
	d.warnedAt = at
	d.log.Warn("the disk of the database will be full within 7 days, at the rate of the last hour", "database", d.path,
		"free_bytes", free, "lasts", lasts.Round(time.Minute))
}

// lasts is 0 if the free space does not shrink, or has been seen for too short a time.
func (d *disk) lasts() time.Duration {
	if len(d.looks) == 0 {
		return 0
	}
	first, last := d.looks[0], d.looks[len(d.looks)-1]
	span, filled := last.at.Sub(first.at), first.free-last.free
	if span < diskSpan || filled <= 0 {
		return 0
	}
	lasts := float64(last.free) / float64(filled) * float64(span)
	return time.Duration(max(float64(time.Second), min(lasts, float64(store.MaxDiskForecast))))
}

// stats returns the state of the disk, or nil if it is not known.
func (d *disk) stats() *store.DiskStats {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.looks) == 0 {
		return nil
	}
	return &store.DiskStats{Free: d.looks[len(d.looks)-1].free, Lasts: d.lasts()}
}
