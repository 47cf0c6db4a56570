package sqlite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"example.com/perks/store"
)

// Inspect checks the file at path, what lies beside it, and its disk. It changes nothing.
func Inspect(_ context.Context, path string) (findings []store.Finding, err error) {
	f, err := newFile(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(f.path)
	if err != nil {
		return nil, err
	}
	add := func(check string, isBad bool, found, advice string) {
		one := store.Finding{Check: check, Outcome: store.OK, Found: found}
		if isBad {
			one.Outcome, one.Advice = store.Warning, advice
		}
		findings = append(findings, one)
	}
	mode, log := info.Mode().Perm(), logSize(f)
	add("file", mode&0o077 != 0, fmt.Sprintf("%s, %d MiB, mode %04o", f.path, info.Size()>>20, mode),
		"others can read it: chmod 600 "+f.path+"*")
	add("write-ahead log", log > maxLog, fmt.Sprintf("%d MiB", log>>20),
		"a program has been reading for long: 'fuser "+f.path+"' names it; end it")
	free, err := freeSpace(filepath.Dir(f.path))
	if err != nil {
		findings = append(findings, store.Finding{Check: "disk", Outcome: store.NotChecked,
			Found: "this system does not tell how much space it has"})
	} else {
		add("disk", free < info.Size()+maxLog, fmt.Sprintf("%d MiB are free", free>>20),
			"a large import or a restore needs as much again as the file has: make space")
	}
	return append(findings, store.Finding{Check: "last backup", Outcome: store.NotChecked,
		Found: "perksd does not know of backups", Advice: "'perksd backup FILE' makes one, each night by a timer"}), nil
}
