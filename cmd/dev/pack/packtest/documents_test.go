//go:build package

package packtest

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestTheUnitIsValidAndHardened(t *testing.T) {
	r := newRoot(t)
	r.dpkg("-i", serverPackage(t))
	// What every machine has: the unit's targets, and a shell.
	r.run(exec.Command("cp", "-a", "/lib/systemd/system/.", r.path("usr/lib/systemd/system")))
	r.copyPrograms("sh")
	unit := r.path("usr/lib/systemd/system/perksd.service")
	if said := r.run(exec.Command("systemd-analyze", "verify", "--man=no", "--root="+r.directory, unit)); said != "" {
		t.Errorf("systemd says of the unit:\n%s", said)
	}
	// The threshold is ten times the level of exposure, which is 10 for a service without any protection.
	r.run(exec.Command("systemd-analyze", "security", "--offline=true", "--threshold=15", unit))
}

func TestCompletionsLoad(t *testing.T) {
	r := newRoot(t)
	r.dpkg("-i", serverPackage(t), clientPackage(t))
	for _, program := range []string{"perksd", "perksctl"} {
		script := r.path("usr/share/bash-completion/completions/" + program)
		if said := r.run(exec.Command("bash", "-c", "source \"$1\" && complete -p "+program, "bash",
			script)); !strings.HasSuffix(said, " "+program+"\n") {
			t.Errorf("bash has for %s: %s", program, said)
		}
		script = r.path("usr/share/zsh/vendor-completions/_" + program)
		if said := r.run(exec.Command("zsh", "-n", script)); said != "" ||
			!strings.HasPrefix(r.read("usr/share/zsh/vendor-completions/_"+program), "#compdef "+program+"\n") {
			t.Errorf("zsh says of %s: %s", script, said)
		}
		script = r.path("usr/share/fish/vendor_completions.d/" + program + ".fish")
		if said := r.run(exec.Command("fish", "--no-config", "-c", "source $argv[1]; complete -c "+program,
			script)); !strings.Contains(said, program) {
			t.Errorf("fish has for %s: %s", program, said)
		}
	}
}

func TestManualPagesCanBeRead(t *testing.T) {
	r := newRoot(t)
	r.dpkg("-i", serverPackage(t), clientPackage(t))
	pages, err := filepath.Glob(r.path("usr/share/man/man[18]/*.gz"))
	r.must(err)
	for _, first := range []string{"usr/share/man/man8/perksd.8.gz", "usr/share/man/man1/perksctl.1.gz"} {
		if !slices.Contains(pages, r.path(first)) {
			t.Errorf("there is no /%s", first)
		}
	}
	for _, page := range pages {
		name := strings.SplitN(filepath.Base(page), ".", 2)[0]
		text, warnings := rendered(t, page)
		if !strings.Contains(text, "NAME") || !strings.Contains(text, name) || warnings != "" {
			t.Errorf("%s reads\n%s\n%s", filepath.Base(page), text, warnings)
		}
	}
}

// rendered returns a page as a terminal shows it, and the warnings.
func rendered(t *testing.T, page string) (text, warnings string) {
	t.Helper()
	cmd := exec.Command("man", "--warnings", "--local-file", "--pager=cat", page)
	if _, err := exec.LookPath("man"); err != nil {
		cmd = exec.Command("sh", "-c", `zcat "$1" | groff -man -Tutf8 -ww`, "sh", page)
	}
	var out, wrong strings.Builder
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "MANWIDTH=80", "MAN_KEEP_FORMATTING=")
	cmd.Stdout, cmd.Stderr = &out, &wrong
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v %s", page, err, wrong.String())
	}
	for warning := range strings.Lines(wrong.String()) {
		if !strings.Contains(warning, "cannot adjust line") &&
			!strings.Contains(warning, "can't break line") { // for a long word, such as a list of scopes
			warnings += warning
		}
	}
	return out.String(), warnings
}

// TestEveryModuleOfTheProgramsHasItsLicence reads from the programs themselves what they were built with.
func TestEveryModuleOfTheProgramsHasItsLicence(t *testing.T) {
	r := newRoot(t)
	r.dpkg("-i", serverPackage(t), clientPackage(t))
	if !strings.Contains(r.read("usr/share/doc/perksd/copyright"), "Swagger UI (Copyright SmartBear Software Inc.)") {
		t.Error("Swagger UI is missing, which is in perksd too")
	}
	for program, file := range map[string]string{
		"perksd": "perksd/copyright", "perksctl": "perksctl/copyright", "perksctl-mcp": "perksctl/copyright.perksctl-mcp",
	} {
		texts := r.read("usr/share/doc/" + file)
		modules := 0
		for line := range strings.Lines(r.run(exec.Command("go", "version", "-m", r.path("usr/bin/"+program)))) {
			fields := strings.Fields(line)
			if fields[0] != "dep" {
				continue
			}
			modules++
			if !hasTitle(texts, fields[1], fields[2]) {
				t.Errorf("the copyright of %s lacks %s %s", program, fields[1], fields[2])
			}
		}
		if modules < 20 || !strings.Contains(texts, "Go, its library and runtime go1.") ||
			!strings.Contains(texts, "Permission is hereby granted") {
			t.Errorf("%s lists %d modules; its copyright is\n%.500s", program, modules, texts)
		}
	}
}

