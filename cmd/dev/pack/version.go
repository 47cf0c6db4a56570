package main

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

var (
	// described is what git describe says of a commit behind a tag: the tag, how many commits behind it, which commit.
	described = regexp.MustCompile(`^(.+)-([0-9]+)-(g[0-9a-f]+)$`)
	released  = regexp.MustCompile(`^v?([0-9]+(?:\.[0-9]+)+)(?:-(.+))?$`)
	allowed   = regexp.MustCompile(`^[A-Za-z0-9.+~]+$`)
)

// debianVersion says a version of git describe in the way in which Debian orders versions: a candidate comes before its
// release (~), a commit behind a release after it (+). Without a tag the commit's date orders.
func debianVersion(version string, date time.Time) (string, error) {
	rest, dirty := strings.CutSuffix(version, "-dirty")
	behind := ""
	if parts := described.FindStringSubmatch(rest); parts != nil {
		rest, behind = parts[1], "+"+parts[2]+"."+parts[3]
	}
	made := ""
	if parts := released.FindStringSubmatch(rest); parts != nil {
		made = parts[1]
		if parts[2] != "" {
			made += "~" + strings.ReplaceAll(parts[2], "-", ".")
		}
	} else {
		made = "0~" + date.Format("20060102150405") + "." + strings.ReplaceAll(rest, "-", ".")
	}
	made += behind
	if dirty {
		made += "+dirty"
	}
	if version == "" || !allowed.MatchString(made) {
		return "", fmt.Errorf("%q cannot be the version of a package: letters, digits, '.', '-' and '+' are allowed", version)
	}
	return made, nil
}
