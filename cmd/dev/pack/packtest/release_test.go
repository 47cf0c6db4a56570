//go:build package

package packtest

import (
	"archive/zip"
	"bytes"
	"debug/buildinfo"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// clientArchives are the archives of perksctl, each with its platform.
func clientArchives(t *testing.T) map[string]string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(repository, "bin/release/perksctl_*"))
	if err != nil {
		t.Fatal(err)
	}
	archives := map[string]string{}
	for _, file := range found {
		name, isTar := strings.CutSuffix(file, ".tar.gz")
		name, isZip := strings.CutSuffix(name, ".zip")
		if isTar || isZip {
			parts := strings.Split(name, "_")
			archives[strings.Join(parts[len(parts)-2:], "/")] = file
		}
	}
	if len(archives) == 0 {
		t.Fatal("in bin/release is no archive of perksctl; 'make release' builds them")
	}
	return archives
}

// unpacked are the contents of an archive below its only directory.
func unpacked(t *testing.T, archive string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	directory := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(archive), ".zip"), ".tar.gz") + "/"
	keep := func(name string, content io.Reader) {
		path, inside := strings.CutPrefix(name, directory)
		read, err := io.ReadAll(content)
		if !inside || err != nil {
			t.Errorf("%s in %s: %v", name, filepath.Base(archive), err)
		}
		files[path] = read
	}
	if !strings.HasSuffix(archive, ".zip") {
		r := &root{t, t.TempDir()}
		r.run(exec.Command("tar", "-C", r.directory, "-xzf", archive))
		r.must(filepath.WalkDir(r.directory, func(path string, entry os.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				var file *os.File
				if file, err = os.Open(path); err == nil {
					defer file.Close()
					keep(strings.TrimPrefix(path, r.directory+"/"), file)
				}
			}
			return err
		}))
		return files
	}
	in, err := zip.OpenReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for _, entry := range in.File {
		content, err := entry.Open()
		if err != nil {
			t.Fatal(err)
		}
		keep(entry.Name, content)
		content.Close()
	}
	return files
}

func TestEachArchiveHasTheProgramOfItsPlatform(t *testing.T) {
	for platform, archive := range clientArchives(t) {
		system, arch, _ := strings.Cut(platform, "/")
		files := unpacked(t, archive)
		want := []string{"CHANGELOG.md", "completions/_perksctl", "completions/perksctl.bash",
			"completions/perksctl.fish", "completions/perksctl.ps1", "docs/cookbook.md"}
		suffix := ""
		if system == "windows" {
			suffix = ".exe"
		} else {
			want = append(want, "man/man1/perksctl.1.gz", "man/man1/perksctl-perk-redeem.1.gz")
		}
		for _, name := range want {
			if len(files[name]) == 0 {
				t.Errorf("the archive for %s lacks %s", platform, name)
			}
		}
		materials := strings.TrimSuffix(strings.TrimSuffix(archive, ".zip"), ".tar.gz") + ".cdx.json"
		for _, program := range []string{"perksctl", "perksctl-mcp"} {
			about, err := buildinfo.Read(bytes.NewReader(files["bin/"+program+suffix]))
			if err != nil {
				t.Fatalf("%s in the archive for %s: %v", program, platform, err)
			}
			made := map[string]string{}
			for _, s := range about.Settings {
				made[s.Key] = s.Value
			}
			if made["GOOS"] != system || made["GOARCH"] != arch || made["CGO_ENABLED"] != "0" ||
				made["-trimpath"] != "true" {
				t.Errorf("%s for %s was built with %v", program, platform, made)
			}
			for _, module := range about.Deps {
				if !hasTitle(string(files["licences/"+program]), module.Path, module.Version) {
					t.Errorf("the licences of %s for %s lack %s %s", program, platform, module.Path, module.Version)
				}
			}
			checkMaterials(t, strings.Replace(materials, "perksctl_", program+"_", 1), about)
		}
	}
}

// checkMaterials compares the list of what a program is built with, with the program.
func checkMaterials(t *testing.T, file string, about *debug.BuildInfo) {
	t.Helper()
	var bill struct {
		BomFormat, SpecVersion string
		Components             []struct {
			Name, Version string
			Licenses      []any
		}
	}
	(&root{t, ""}).decode(file, &bill)
	var listed, linked []string
	for _, c := range bill.Components {
		listed = append(listed, c.Name+" "+c.Version)
		if len(c.Licenses) == 0 {
			t.Errorf("%s lists %s without a licence", filepath.Base(file), c.Name)
		}
	}
	linked = append(linked, "std "+about.GoVersion)
	for _, module := range about.Deps {
		linked = append(linked, module.Path+" "+module.Version)
		if strings.HasPrefix(module.Path, "github.com/swaggest/swgui") {
			linked = append(linked, "swagger-ui ")
		}
	}
	slices.Sort(listed)
	slices.Sort(linked)
	if bill.BomFormat != "CycloneDX" || !slices.Equal(listed, linked) {
		t.Errorf("%s lists\n%v, and the program has\n%v", filepath.Base(file), listed, linked)
	}
}

func TestTheListOfMaterialsIsThatOfTheServer(t *testing.T) {
	r := newRoot(t)
	r.dpkg("-i", serverPackage(t))
	about, err := buildinfo.ReadFile(r.path("usr/bin/perksd"))
	r.must(err)
	checkMaterials(t, built(t, "perksd_*_linux_ARCH.cdx.json"), about)
}
