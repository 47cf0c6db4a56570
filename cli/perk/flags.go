package perk

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/cli/command"
)

// Flags choose how much of a list is shown: one page, the first items, or everything.
type ListFlags struct {
	Page    int64
	PerPage int
	Limit   int
	All     bool
	Sort    string
}

// Bind declares the flags. The fields are named in the help of --sort.
func (f *ListFlags) Bind(cmd *cobra.Command, sortFields []string) {
	flags := cmd.Flags()
	flags.Int64Var(&f.Page, "page", 0, "show this page, from 1")
	flags.IntVar(&f.PerPage, "per-page", 0, "items on a page, 1 to "+strconv.Itoa(api.MaxPerPage)+" (default "+strconv.Itoa(api.DefaultPerPage)+")")
	flags.IntVar(&f.Limit, "limit", 0, "show the first `N` items, over as many pages as that takes")
	flags.BoolVar(&f.All, "all", false, "show every item, over all pages")
	flags.StringVar(&f.Sort, "sort", "", "sort by these `fields`, comma-separated, a leading - for descending: "+strings.Join(sortFields, ", "))
}

// Check refuses flags that exclude each other and numbers that no server takes.
func (f *ListFlags) Check(cmd *cobra.Command) error {
	changed := cmd.Flags().Changed
	switch {
	case f.All && changed("limit"):
		return command.Usagef("--all and --limit exclude each other.")
	case f.All && changed("page"):
		return command.Usagef("--all shows every page; leave --page out.")
	case changed("limit") && changed("page"):
		return command.Usagef("--limit counts from the first page; leave --page out, or use --per-page.")
	case changed("limit") && f.Limit < 1:
		return command.Usagef("--limit must be at least 1.")
	case changed("page") && f.Page < 1:
		return command.Usagef("--page must be at least 1.")
	case changed("per-page") && (f.PerPage < 1 || f.PerPage > api.MaxPerPage):
		return command.Usagef("--per-page must be between 1 and %d.", api.MaxPerPage)
	}
	return nil
}

// Options returns what to ask the server for. Where many items are wanted and nothing else is said, pages are as long as
// they can be, to save requests.
func (f *ListFlags) Options() client.ListOptions {
	options := client.ListOptions{Page: f.Page, PerPage: f.PerPage, Sort: f.Sort}
	if options.PerPage == 0 && f.All {
		options.PerPage = api.MaxPerPage
	}
	if options.PerPage == 0 && f.Limit > 0 {
		options.PerPage = min(f.Limit, api.MaxPerPage)
	}
	return options
}

// onePage tells whether the list ends with the first page that comes.
func (f *ListFlags) onePage() bool { return !f.All && f.Limit == 0 }
