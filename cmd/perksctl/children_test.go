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

// spyOnChildren is a program that takes its environment as perksctl does, and starts what the terminal UI starts.
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

// TestChildrenInheritNoSecret has the clipboard and the browser write down their environment; what an editor sees is in the tests of cli.
func TestChildrenInheritNoSecret(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"xclip", "xdg-open"} {
		script := "#!/bin/sh\nenv > '" + folder + "'/saw-" + name + "\ncat > /dev/null < /dev/null\n"
		if err := os.WriteFile(filepath.Join(folder, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	env := append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH"), "DISPLAY=:0", "SSH_TTY=", "SSH_CONNECTION=", "WAYLAND_DISPLAY=", "WSL_DISTRO_NAME=", "TERMUX_VERSION=",
		session.EnvClientSecret+"=hush-secret", session.EnvToken+"=hush-token", "A_SETTING=known", "GORACE=atexit_sleep_ms=0")
	spy := exec.Command("spy-on-children")
	spy.Env = env
	if out, err := spy.CombinedOutput(); err != nil || string(out) != "hush-secret hush-token" {
		t.Fatalf("%v: %q", err, out)
	}
	for _, name := range []string{"xclip", "xdg-open"} {
		saw, err := os.ReadFile(filepath.Join(folder, "saw-"+name))
		if err != nil || strings.Contains(string(saw), "hush") || !strings.Contains(string(saw), "A_SETTING=known") {
			t.Errorf("%s saw %q, %v", name, saw, err)
		}
	}
}

// TestWhatPerksctlStartsIsKnown finds in the source of the programs whatever starts a child. What is added here needs a look
// at what it inherits; perksd starts none, so that its own secrets reach nobody.
func TestWhatPerksctlStartsIsKnown(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}\t{{.Dir}}\t{{join .GoFiles \",\"}},{{join .IgnoredGoFiles \",\"}}{{end}}", ".", "../perksd")
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
	if want := []string{"cli/property/editor.go", "tui/desktop.go"}; !slices.Equal(found, want) {
		t.Errorf("children are started in %q, want %q", found, want)
	}
	text, err := os.ReadFile("main.go")
	if err != nil || strings.Contains(string(text), "os.Getenv") || !strings.Contains(string(text), "session.Environment()") {
		t.Errorf("main does not take the secrets out of the environment: %s, %v", text, err)
	}
}

// starts tells whether a file calls what starts a process.
func starts(t *testing.T, path string) (found bool) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if selected, ok := n.(*ast.SelectorExpr); ok {
			if of, ok := selected.X.(*ast.Ident); ok {
				found = found || slices.Contains([]string{"exec.Command", "exec.CommandContext", "exec.Cmd", "os.StartProcess", "syscall.Exec", "syscall.ForkExec", "syscall.StartProcess"}, of.Name+"."+selected.Sel.Name)
			}
		}
		return true
	})
	return found
}