// hasTitle finds a module, or a package of it, among the headings of the licences.
func hasTitle(texts, module, version string) bool {
	for line := range strings.Lines(texts) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if rest == version && (name == module || strings.HasPrefix(name, module+"/")) {
			return true
		}
	}
	return false
}

// TestNoLinkOfADocumentDangles follows the links of what is installed, to a file, a directory or a heading.
func TestNoLinkOfADocumentDangles(t *testing.T) {
	installed := map[string]fs.FS{}
	for name, install := range ways {
		m := install(t)
		directory := "usr/share/doc/perksd"
		if name == "archive" {
			directory = "."
		}
		installed["the "+name+" of the server"] = os.DirFS(m.path(directory))
		if unit := "usr/lib/systemd/system/perksd.service"; m.exists(unit) {
			_, file, _ := strings.Cut(m.read(unit), "file:///")
			if file, _, _ = strings.Cut(file, "\n"); !m.exists(file) {
				t.Errorf("the unit of the %s names %q, which is not there", name, file)
			}
		}
	}
	for platform, archive := range clientArchives(t) {
		files := fstest.MapFS{}
		for name, content := range unpacked(t, archive) {
			files[name] = &fstest.MapFile{Data: content}
		}
		installed["the client's archive for "+platform] = files
	}
	for name, files := range installed {
		for _, file := range []string{"deploy/ha/patroni.yml", "docs/grafana/alerts.yaml", "docs/grafana/perks.json"} {
			if _, err := fs.Stat(files, file); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		links := 0
		err := fs.WalkDir(files, ".", func(file string, _ fs.DirEntry, err error) error {
			if err != nil || path.Ext(file) != ".md" {
				return err
			}
			text, err := fs.ReadFile(files, file)
			for _, match := range link.FindAllStringSubmatch(string(text), -1) {
				links++
				target := file
				if match[1] != "" {
					target = path.Join(path.Dir(file), match[1])
				}
				if _, err := fs.Stat(files, target); err != nil {
					t.Errorf("%s: %s links to %s: %v", name, file, match[1], err)
				} else if match[2] != "" && !hasHeading(files, target, match[2]) {
					t.Errorf("%s: %s links to %s, which has no heading #%s", name, file, target, match[2])
				}
			}
			return err
		})
		if err != nil || links < 50 {
			t.Errorf("%s: %d links, %v", name, links, err)
		}
	}
}

// link is one to another document, with its file and its heading, of which one may be empty.
var link = regexp.MustCompile(`\]\(([^:#) ]*)(?:#([^) ]*))?\)`)

// hasHeading tells whether a document has a heading that a link calls so.
func hasHeading(files fs.FS, file, name string) bool {
	text, _ := fs.ReadFile(files, file) // a directory has none
	for line := range strings.Lines(string(text)) {
		if title, isHeading := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); isHeading && line[0] == '#' {
			title = regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), "")
			if strings.ReplaceAll(title, " ", "-") == name {
				return true
			}
		}
	}
	return false
}

func TestTheArchiveIsCompleteAndRunsInAnyDirectory(t *testing.T) {
	archive := built(t, "perks_*_linux_ARCH.tar.gz")
	var names []string
	eachFile(t, archive, func(h *tar.Header) {
		names = append(names, h.Name)
		if h.Uid != 0 || h.Gid != 0 || h.Mode&0o022 != 0 || h.Typeflag != tar.TypeReg {
			t.Errorf("%s: owner %d:%d, mode %o, kind %c", h.Name, h.Uid, h.Gid, h.Mode, h.Typeflag)
		}
	})
	if !slices.IsSorted(names) {
		t.Errorf("the files are not sorted: %v", names)
	}
	directory := strings.TrimSuffix(filepath.Base(archive), ".tar.gz")
	for _, name := range []string{
		"CHANGELOG.md", "README.md", "bin/perksd", "bin/perksctl", "bin/perksctl-mcp", "completions/_perksd", "completions/perksctl.fish",
		"docs/operating.md", "docs/security.md", "etc/perksd/perksd.env",
		"licences/perksd", "licences/perksctl", "licences/perksctl-mcp", "man/man1/perksctl.1.gz", "man/man8/perksd-serve.8.gz",
		"systemd/perksd.service", "systemd/sysusers.d/perksd.conf",
	} {
		if !slices.Contains(names, directory+"/"+name) {
			t.Errorf("it lacks %s", name)
		}
	}
	r := &root{t, t.TempDir()}
	r.run(exec.Command("tar", "-C", r.directory, "-xzf", archive))
	for _, program := range []string{"perksd", "perksctl"} {
		if said := r.run(exec.Command(r.path(directory+"/bin/"+program), "version")); !strings.HasPrefix(said,
			program+" ") {
			t.Errorf("%s says %q", program, said)
		}
	}
}

func eachFile(t *testing.T, archive string, look func(*tar.Header)) {
	t.Helper()
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	packed, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	in := tar.NewReader(packed)
	for {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		look(header)
	}
}

func TestTheChecksumsMatchTheFiles(t *testing.T) {
	cmd := exec.Command("sha256sum", "--check", "--strict", "SHA256SUMS")
	cmd.Dir = filepath.Join(repository, "bin/release")
	said, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(said), ": OK\n") < 3 {
		t.Errorf("%v:\n%s", err, said)
	}
}
