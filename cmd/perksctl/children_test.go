package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/perks/cli/session"
	"example.com/perks/tui"
)

// spyOnChildren is a program that reads its environment as perksctl does, and starts the programs of the terminal UI.
func spyOnChildren() {
	env := session.Environment()
	d := tui.NewDesktop(os.Stdout, env)
	if err := d.Copy("text"); err != nil {
		fmt.Println(err)
	}
	if err := d.Open("https://images.test/"); err != nil {
		fmt.Println(err)
	}
	fmt.Print(env(session.EnvClientSecret) + " " + env(session.EnvToken))
}

// TestChildrenInheritNoSecret records the environment of the clipboard and browser programs. The editor is tested in
// cli.
func TestChildrenInheritNoSecret(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"xclip", "xdg-open"} {
		script := "#!/bin/sh\nenv > '" + dir + "'/saw-" + name + "\ncat > /dev/null < /dev/null\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	env := append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "DISPLAY=:0", "SSH_TTY=", "SSH_CONNECTION=",
		"WAYLAND_DISPLAY=", "WSL_DISTRO_NAME=", "TERMUX_VERSION=",
		session.EnvClientSecret+"=hush-secret", session.EnvToken+"=hush-token", "A_SETTING=known",
		"GORACE=atexit_sleep_ms=0")
	spy := exec.Command("spy-on-children")
	spy.Env = env
	if out, err := spy.CombinedOutput(); err != nil || string(out) != "hush-secret hush-token" {
		t.Fatalf("%v: %q", err, out)
	}
	for _, name := range []string{"xclip", "xdg-open"} {
		saw, err := os.ReadFile(filepath.Join(dir, "saw-"+name))
		if err != nil || strings.Contains(string(saw), "hush") || !strings.Contains(string(saw), "A_SETTING=known") {
			t.Errorf("%s saw %q, %v", name, saw, err)
		}
	}
}

// TestStartedPrograms finds the source files that start child processes. Before you add one, check what it inherits.
// perksd starts none, so its secrets are not inherited.
func TestStartedPrograms(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "-f",
		"{{if not .Standard}}{{.ImportPath}}\t{{.Dir}}\t{{join .GoFiles \",\"}},{{join .IgnoredGoFiles \",\"}}{{end}}",
		".", "../perksd")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) < 3 || !strings.HasPrefix(fields[0], "example.com/perks/") {
			continue
		}
		for _, name := range strings.Split(fields[2], ",") {
			if name != "" && starts(t, filepath.Join(fields[1], name)) {
				found = append(found, strings.TrimPrefix(fields[0], "example.com/perks/")+"/"+name)
			}
		}
	}
	slices.Sort(found)
	want := []string{
		"cli/event/group_unix.go", "cli/event/group_windows.go", "cli/event/program.go",
		"cli/mcp_unix.go", "cli/mcp_windows.go", // perksctl-mcp, which gets the secrets
		"cli/record/editor.go", "tui/command.go", "tui/desktop.go", "tui/screen/terminal.go",
	}
	if !slices.Equal(found, want) {
		t.Errorf("child processes are started in %q, want %q", found, want)
	}
	text, err := os.ReadFile("main.go")
	if err != nil || strings.Contains(string(text), "os.Getenv") ||
		!strings.Contains(string(text), "session.Environment()") {
		t.Errorf("main does not remove the secrets from the environment: %s, %v", text, err)
	}
}

// starts reports whether a file starts a process.
func starts(t *testing.T, path string) (found bool) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if selected, ok := n.(*ast.SelectorExpr); ok {
			if of, ok := selected.X.(*ast.Ident); ok {
				found = found || slices.Contains([]string{"exec.Command", "exec.CommandContext", "exec.Cmd",
					"os.StartProcess", "syscall.Exec", "syscall.ForkExec", "syscall.StartProcess"},
					of.Name+"."+selected.Sel.Name)
			}
		}
		return true
	})
	return found
}
