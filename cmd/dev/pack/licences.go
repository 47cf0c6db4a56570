package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"example.com/perks/cmd/dev/programs"
)

// clients are the programs of the client, for which there is one package: perksctl mcp runs the second.
var clients = []string{"perksctl", "perksctl-mcp"}

// shipped are the programs that people get, and packaged those that have a package of their own.
var shipped, packaged = append([]string{"perksd"}, clients...), []string{"perksd", "perksctl"}

// systems are the operating systems for which programs are shipped.
var systems = []string{"linux", "darwin", "windows"}

// allowedLicences ask for no more than their text beside the program. MPL-2.0 also asks that changes to its files are
// published: there are none, and the text says where the files are.
var allowedLicences = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0"}

// inReadme are modules that name their licence in their README alone, where no tool looks.
var inReadme = map[string]string{"github.com/mattn/go-localereader": "MIT"}

// part is something that a program is built with.
type part struct {
	name, version string
	licence       string // by its name in SPDX
	file          string // that holds it
}

// known are the parts of the programs by their name and their operating system: looking for them takes seconds.
var known = map[[2]string][]part{}

// partsOf finds what a program for an operating system is built with. What is ours is not among it.
func partsOf(ctx context.Context, program, system string) ([]part, error) {
	key := [2]string{program, system}
	if known[key] == nil {
		parts, err := findParts(ctx, program, system)
		if err != nil {
			return nil, err
		}
		known[key] = parts
	}
	return known[key], nil
}

func findParts(ctx context.Context, program, system string) ([]part, error) {
	template, err := os.CreateTemp("", "licences-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(template.Name())
	_, err = template.WriteString("{{range .}}{{.Name}}\t{{.Version}}\t{{.LicenseName}}\t{{.LicensePath}}\n{{end}}")
	if err := errors.Join(err, template.Close()); err != nil {
		return nil, err
	}
	cmd, err := tool(ctx, "go-licenses", "report", "--ignore", "example.com/perks", "--template", template.Name(),
		"./cmd/"+program)
	if err != nil {
		return nil, err
	}
	cmd.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
	list, err := programs.Output(cmd)
	if err != nil {
		return nil, err
	}
	parts, err := goItself(ctx)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(list) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		found := part{fields[0], fields[1], fields[2], fields[3]}
		if licence := inReadme[found.name]; licence != "" {
			dir, err := programs.Output(exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", found.name))
			if err != nil {
				return nil, err
			}
			found.licence, found.file = licence, filepath.Join(strings.TrimSpace(dir), "README.md")
		}
		parts = append(parts, found)
	}
	return withSwaggerUI(parts), nil
}

const swaggerUIModule = "github.com/swaggest/swgui"

// withSwaggerUI adds what a module brings that is not Go, and which no tool finds. Its licence has the same text
// wherever it is.
func withSwaggerUI(parts []part) []part {
	packed := slices.IndexFunc(parts, func(p part) bool { return strings.HasPrefix(p.name, swaggerUIModule) })
	text := slices.IndexFunc(parts,
		func(p part) bool { return p.name == "github.com/spf13/cobra" && p.licence == "Apache-2.0" })
	if packed < 0 || text < 0 {
		return parts
	}
	return append(parts, part{"Swagger UI (Copyright SmartBear Software Inc.), as packed by " + parts[packed].name,
		parts[packed].version, "Apache-2.0", parts[text].file})
}

const goName = "Go, its library and runtime"

// goItself is the standard library, which go-licenses leaves out.
func goItself(ctx context.Context) ([]part, error) {
	said, err := programs.Output(exec.CommandContext(ctx, "go", "env", "GOROOT", "GOVERSION"))
	if err != nil {
		return nil, err
	}
	root, version, _ := strings.Cut(strings.TrimSpace(said), "\n")
	return []part{{goName, version, "BSD-3-Clause", filepath.Join(root, "LICENSE")}}, nil
}

// listLicences prints what each program is built with, and fails where a licence is not allowed.
func listLicences(ctx context.Context) error {
	users := map[part][]string{}
	var all []part
	for _, system := range systems {
		for _, program := range (platform{os: system}).programs() {
			parts, err := partsOf(ctx, program, system)
			if err != nil {
				return err
			}
			for _, p := range parts {
				if users[p] == nil {
					all = append(all, p)
				}
				if !slices.Contains(users[p], program) {
					users[p] = append(users[p], program)
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b part) int { return strings.Compare(a.name+a.licence, b.name+b.licence) })
	for _, p := range all {
		fmt.Printf("%-13s %s %s (%s)\n", p.licence, p.name, p.version, strings.Join(users[p], ", "))
	}
	return refuse(all)
}

// refuse fails unless all licences are allowed.
func refuse(parts []part) error {
	var refused []string
	for _, p := range parts {
		if !slices.Contains(allowedLicences, p.licence) {
			refused = append(refused, fmt.Sprintf("%s %s: %s", p.name, p.version, p.licence))
		}
	}
	if refused == nil {
		return nil
	}
	slices.Sort(refused)
	return fmt.Errorf("not on the list of licences that are allowed (%s):\n  %s",
		strings.Join(allowedLicences, ", "), strings.Join(slices.Compact(refused), "\n  "))
}

// licenceFiles are the names of files whose text must go with a program.
var licenceFiles = regexp.MustCompile(`(?i)^(.*licen[cs]e.*|notice|copying|copyright|patents)(\.(txt|md))?$`)

// copyright is the text that comes with a program: what it is built with, and under which terms, each text once.
func copyright(ctx context.Context, program, system string) (string, error) {
	parts, err := partsOf(ctx, program, system)
	if err != nil {
		return "", err
	}
	if err := refuse(parts); err != nil {
		return "", err
	}
	var texts []string
	usedFor := map[string][]string{}
	for _, p := range parts {
		found, err := textsBeside(p.file)
		if err != nil {
			return "", fmt.Errorf("the licence of %s: %w", p.name, err)
		}
		title := fmt.Sprintf("%s %s", p.name, p.version)
		for _, text := range found {
			if usedFor[text] == nil {
				texts = append(texts, text)
			}
			if !slices.Contains(usedFor[text], title) {
				usedFor[text] = append(usedFor[text], title)
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s is built with the following modules, none of them changed. 'go mod download NAME@VERSION' "+
		"gets the source of each.\n", program)
	for _, text := range texts {
		fmt.Fprintf(&b, "\n%s\n%s\n\n%s\n", strings.Repeat("-", 80), strings.Join(usedFor[text], "\n"), text)
	}
	return b.String(), nil
}

// textsBeside reads the licence and similar files beside it.
func textsBeside(file string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, entry := range entries {
		if entry.Name() != filepath.Base(file) && (entry.IsDir() || !licenceFiles.MatchString(entry.Name())) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(filepath.Dir(file), entry.Name()))
		if err != nil {
			return nil, err
		}
		texts = append(texts, string(bytes.TrimSpace(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")))))
	}
	return texts, nil
}
