package api

import (
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
)

// version is set by the linker: -ldflags "-X example.com/perks/api.version=v1.2.3".
var version string

// BuildInfo describes a build. Unknown fields are empty.
type BuildInfo struct {
	Version  string `json:"version"`  // "dev" if neither the linker nor the module sets it
	Commit   string `json:"commit"`   // the full hash
	Date     string `json:"date"`     // of the commit, RFC 3339 in UTC
	Modified bool   `json:"modified"` // the commit's files had been changed
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

// Build returns the build of the running program.
var Build = sync.OnceValue(func() BuildInfo {
	built, ok := debug.ReadBuildInfo()
	if !ok {
		built = &debug.BuildInfo{}
	}
	return buildFrom(version, built)
})

// buildFrom prefers the linker's version to the module's.
func buildFrom(linked string, built *debug.BuildInfo) BuildInfo {
	i := BuildInfo{Version: linked, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if i.Version == "" {
		i.Version = built.Main.Version
	}
	if i.Version == "" || i.Version == "(devel)" {
		i.Version = "dev"
	}
	for _, setting := range built.Settings {
		switch setting.Key {
		case "vcs.revision":
			i.Commit = setting.Value
		case "vcs.time":
			i.Date = setting.Value
		case "vcs.modified":
			i.Modified = setting.Value == "true"
		}
	}
	return i
}

// shortCommit is how much of a commit's hash people see.
const shortCommit = 12

// Line describes the build of the named program in one line.
func (i BuildInfo) Line(program string) string {
	var details []string
	if i.Commit != "" {
		details = append(details, "commit "+i.Commit[:min(shortCommit, len(i.Commit))])
	}
	if i.Modified {
		details = append(details, "modified")
	}
	if i.Date != "" {
		details = append(details, i.Date)
	}
	details = append(details, i.Go, i.OS+"/"+i.Arch)
	return program + " " + i.Version + " (" + strings.Join(details, ", ") + ")"
}
