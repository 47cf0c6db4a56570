package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// deployed are the files with which perksd is run elsewhere than by its own packages.
func deployed(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../../deploy/kubernetes/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	texts := map[string]string{}
	for _, file := range append(files, "../../deploy/docker-compose.yml", "../../.ci/tools/image/main.go",
		"package/perksd.env") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(file)] = string(text)
	}
	return texts
}

func TestDeployedVariablesAreThoseOfServe(t *testing.T) {
	serve, _, err := newOperator(t).program("", nil, nil).root().Find([]string{"serve"})
	if err != nil {
		t.Fatal(err)
	}
	serve.InheritedFlags()              // which merges the flags of the root
	known := []string{"PERKSD_VERSION"} // of the image, which Compose reads
	serve.Flags().VisitAll(func(f *pflag.Flag) {
		if hasVariable(serve, f) {
			known = append(known, variable(f.Name))
		}
	})
	for file, text := range deployed(t) {
		for _, name := range regexp.MustCompile(`\bPERKSD_[A-Z_]+[A-Z]\b`).FindAllString(text, -1) {
			if !slices.Contains(known, name) && name != "PERKSD_TLS" {
				t.Errorf("%s sets %s, which perksd serve does not read", file, name)
			}
		}
	}
}

// TestDeployedSettingsAreValid reads the variables as serve does, up to the point at which it listens.
func TestDeployedSettingsAreValid(t *testing.T) {
	var compose struct {
		Services map[string]struct{ Environment map[string]string }
	}
	var config struct{ Data map[string]string }
	texts := deployed(t)
	for file, into := range map[string]any{"docker-compose.yml": &compose, "configmap.yaml": &config} {
		if err := yaml.Unmarshal([]byte(texts[file]), into); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	for file, settings := range map[string]map[string]string{
		"docker-compose.yml": compose.Services["perksd"].Environment, "configmap.yaml": config.Data,
	} {
		o := newOperator(t)
		o.env = settings
		serve, _, err := o.program("", nil, nil).root().Find([]string{"serve"})
		if err != nil {
			t.Fatal(err)
		}
		var warnings strings.Builder
		if err := readVariables(serve, func(name string) string { return settings[name] }, &warnings); err != nil ||
			warnings.Len() > 0 {
			t.Errorf("%s: %v %s", file, err, warnings.String())
		}
		if serve.Flag("behind-proxy").Value.String() != "true" || serve.Flag("addr").Value.String() != ":8080" {
			t.Errorf("%s: it would not listen for a proxy: %v", file, settings)
		}
		if _, err := parseDatabase(settings["PERKSD_DATABASE"]); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestDeployedCommandsExist(t *testing.T) {
	found := 0
	for file, text := range deployed(t) {
		for _, match := range regexp.MustCompile(`(?:args: \[|/usr/bin/perksd, |Cmd: `+
			`+\[\]string\{"|"/usr/bin/perksd", ")([a-z]+)`).FindAllStringSubmatch(text, -1) {
			found++
			if cmd, _, err := newOperator(t).program("", nil, nil).root().Find(match[1:2]); err != nil ||
				cmd.Name() != match[1] {
				t.Errorf("%s runs perksd %s: %v", file, match[1], err)
			}
		}
	}
	if found != 5 { // two pods, the health check of Compose, the command and the health check of the image
		t.Errorf("%d commands are found", found)
	}
}
