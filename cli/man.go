package cli

import (
	"context"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/cli/command"
	"example.com/perks/cli/manual"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

const manName = "man"

func newMan(s *session.Session) *cobra.Command {
	var folder string
	cmd := &cobra.Command{
		Use:   manName + " [COMMAND...]",
		Short: "Show the manual page of a command",
		Long: "Show the manual page of a command, or without one that of perksctl, with the program man, which also chooses the pager.\n" +
			"Off a terminal it is plain text, and without man it is the help. --output json has its source. --dir writes the\n" +
			"page, and those of all commands below, into a folder such as ~/.local/share/man/man1, where man finds them.",
		Example: "  perksctl man\n  perksctl man perk redeem\n  perksctl man --dir ~/.local/share/man/man1",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			printer, err := output.New[manual.Page](s.Output, s.Streams, output.View{ID: "name"})
			if err != nil {
				return err
			}
			about, err := find(cmd.Root(), args)
			if err != nil {
				return err
			}
			switch {
			case cmd.Flags().Changed("dir"):
				pages := Manual().Pages(about)
				if err := manual.Write(folder, pages); err != nil {
					return command.FlagFile("dir", err)
				}
				s.Streams.Note("Wrote %d pages into %s.", len(pages), folder)
				return printer.DoneEach(cmd.Context(), pages)
			case !s.Output.IsPlain():
				return printer.One(cmd.Context(), Manual().Page(about))
			}
			if showPage(cmd.Context(), s.Streams, Manual().Page(about)) == nil {
				return nil
			}
			s.Streams.Note("The program man cannot show the page. This is the help.")
			about.InitDefaultHelpFlag()
			return about.Help()
		},
		ValidArgsFunction: completeCommands,
	}
	cmd.Flags().StringVar(&folder, "dir", "", "write the pages into this `folder`")
	return cmd
}

// Manual is the manual of perksctl.
func Manual() manual.Book {
	return manual.Book{Section: 1, Build: api.Build(), Chapters: []manual.Chapter{{Heading: "ENVIRONMENT", Terms: Environment()}, {Heading: "EXIT STATUS", Terms: ExitCodes()}}}
}

// showPage shows a page with the program man. A path with a slash is a file to every man; few read standard input. Interrupts are for the
// pager.
func showPage(ctx context.Context, s *command.Streams, page manual.Page) error {
	folder, err := os.MkdirTemp("", "perksctl-man-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if err := manual.Write(folder, []manual.Page{page}); err != nil {
		return err
	}
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	terminated, stop := signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM)
	defer stop()
	cmd := exec.CommandContext(terminated, "man", filepath.Join(folder, page.File)) // #nosec G204 -- a file of ours
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.In, s.Out, s.Err
	return cmd.Run()
}
