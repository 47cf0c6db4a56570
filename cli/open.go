package cli

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/cli/command"
	"example.com/perks/cli/completion"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
	"example.com/perks/tui"
)

// address is what open opens.
type address struct {
	URL string `json:"url"`
}

const docsWord = "docs"

func newOpen(s *session.Session) *cobra.Command {
	var justPrint bool
	cmd := session.Command(s, output.View{ID: "url"}, cobra.Command{
		Use:   "open {PERK | docs}",
		Short: "Open a perk's image, or the API's documentation, in a browser",
		Long: "Open a perk's image in a browser, or with docs the service's API reference.\n" +
			"Without a browser, such as over SSH, print the address instead.",
		Example: "  perksctl open coffee-2for1\n  perksctl open docs\n  perksctl open docs --print",
		Args:    command.Exactly("PERK"),

		ValidArgsFunction: completion.InOrder(completion.Perks(s)),
	}, func(cmd *cobra.Command, args []string, printer *output.Printer[address]) error {
		target, err := addressOf(cmd, s, args[0])
		if err != nil {
			return err
		}
		if problem := api.URLRule(target); problem != "" {
			return fmt.Errorf("the address %q cannot be opened: it %s", target, problem)
		}
		if !justPrint {
			err := tui.NewDesktop(s.Streams.Err, s.Env).Open(target)
			if err == nil {
				s.Streams.Note("Opened %s.", target)
				return printer.Done(cmd.Context(), address{target})
			}
			s.Streams.Note("%s.", display.Capital(err.Error()))
		}
		return printer.Text(cmd.Context(), target+"\n", address{target})
	})
	cmd.Flags().BoolVar(&justPrint, "print", false, "print the address and open nothing")
	return cmd
}

func addressOf(cmd *cobra.Command, s *session.Session, what string) (string, error) {
	if what == docsWord {
		connection, err := s.Connection()
		if err != nil {
			return "", err
		}
		base, err := url.Parse(connection.APIURL)
		if err != nil {
			return "", err // not reached: the address was checked
		}
		path := strings.TrimSuffix(strings.TrimRight(base.Path, "/"), "/v2") + "/docs/"
		return base.ResolveReference(&url.URL{Path: path}).String(), nil
	}
	c, _, err := s.Connect()
	if err != nil {
		return "", err
	}
	perk, err := c.Perk(cmd.Context(), what)
	switch {
	case err != nil:
		return "", err
	case perk.ImageURL == nil || *perk.ImageURL == "":
		return "", fmt.Errorf("perk %s has no image to open", what)
	}
	return *perk.ImageURL, nil
}
