package server_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browserTime bounds all work in the browser, including its start.
const browserTime = 8 * time.Minute

// startChromium runs a headless Chromium that can reach only loopback, until the test ends.
func startChromium(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), browserTime)
	t.Cleanup(cancel)
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromiumPath(t)),
		chromedp.IgnoreCertErrors,                           // the certificate of a test
		chromedp.Flag("proxy-server", "http://127.0.0.1:1"), // where nothing listens
		chromedp.Flag("proxy-bypass-list", "127.0.0.1"),     // the server of the test
		chromedp.Flag("disable-component-update", true),     // these and the defaults stop
		chromedp.Flag("disable-domain-reliability", true),   // its own requests
		chromedp.Flag("no-pings", true),
		chromedp.Flag("disable-gpu", true),
	)
	allocator, stop := chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(stop)
	browser, stop := chromedp.NewContext(allocator)
	t.Cleanup(stop)
	if err := chromedp.Do(browser); err != nil {
		t.Fatalf("starting Chromium: %v", err)
	}
	return browser
}

func chromiumPath(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("This test opens the reference page in Chromium, which is not installed; install your system's package " +
		"chromium, on Debian with 'apt-get install chromium'.")
	return ""
}

// tab is one page of the browser, with its requests and console messages.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu        sync.Mutex
	requested []string
	messages  []string
}

// openTab opens a new page. Requests to another origin and unexpected console messages fail the test at its end.
func openTab(t *testing.T, browser context.Context, origin string) *tab {
	t.Helper()
	ctx, closeTab := chromedp.NewContext(browser)
	b := &tab{t: t, ctx: ctx}
	if err := chromedp.Listen(ctx, b.handle); err != nil {
		t.Fatalf("opening a tab: %v", err)
	}
	t.Cleanup(func() {
		closeTab()
		b.mu.Lock()
		defer b.mu.Unlock()
		asked := 0
		for _, url := range b.requested {
			switch {
			case strings.HasPrefix(url, origin+"/"):
				asked++
			case !strings.HasPrefix(url, "data:"):
				t.Errorf("the page requested another host: %s", url)
			}
		}
		if asked == 0 {
			t.Errorf("the page requested nothing from %s", origin)
		}
		for _, message := range b.messages {
			t.Errorf("the console says: %s", message)
		}
	})
	return b
}

// handle runs for each event of the tab, before the next one is read.
func (b *tab) handle(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		b.requested = append(b.requested, e.Request.URL)
	case *runtime.EventExceptionThrown:
		b.messages = append(b.messages, fmt.Sprintf("%s %v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception))
	case *runtime.EventConsoleAPICalled:
		b.messages = append(b.messages, fmt.Sprintf("console.%s: %s", e.Type, e.Args[0].Value))
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelVerbose || e.Entry.Level == log.EntryLevelInfo {
			return // a hint
		}
		b.messages = append(b.messages, fmt.Sprintf("%s from %s: %s %s", e.Entry.Level, e.Entry.Source, e.Entry.Text,
			e.Entry.URL))
	}
}

// expect removes one console message that must be there, such as that of a response which the test provoked.
func (b *tab) expect(part string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, message := range b.messages {
		if strings.Contains(message, part) {
			b.messages = append(b.messages[:i], b.messages[i+1:]...)
			return
		}
	}
	b.t.Errorf("the console does not mention %q, but %q", part, b.messages)
}

func (b *tab) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, browserTime/4)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.screenshot("failed")
		b.t.Fatalf("%s: %v", what, err)
	}
}

// text waits for an element and returns what it says.
func (b *tab) text(selector string) string {
	b.t.Helper()
	b.do("waiting for "+selector, chromedp.WaitVisible(chromedp.CSS(selector)))
	return ask[string](b, fmt.Sprintf("document.querySelector(%q).innerText", selector))
}

// paste puts a text into a field as a paste does, at once.
func paste(field, text string) chromedp.Action[chromedp.Void] {
	return chromedp.Steps(
		chromedp.WaitVisible(chromedp.CSS(field)),
		chromedp.Focus(chromedp.CSS(field)),
		chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
			_, err := cdp.Call(ctx, t, input.InsertText, input.InsertTextParams{Text: text})
			return err
		}),
	)
}

// ask evaluates JavaScript in the page.
func ask[T any](b *tab, expression string) T {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("evaluating %s: %v", expression, err)
	}
	return value
}

// screenshot saves a picture of the whole page in the folder that PERKS_ARTEFACTS names, if any. A file in the checkout
// would invalidate the cached result of the test.
func (b *tab) screenshot(name string) {
	b.t.Helper()
	folder := os.Getenv("PERKS_ARTEFACTS")
	if folder == "" {
		return
	}
	picture, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		b.t.Fatalf("taking a picture: %v", err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		b.t.Fatal(err)
	}
	path := filepath.Join(folder, name+".png")
	if err := os.WriteFile(path, picture, 0o644); err != nil {
		b.t.Fatal(err)
	}
	b.t.Logf("a picture of the page is in %s", path)
}
