package doctor

import (
	"regexp"
	"strings"

	"golang.org/x/mod/semver"
)

// age is how a server's version compares with the client's.
type age int

const (
	fits age = iota
	tooOld
	tooNew
)

// sinceTag is what git describe adds to a tag for the commits after it.
var sinceTag = regexp.MustCompile(`-[0-9]+-g[0-9a-f]+$`)

// ageOf compares versions as docs/upgrading.md promises: a server of the same major version has all that an older client knows, and
// may lack what a newer one does. What is no version, such as that of a build without a tag, says nothing.
func ageOf(server, client string) age {
	server, client = canonical(server), canonical(client)
	if server == "" || client == "" {
		return fits
	}
	switch {
	case semver.Compare(semver.Major(server), semver.Major(client)) > 0:
		return tooNew
	case semver.Compare(semver.MajorMinor(server), semver.MajorMinor(client)) < 0:
		return tooOld
	}
	return fits
}

// canonical is a version as package semver reads it, or "".
func canonical(version string) string {
	version = sinceTag.ReplaceAllString(strings.TrimSuffix(version, "-dirty"), "")
	return semver.Canonical("v" + strings.TrimPrefix(version, "v"))
}
