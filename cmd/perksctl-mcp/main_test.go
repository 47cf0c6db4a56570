package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"

	"example.com/perks/api"
	"example.com/perks/cli"
	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"perksctl":     func() { os.Exit(cli.Main(os.Args[1:], command.SystemStreams(), session.Environment())) },
		"perksctl-mcp": main,
	})
}

// TestAnAssistantStartsWhatConfigPrints starts perksctl with the settings that it prints, as an assistant does.
func TestAnAssistantStartsWhatConfigPrints(t *testing.T) {
	server := servertest.Start(t)
	server.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "coffee", Title: "Coffee for two"}})
	id, secret := server.Client()
	environment := append(os.Environ(), session.EnvConfigDir+"="+t.TempDir(), session.EnvKeyring+"=off")
	perksctl := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("perksctl", args...)
		cmd.Env, cmd.Stdin = environment, strings.NewReader(secret)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("perksctl %s: %v", strings.Join(args, " "), err)
		}
		return string(out)
	}
	perksctl("login", "--api-url", server.URL, "--client-id", id, "--secret-stdin", "--profile", "desk")
	printed := perksctl("mcp", "config", "--profile", "desk", "--allow-changes")
	var settings struct {
		MCPServers map[string]struct {
			Command string
			Args    []string
			Env     map[string]string
		}
	}
	if err := json.Unmarshal([]byte(printed), &settings); err != nil || strings.Contains(printed, secret) {
		t.Fatal(printed, err)
	}
	perks := settings.MCPServers["perks"]
	// testscript's perksctl is found by its name, and not by the path of this test
	cmd := exec.Command("perksctl", perks.Args...)
	cmd.Env = os.Environ()
	for name, value := range perks.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var log bytes.Buffer
	cmd.Stderr = &log
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	connected, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	for tool, with := range map[string]map[string]any{
		"search_perks":        {"query": "coff"},
		"prepare_perk_update": {"perk": "coffee", "fields": map[string]any{"title": "C"}},
	} {
		found, err := connected.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: with})
		if err != nil || found.IsError {
			t.Errorf("%s: %+v %v\n%s", tool, found, err, log.String())
		}
	}
	if err := connected.Close(); err != nil || cmd.ProcessState.ExitCode() != 0 {
		t.Errorf("after its input has ended: %v, %v\n%s", err, cmd.ProcessState, log.String())
	}
	if !strings.Contains(log.String(), "Serving an assistant at "+server.URL+" (profile desk).") {
		t.Errorf("standard error has %q", log.String())
	}
}

// TestAnInterruptEndsIt sends a signal to the process that perksctl has become.
func TestAnInterruptEndsIt(t *testing.T) {
	cmd := exec.Command("perksctl", "mcp")
	cmd.Env = append(os.Environ(), session.EnvAPIURL+"=http://127.0.0.1:1/v2", session.EnvToken+"=t",
		session.EnvConfigDir+"="+t.TempDir())
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	one := make([]byte, 1) // it has begun
	_, readErr := said.Read(one)
	if err := errors.Join(readErr, cmd.Process.Signal(os.Interrupt)); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != command.ExitInterrupted {
		t.Errorf("exit code %d", code)
	}
}
