package webhook_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/webhook"
)

// codeOf returns the blocks of docs/webhooks.md in a language.
func codeOf(t *testing.T, language string) (blocks []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(string(text), "\n```"+language+"\n")[1:] {
		block, _, _ := strings.Cut(part, "```\n")
		blocks = append(blocks, block)
	}
	return blocks
}

// posted is a delivery, and whether a receiver must take it.
type posted struct {
	name    string
	header  http.Header
	body    []byte
	isValid bool
}

// deliveries are the cases that every receiver must tell apart.
func deliveries(t *testing.T, text string) []posted {
	t.Helper()
	secret, err := webhook.ParseSecret(text)
	if err != nil {
		t.Fatal(err)
	}
	other, err := webhook.ParseSecret(webhook.NewSecret())
	if err != nil {
		t.Fatal(err)
	}
	id, now := "redemption/0195b2c4-9a02-7d10-8f44-c2a77b1d0e52", time.Now()
	body, err := webhook.Body(api.Event{ID: id, Type: api.EventRedemptionMade, At: now, Subject: id,
		Redemption: &api.RedemptionRecord{Redemption: api.Redemption{UserID: "zoë", PerkID: "coffee"}}})
	if err != nil {
		t.Fatal(err)
	}
	valid := webhook.Header(id, now, body, secret)
	renamed := valid.Clone()
	renamed.Set(webhook.HeaderID, "another")
	return []posted{
		{"a good one", valid, body, true},
		{"one while the secret changes", webhook.Header(id, now, body, other, secret), body, true},
		{"one by another secret", webhook.Header(id, now, body, other), body, false},
		{"one with another body", valid, bytes.Replace(body, []byte("coffee"), []byte("spa"), 1), false},
		{"one with another id", renamed, body, false},
		{"an old one", webhook.Header(id, now.Add(-10*time.Minute), body, secret), body, false},
		{"one from the future", webhook.Header(id, now.Add(10*time.Minute), body, secret), body, false},
		{"one without headers", http.Header{}, body, false},
	}
}

// modules is the directory with the packages of npm, which make webhook-receivers sets, also as part of make test.
// Without it, the receiver that needs them is left out.
func modules() string { return os.Getenv("PERKS_NODE_MODULES") }

func TestReceiversTakeOnlyWhatIsSigned(t *testing.T) {
	t.Parallel()
	receivers := map[string]func(t *testing.T, dir string) *exec.Cmd{
		"go": func(t *testing.T, dir string) *exec.Cmd {
			// Built from here, so that it uses the library of this module's go.mod.
			save(t, dir, "receiver.go", codeOf(t, "go")[0])
			build := exec.Command("go", "build", "-o", filepath.Join(dir, "receiver"), filepath.Join(dir, "receiver.go"))
			if said, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, said)
			}
			return exec.Command(filepath.Join(dir, "receiver"))
		},
		"python": func(t *testing.T, dir string) *exec.Cmd {
			return exec.Command("python3", save(t, dir, "receiver.py", codeOf(t, "python")[0]))
		},
	}
	if modules() != "" {
		receivers["js"] = func(t *testing.T, dir string) *exec.Cmd {
			if err := os.Symlink(filepath.Join(modules(), "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
				t.Fatal(err)
			}
			return exec.Command("node", save(t, dir, "receiver.mjs", codeOf(t, "js")[0]))
		}
	}
	for name, prepare := range receivers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, secret := t.TempDir(), webhook.NewSecret()
			url := start(t, prepare(t, dir), secret)
			for _, d := range deliveries(t, secret) {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(d.body))
				if err != nil {
					t.Fatal(err)
				}
				request.Header = d.header.Clone()
				response, err := http.DefaultClient.Do(request)
				if err != nil {
					t.Fatalf("%s: %v", d.name, err)
				}
				response.Body.Close()
				want := http.StatusUnauthorized
				if d.isValid {
					want = http.StatusNoContent
				}
				if response.StatusCode != want {
					t.Errorf("%s: got %d, want %d", d.name, response.StatusCode, want)
				}
			}
			post := exec.Command("sh", save(t, dir, "post.sh", codeOf(t, "sh")[1]), url,
				save(t, dir, "body.json", `{"type":"test","data":{"subject":"none"}}`))
			post.Env = append(os.Environ(), "PERKS_WEBHOOK_SECRET="+secret)
			if said, err := post.CombinedOutput(); err != nil {
				t.Errorf("post.sh: %v\n%s", err, said)
			}
		})
	}
}

func save(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// start starts a receiver on a free port, and returns its URL once it listens.
func start(t *testing.T, cmd *exec.Cmd, secret string) string {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	_, port, _ := net.SplitHostPort(address)
	cmd.Env = append(os.Environ(), "PORT="+port, "PERKS_WEBHOOK_SECRET="+secret)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		if connection, err := net.Dial("tcp", address); err == nil {
			connection.Close()
			return fmt.Sprintf("http://%s/perks", address)
		}
		select {
		case <-poll.C:
		case <-ended:
			t.Fatalf("the receiver has ended: %v\n%s", cmd.ProcessState, said.String())
		case <-t.Context().Done():
			t.Fatal("the receiver does not listen")
		}
	}
}

// TestTheShellVerifiesWhatIsSigned runs the script of the document on files.
func TestTheShellVerifiesWhatIsSigned(t *testing.T) {
	t.Parallel()
	dir, secret := t.TempDir(), webhook.NewSecret()
	script := save(t, dir, "verify.sh", codeOf(t, "sh")[0])
	for _, d := range deliveries(t, secret) {
		var headers strings.Builder
		_, _ = io.WriteString(&headers, "POST /perks HTTP/1.1\r\nHost: localhost:1\r\n")
		_ = d.header.Write(&headers) // to memory
		verify := exec.Command("sh", script, save(t, dir, "headers.txt", headers.String()),
			save(t, dir, "body.json", string(d.body)))
		verify.Env = append(os.Environ(), "PERKS_WEBHOOK_SECRET="+secret)
		said, err := verify.CombinedOutput()
		if isTaken := err == nil; isTaken != d.isValid {
			t.Errorf("%s: %v\n%s", d.name, err, said)
		}
	}
}
