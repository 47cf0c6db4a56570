package server_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

	"example.com/perks/api"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

const (
	listPerks      = "#operations-Perks-listPerks"
	listCategories = "#operations-Perks-listPerkCategories"
	issueToken     = "#operations-Authentication-issueToken"
	getHealth      = "#operations-Health_Check-getHealth"
)

func TestInABrowser(t *testing.T) {
	s := servertest.Start(t)
	s.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "tea", Title: "A pot of green tea", Category: new("Hot drinks")}})
	browser := startChromium(t)

	t.Run("every operation is listed, and works with a pasted token", func(t *testing.T) {
		page := openReference(t, browser, s.Root())
		if got, want := ask[string](page, "document.title"), "Perks and properties: API reference"; got != want {
			t.Errorf("the title is %q, want %q", got, want)
		}
		listed := ask[[]string](page, `[...document.querySelectorAll(".opblock")].map(o => o.id.split("-").pop())`)
		if want := servertest.Operations(); !slices.Equal(slices.Sorted(slices.Values(listed)), want) {
			t.Errorf("listed are\n%q\nthe description has\n%q", listed, want)
		}
		page.screenshot("docs")

		page.authorize(s.Token(api.ScopePerksRead))
		if status, body := page.try(listPerks); status != "200" || !strings.Contains(body, "A pot of green tea") {
			t.Errorf("answered with %s: %s", status, body)
		}
	})

	t.Run("a wrong token and a wrong secret are refused without a browser prompt", func(t *testing.T) {
		page := openReference(t, browser, s.Root())
		page.authorize("nonsense")
		if status, body := page.try(listCategories); status != "401" ||
			!strings.Contains(body, string(api.CodeInvalidToken)) {
			t.Errorf("with a wrong token answered with %s: %s", status, body)
		}
		page.expect("401")

		id, _ := s.Client()
		page.signIn(id, "wrong")
		if status, body := page.try(issueToken); status != "401" || !strings.Contains(body, "invalid_client") {
			t.Errorf("with a wrong secret answered with %s: %s", status, body)
		}
		page.expect("401")
	})

	t.Run("a token requested on the page works until the page is closed", func(t *testing.T) {
		page := openReference(t, browser, s.Root())
		page.signIn(s.Client(api.ScopePerksRead))
		if status, body := page.try(issueToken); status != "200" || !strings.Contains(body, "access_token") {
			t.Fatalf("answered with %s: %s", status, body)
		}
		if status, body := page.try(listCategories); status != "200" || !strings.Contains(body, "Hot drinks") {
			t.Errorf("with the token answered with %s: %s", status, body)
		}
		if kept := ask[int](page, "localStorage.length + sessionStorage.length + document.cookie.length"); kept != 0 {
			t.Error("the page has stored something in the browser")
		}
		page.open(s.Root()) // again, without the operation in the address
		if status, body := page.try(listCategories); status != "401" {
			t.Errorf("after the page was closed: answered with %s: %s", status, body)
		}
		page.expect("401")
	})

	t.Run("below a path of a proxy that speaks TLS", func(t *testing.T) {
		target, err := url.Parse(s.Root())
		if err != nil {
			t.Fatal(err)
		}
		proxy := httptest.NewTLSServer(http.StripPrefix("/partner/perks", httputil.NewSingleHostReverseProxy(target)))
		t.Cleanup(proxy.Close)
		page := openReference(t, browser, proxy.URL+"/partner/perks")
		if status, body := page.try(getHealth); status != "200" || !strings.Contains(body, `"ok"`) {
			t.Errorf("answered with %s: %s", status, body)
		}
		page.authorize(s.Token(api.ScopePerksRead))
		if status, body := page.try(listCategories); status != "200" || !strings.Contains(body, "Hot drinks") {
			t.Errorf("answered with %s: %s", status, body)
		}
	})

	t.Run("on a phone", func(t *testing.T) {
		page := openTab(t, browser, s.Root())
		page.do("making the window small", chromedp.EmulateViewport(400, 800, chromedp.EmulateMobile))
		page.open(s.Root())
		page.try(getHealth)
		if width := ask[int](page, "document.documentElement.scrollWidth"); width > 400 {
			t.Errorf("the page is %d pixels wide and does not fit", width)
		}
		page.screenshot("docs-narrow")
	})
}

// openReference opens the page of the server at an address in a desktop-sized window.
func openReference(t *testing.T, browser context.Context, address string) *tab {
	t.Helper()
	origin, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	page := openTab(t, browser, origin.Scheme+"://"+origin.Host)
	page.do("setting the window's size", chromedp.EmulateViewport(1280, 900))
	page.open(address)
	return page
}

// open goes to /docs and waits until the last operation is listed.
func (b *tab) open(address string) {
	b.t.Helper()
	b.do("opening /docs", chromedp.Navigate(address+"/docs"), chromedp.WaitVisible(chromedp.CSS(getHealth)))
}

// authorize types a token into the dialog.
func (b *tab) authorize(token string) {
	b.t.Helper()
	b.fill("#auth-bearer-value", paste("#auth-bearer-value", token))
}

// signIn types a client's id and secret into the dialog.
func (b *tab) signIn(id, secret string) {
	b.t.Helper()
	b.fill("#auth-basic-password", paste("#auth-basic-username", id), paste("#auth-basic-password", secret))
}

// fill fills in the part of the dialog that has the field.
func (b *tab) fill(field string, typing ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	b.do("opening the dialog", chromedp.Click(chromedp.CSS(".auth-wrapper .authorize")))
	b.do("typing", typing...)
	b.do("sending the dialog",
		chromedp.Click(chromedp.CSS(`.auth-container:has(`+field+`) button[type="submit"]`)),
		chromedp.WaitNotPresent(chromedp.CSS(field)),
		chromedp.Click(chromedp.CSS(".modal-ux .close-modal")),
	)
}

// try opens an operation, executes it with the default values, and returns the response's status and body.
func (b *tab) try(operation string) (status, body string) {
	b.t.Helper()
	b.do("trying out "+operation,
		chromedp.Click(chromedp.CSS(operation+" .opblock-summary-control")),
		chromedp.Click(chromedp.CSS(operation+" .try-out__btn")),
		chromedp.Click(chromedp.CSS(operation+" .execute")),
	)
	answer := operation + " .live-responses-table .response "
	status, _, _ = strings.Cut(b.text(answer+".response-col_status"), "\n")
	return status, b.text(answer + ".response-col_description")
}

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

// screenshot saves a picture of the whole page in the directory that PERKS_ARTEFACTS names, if any. A file in the
// checkout would invalidate the cached result of the test.
func (b *tab) screenshot(name string) {
	b.t.Helper()
	directory := os.Getenv("PERKS_ARTEFACTS")
	if directory == "" {
		return
	}
	picture, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		b.t.Fatalf("taking a picture: %v", err)
	}
	if err := os.MkdirAll(directory, 0o755); err != nil {
		b.t.Fatal(err)
	}
	path := filepath.Join(directory, name+".png")
	if err := os.WriteFile(path, picture, 0o644); err != nil {
		b.t.Fatal(err)
	}
	b.t.Logf("a picture of the page is in %s", path)
}
