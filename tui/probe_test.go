package tui_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/tui"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
	"example.com/perks/tui/widget"
)

// probe is a screen that records what the shell does with it.
type probe struct {
	shell     *screen.Shell
	offers    []actions.Offer
	form      *widget.Form
	unsaved   string
	reopens   bool
	done      []actions.ID
	received  []tea.Msg
	do        func(actions.ID) tea.Cmd
	onMessage func(tea.Msg) tea.Cmd
}

func (p *probe) Title() string { return "Probe" }
func (p *probe) Init() tea.Cmd { return nil }
func (p *probe) Update(msg tea.Msg) tea.Cmd {
	p.received = append(p.received, msg)
	if p.onMessage != nil {
		return p.onMessage(msg)
	}
	return nil
}
func (p *probe) Do(id actions.ID) tea.Cmd {
	p.done = append(p.done, id)
	if p.do != nil {
		return p.do(id)
	}
	return nil
}

func (p *probe) Offers() []actions.Offer {
	offers := slices.Clone(p.offers)
	for i, offer := range offers {
		offers[i].Do = func() tea.Cmd { return p.Do(offer.ID) }
	}
	return offers
}

func (p *probe) Resize(int, int)        {}
func (p *probe) View() string           { return "the probe's text" }
func (p *probe) Form() *widget.Form     { return p.form }
func (p *probe) Unsaved() string        { return p.unsaved }
func (p *probe) Reopens() bool          { return p.reopens }
func (p *probe) AccessibleText() string { return "the probe's text" }

func (p *probe) has(id actions.ID) bool { return slices.Contains(p.done, id) }

func received[T tea.Msg](p *probe) (n int) {
	for _, msg := range p.received {
		if _, ok := msg.(T); ok {
			n++
		}
	}
	return n
}

// emptyService has no perks.
var emptyService = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if strings.HasSuffix(r.URL.Path, "/categories") {
		_, _ = w.Write([]byte(`[]`))
		return
	}
	_, _ = w.Write([]byte(`{"data":[],"meta":{"page":1,"per_page":25,"total":0,"total_pages":0}}`))
})

// probed pushes a probe onto the list of perks of an empty service.
func probed(t *testing.T, p *probe, changes ...func(*tui.Options)) *tuitest.Driver {
	t.Helper()
	return probedOver(t, p, emptyService, changes...)
}

func probedOver(t *testing.T, p *probe, service http.Handler, changes ...func(*tui.Options)) *tuitest.Driver {
	t.Helper()
	d := tuitest.StartWithHandler(t, service, changes...)
	d.Settle()
	p.shell = d.App.Shell()
	d.Do(d.App.Push(p))
	return d
}
