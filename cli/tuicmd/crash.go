package tuicmd

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"time"

	"example.com/perks/cli/command"
)

// keepCrash keeps the report of a fault in the program, in the place of the last one, where only its owner can read it: it may
// hold what was on the screen.
func keepCrash(folder, version, report string) (string, error) {
	if folder == "" {
		return "", errors.New("there is no folder for it")
	}
	path := filepath.Join(folder, "tui-crash.txt")
	text := fmt.Sprintf("perksctl %s (%s, %s/%s) at %s\n\n%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH,
		time.Now().UTC().Format(time.RFC3339), report)
	return path, command.WritePrivate(path, []byte(text))
}
