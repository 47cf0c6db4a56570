package tui

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os/exec"
	"time"

	"github.com/cli/browser"

	"example.com/perks/api"
	"example.com/perks/api/display"
)

// Open shows an absolute http or https address in a browser, and refuses everything else: what opens addresses also runs
// programs, and would take a leading "-" for an option. Where there is no browser, the error has the address, to be copied.
// A browser that is still starting after two seconds is taken for one that works.
func (d *Desktop) Open(address string) error {
	shown := display.Line(address)
	if problem := api.URLRule(address); problem != "" {
		return fmt.Errorf("%q was not opened: an address %s", shown, problem)
	}
	target, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("%q was not opened: %w", shown, err)
	}
	switch {
	case d.far():
		return fmt.Errorf("no browser can be opened over SSH: open %s in your own", shown)
	case !d.windows():
		return fmt.Errorf("there is no desktop here: open %s in a browser elsewhere", shown)
	}
	d.silence.Do(func() { browser.Stdout, browser.Stderr = io.Discard, io.Discard })
	err = d.browseWithin(target.String())
	switch {
	case err == nil:
		return nil
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("no browser was found: open %s in one yourself", shown)
	}
	return fmt.Errorf("the browser did not open (%w): open %s in one yourself", err, shown)
}

func (d *Desktop) browseWithin(address string) error {
	done := make(chan error, 1)
	go func() { done <- d.browse(address) }()
	select {
	case err := <-done:
		return err
	case <-time.After(d.patience):
		return nil
	}
}
