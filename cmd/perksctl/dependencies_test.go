package main_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestTheClientDoesWithoutTheServersLibraries keeps it small and quick to start.
func TestTheClientDoesWithoutTheServersLibraries(t *testing.T) {
	output, err := exec.Command("go", "list", "-deps", "example.com/perks/cmd/perksctl").Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.Lines(string(output)) {
		for _, unwanted := range []string{
			"github.com/prometheus/", "go.opentelemetry.io/", "google.golang.org/", "github.com/labstack/", "github.com/jackc/", "modernc.org/", "example.com/perks/server", "example.com/perks/store",
		} {
			if strings.HasPrefix(name, unwanted) {
				t.Errorf("perksctl depends on %s", strings.TrimSpace(name))
			}
		}
	}
}
