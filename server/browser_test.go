package server_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/getkin/kin-openapi/openapi3"

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
		if want := described(t); !slices.Equal(slices.Sorted(slices.Values(listed)), want) {
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

// described returns the ids of all operations, sorted.
func described(t *testing.T) []string {
	t.Helper()
	document, err := openapi3.NewLoader().LoadFromData(api.OpenAPI())
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, item := range document.Paths.Map() {
		for _, operation := range item.Operations() {
			ids = append(ids, operation.OperationID)
		}
	}
	slices.Sort(ids)
	return ids
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
	b.do("authorizing with a token",
		chromedp.Click(chromedp.CSS(".auth-wrapper .authorize")),
		paste("#auth-bearer-value", token),
		chromedp.Click(chromedp.CSS(`.auth-container:has(#auth-bearer-value) button[type="submit"]`)),
		chromedp.WaitNotPresent(chromedp.CSS("#auth-bearer-value")),
		chromedp.Click(chromedp.CSS(".modal-ux .close-modal")),
	)
}

// signIn types a client's id and secret into the dialog.
func (b *tab) signIn(id, secret string) {
	b.t.Helper()
	b.do("authorizing with a client's id and secret",
		chromedp.Click(chromedp.CSS(".auth-wrapper .authorize")),
		paste("#auth-basic-username", id),
		paste("#auth-basic-password", secret),
		chromedp.Click(chromedp.CSS(`.auth-container:has(#auth-basic-password) button[type="submit"]`)),
		chromedp.WaitNotPresent(chromedp.CSS("#auth-basic-password")),
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
