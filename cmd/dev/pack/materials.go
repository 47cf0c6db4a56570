package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"example.com/perks/cmd/dev/programs"
)

// materials writes PROGRAM_VERSION_OS_ARCH.cdx.json, the list of what a program is built with, in the form of
// CycloneDX. It is read from the program itself.
func materials(ctx context.Context, program string, v versions, p platform) error {
	file := program
	if p.os == "windows" {
		file += ".exe"
	}
	cmd, err := tool(ctx, "cyclonedx-gomod", "bin", "-json", "-std", "-noserial", "-notimestamp", "-version", v.plain,
		filepath.Join(programsFor(p), file))
	if err != nil {
		return err
	}
	said, err := programs.Output(cmd)
	if err != nil {
		return err
	}
	parts, err := partsOf(ctx, program, p.os)
	if err != nil {
		return err
	}
	list, err := complete([]byte(said), parts)
	if err != nil {
		return fmt.Errorf("the list of what %s is built with: %w", program, err)
	}
	return write(filepath.Join(results, fmt.Sprintf("%s_%s_%s.cdx.json", program, v.plain, p)), list)
}

// complete adds the licences to a list, and Swagger UI, which no tool finds. It removes the sums of the tool that made
// the list, which depend on where the tool was built.
func complete(list []byte, parts []part) (string, error) {
	var bill struct {
		Schema       string           `json:"$schema"`
		Format       string           `json:"bomFormat"`
		Spec         string           `json:"specVersion"`
		Version      int              `json:"version"`
		Metadata     map[string]any   `json:"metadata"`
		Components   []map[string]any `json:"components"`
		Dependencies []any            `json:"dependencies"`
		Compositions []any            `json:"compositions,omitempty"`
	}
	read := json.NewDecoder(bytes.NewReader(list))
	read.DisallowUnknownFields() // whatever else is in it must not get lost
	if err := read.Decode(&bill); err != nil {
		return "", err
	}
	tools, _ := bill.Metadata["tools"].([]any)
	for _, tool := range tools {
		delete(tool.(map[string]any), "hashes")
	}
	for _, c := range bill.Components {
		name, _ := c["name"].(string)
		version, _ := c["version"].(string)
		var licences []string
		for _, p := range parts {
			if name == "std" && p.name == goName || p.version == version &&
				(p.name == name || strings.HasPrefix(p.name, name+"/")) {
				licences = append(licences, p.licence)
			}
		}
		c["licenses"] = licencesNamed(licences...)
		if strings.HasPrefix(name, swaggerUIModule) {
			bill.Components = append(bill.Components, map[string]any{
				"type": "library", "name": "swagger-ui", "bom-ref": "swagger-ui", "scope": "required",
				"description": "as packed by " + name + " " + version, "licenses": licencesNamed("Apache-2.0"),
			})
		}
	}
	var out bytes.Buffer
	write := json.NewEncoder(&out)
	write.SetEscapeHTML(false)
	write.SetIndent("", "  ")
	err := write.Encode(bill)
	return out.String(), err
}

// licencesNamed are licences as CycloneDX has them, each once.
func licencesNamed(names ...string) []any {
	slices.Sort(names)
	var all []any
	for _, name := range slices.Compact(names) {
		all = append(all, map[string]any{"license": map[string]any{"id": name}})
	}
	return all
}
