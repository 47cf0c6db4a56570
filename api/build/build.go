// Package build knows from what a program was built: which version, which commit, when, and for which system. Both programs
// say it with the same words.
//
// It must not know which program that is.
package build

import (
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
)

// version is set by the linker: -ldflags "-X example.com/perks/api/build.version=v1.2.3".
var version string

// Info is what is known of a build. What go build did not know is empty.
type Info struct {
	Version  string `json:"version"`  // "dev" where neither the linker nor the module says one
	Commit   string `json:"commit"`   // the whole hash
	Date     string `json:"date"`     // of the commit, RFC 3339 in UTC
	Modified bool   `json:"modified"` // the files were not those of the commit
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

// Read tells what is known of the program that is running.
var Read = sync.OnceValue(func() Info {
	built, ok := debug.ReadBuildInfo()
	if !ok {
		built = &debug.BuildInfo{}
	}
	return from(version, built)
})

// from prefers the version that the linker was given to the one of the module.
func from(linked string, built *debug.BuildInfo) Info {
	i := Info{Version: linked, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
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

// shortCommit is how many characters of a commit are enough for people.
const shortCommit = 12

// Line is all of it in one line for people, about the program of that name.
func (i Info) Line(program string) string {
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
