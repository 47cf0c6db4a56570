package cli_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// receive starts a receiver of webhooks whose address is $RECEIVER. It verifies each delivery by the library of the
// Standard Webhooks and the secret in the first file, adds its body to the second one, and answers 204. If a third file
// is there, it answers with the status in it instead, and the address /moved redirects.
func receive(ts *testscript.TestScript, _ bool, args []string) {
	hook, err := standardwebhooks.NewWebhook(strings.TrimSpace(ts.ReadFile(args[0])))
	ts.Check(err)
	received, status := ts.MkAbs(args[1]), ts.MkAbs(args[2])
	var mu sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		code, text := http.StatusNoContent, ""
		if wanted, err := os.ReadFile(status); err == nil {
			_, _ = fmt.Sscan(string(wanted), &code, &text)
		}
		if err := hook.Verify(body, r.Header); err != nil {
			code, text = http.StatusUnauthorized, err.Error()
		}
		if r.URL.Path == "/moved" {
			w.Header().Set("Location", "/")
			code = http.StatusFound
		}
		if code == http.StatusNoContent {
			file, err := os.OpenFile(received, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err == nil {
				defer file.Close()
				_, err = fmt.Fprintf(file, "%s %s %s\n", r.Header.Get("webhook-id"), r.Header.Get("User-Agent"), body)
			}
			if err != nil {
				code = http.StatusTeapot
			}
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, text)
	}))
	ts.Defer(server.Close)
	ts.Setenv("RECEIVER", server.URL)
}
