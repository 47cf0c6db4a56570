package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// versions are the names that a commit's version has.
type versions struct {
	plain  string // in the names of files, and the tag of the image, such as 1.2.0-rc.1
	debian string // of .deb and .rpm
	alpine string // of .apk
}

var (
	// described is what git describe says of a commit behind a tag: the tag, how many commits behind it, which commit.
	described  = regexp.MustCompile(`^(.+)-([0-9]+)-(g[0-9a-f]+)$`)
	released   = regexp.MustCompile(`^v?([0-9]+(?:\.[0-9]+)+)(?:-(.+))?$`)
	prerelease = regexp.MustCompile(`^(alpha|beta|rc)(?:\.([0-9]+))?$`)
	allowed    = regexp.MustCompile(`^[A-Za-z0-9.+~]+$`)
)

// versionsOf converts a version of git describe to those that Debian, RPM and Alpine sort correctly: a candidate before
// its release, a commit after a release behind it. Without a tag the commit's date decides.
func versionsOf(version string, date time.Time) (versions, error) {
	rest, dirty := strings.CutSuffix(version, "-dirty")
	behind, after := "", ""
	if parts := described.FindStringSubmatch(rest); parts != nil {
		rest, behind, after = parts[1], "+"+parts[2]+"."+parts[3], "_p"+parts[2]
	}
	stamp := date.Format("20060102150405")
	v := versions{
		plain:  version,
		debian: "0~" + stamp + "." + strings.ReplaceAll(rest, "-", "."),
		alpine: "0_git" + stamp,
	}
	if parts := released.FindStringSubmatch(rest); parts != nil {
		v = versions{strings.TrimPrefix(version, "v"), parts[1], parts[1]}
		if parts[2] != "" {
			candidate := prerelease.FindStringSubmatch(parts[2])
			if candidate == nil {
				return versions{}, fmt.Errorf("%q cannot be the version of a package: what is not released yet is "+
					"alpha.N, beta.N or rc.N", version)
			}
			v.debian += "~" + strings.ReplaceAll(parts[2], "-", ".")
			v.alpine += "_" + candidate[1] + candidate[2]
		}
	}
	v.debian += behind
	v.alpine += after
	if dirty {
		v.debian += "+dirty"
		v.alpine += "_p"
	}
	v.alpine += "-r0"
	if version == "" || !allowed.MatchString(v.debian) {
		return versions{}, fmt.Errorf("%q cannot be the version of a package: letters, digits, '.', '-' and '+' are "+
			"allowed", version)
	}
	return v, nil
}

// platform is a kind of machine that programs are built for, as Go names it.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "_" + p.arch }

// programs are those that are shipped for it.
func (p platform) programs() []string {
	if p.os == "linux" {
		return shipped
	}
	return clients
}

func parsePlatforms(texts []string) ([]platform, error) {
	var all []platform
	for _, text := range texts {
		os, arch, ok := strings.Cut(text, "/")
		if !ok || !slices.Contains(systems, os) || arch == "" {
			return nil, fmt.Errorf("%q is not a platform, such as linux/amd64, for one of %s", text,
				strings.Join(systems, ", "))
		}
		all = append(all, platform{os, arch})
	}
	return all, nil
}
