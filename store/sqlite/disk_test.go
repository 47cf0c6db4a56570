package sqlite

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

func TestADiskThatFillsIsToldInTime(t *testing.T) {
	const gib, day = int64(1) << 30, 24 * time.Hour
	for _, test := range []struct {
		name    string
		hourly  int64 // bytes that are filled in an hour; less than 0 frees them
		minutes int
		lasts   time.Duration // at the end
		warned  int           // lines in the log
	}{
		{"in two days, seen for too short a time", 2 * gib, 14, 0, 0},
		{"in two days", 2 * gib, 60, 50 * time.Hour, 1},
		{"in two days, for three hours", 2 * gib, 180, 48 * time.Hour, 3},
		{"in ten days", 100 * gib / 240, 60, 10*day + 4*time.Hour, 0},
		{"never", 0, 180, 0, 0},
		{"it becomes empty", -gib, 180, 0, 0},
		{"it is full", 102 * gib, 59, 0, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			var log bytes.Buffer
			d := newDisk("/data/perks.db", slog.New(slog.NewTextHandler(&log, nil)))
			start, free := time.Unix(1_700_000_000, 0), 102*gib
			d.space = func(string) (int64, error) { return max(0, free), nil }
			for minute := range test.minutes + 1 {
				free = 102*gib - test.hourly*int64(minute)/60
				d.look(start.Add(time.Duration(minute) * time.Minute))
			}
			if got := d.stats().Lasts; got.Round(time.Hour) != test.lasts {
				t.Errorf("it lasts %s, want %s", got, test.lasts)
			}
			storetest.Equal(t, "lines", strings.Count(log.String(), "will be full within 7 days"), test.warned)
		})
	}
}

func TestADiskThatCannotBeMeasuredIsNotForecast(t *testing.T) {
	d := newDisk("/data/perks.db", slog.New(slog.DiscardHandler))
	d.space = func(string) (int64, error) { return 0, errors.New("not on this system") }
	d.look(time.Unix(1_700_000_000, 0))
	if got := d.stats(); got != nil {
		t.Errorf("%+v", got)
	}
}

func TestTheFreeSpaceOfTheDiskIsAmongTheStats(t *testing.T) {
	db := openPath(t, t.TempDir()+"/perks.db")
	if got := db.Stats().Disk; got == nil || got.Free < 1<<20 || got.Lasts != 0 {
		t.Errorf("%+v", (*store.DiskStats)(got))
	}
}
