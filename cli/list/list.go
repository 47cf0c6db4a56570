// Package list shows lists: their flags, filters and orders, how much of one is shown, and how a command watches what
// it shows. It also shows and changes records one by one, by their ids.
package list

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/cli/command"
	"example.com/perks/cli/completion"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

// Flags choose how much of a list to show: one page, the first items, or everything.
type Flags struct {
	Page    int64
	PerPage int
	Limit   int
	All     bool
	Sort    string
	Watch   Watch

	SortFields func() []string // to complete, where another flag decides about them; may be nil
}

// Bind declares the flags. The help of --sort names the fields; without any, the list has one order.
func (f *Flags) Bind(cmd *cobra.Command, sortFields []string) {
	flags := cmd.Flags()
	flags.Int64Var(&f.Page, "page", 0, "show this page, from 1")
	flags.IntVar(&f.PerPage, "per-page", 0,
		fmt.Sprintf("items on a page, 1 to %d (default %d)", api.MaxPerPage, api.DefaultPerPage))
	flags.IntVar(&f.Limit, "limit", 0, "show the first `N` items, from as many pages as needed")
	flags.BoolVar(&f.All, "all", false, "show all items, from all pages")
	f.Watch.Bind(cmd)
	if len(sortFields) == 0 {
		return
	}
	flags.StringVar(&f.Sort, "sort", "", "sort by these `fields`, comma-separated, a leading - for descending: "+
		strings.Join(sortFields, ", "))
	completion.Flag(cmd, "sort", completion.List(func(cmd *cobra.Command) (keys []string) {
		fields := sortFields
		if f.SortFields != nil {
			fields = f.SortFields()
		}
		for _, field := range fields {
			keys = append(keys, field, "-"+field)
		}
		return keys
	}))
}

// Check refuses flags that exclude each other, and numbers out of range.
func (f *Flags) Check(cmd *cobra.Command) error {
	changed := cmd.Flags().Changed
	switch {
	case f.All && changed("limit"):
		return command.Usagef("Give --all or --limit, not both.")
	case f.All && changed("page"):
		return command.Usagef("--all shows every page. Leave --page out.")
	case changed("limit") && changed("page"):
		return command.Usagef("--limit counts from the first page. Leave --page out, or use --per-page.")
	case changed("limit") && f.Limit < 1:
		return command.Usagef("--limit must be at least 1.")
	case changed("page") && f.Page < 1:
		return command.Usagef("--page must be at least 1.")
	case changed("per-page") && (f.PerPage < 1 || f.PerPage > api.MaxPerPage):
		return command.Usagef("--per-page must be between 1 and %d.", api.MaxPerPage)
	}
	return nil
}

// Options returns what to ask the server for. To save requests, --all and --limit ask for the largest pages unless
// --per-page is given.
func (f *Flags) Options() client.ListOptions {
	options := client.ListOptions{Page: f.Page, PerPage: f.PerPage, Sort: f.Sort}
	if options.PerPage == 0 && f.All {
		options.PerPage = api.MaxPerPage
	}
	if options.PerPage == 0 && f.Limit > 0 {
		options.PerPage = min(f.Limit, api.MaxPerPage)
	}
	return options
}

// Values completes the flags of a filter, by their names.
type Values map[string]cobra.CompletionFunc

// BindFilter declares a flag for each field of a filter.
func BindFilter[F any](cmd *cobra.Command, fields []api.FilterField[F], values Values) {
	for _, field := range fields {
		if field.IsSwitch {
			cmd.Flags().Bool(field.Flag, false, field.Usage)
		} else {
			cmd.Flags().String(field.Flag, "", field.Usage)
		}
		switch {
		case field.Values != nil:
			completion.Flag(cmd, field.Flag, completion.Fixed(field.Values...))
		case field.Flag == queryFlag:
			completion.Flag(cmd, queryFlag, completion.Query(fields))
		case values[field.Flag] != nil:
			completion.Flag(cmd, field.Flag, values[field.Flag])
		}
	}
}

// ReadFilter returns the filter that the flags ask for: those of the fields, and --query.
func ReadFilter[F any](cmd *cobra.Command, fields []api.FilterField[F]) (filter F, err error) {
	filter, parts, err := readQuery(cmd, fields)
	if err != nil {
		return filter, err
	}
	for _, field := range fields {
		flag := cmd.Flags().Lookup(field.Flag)
		if !flag.Changed || flag.Name == queryFlag {
			continue
		}
		if strings.TrimSpace(flag.Value.String()) == "" {
			return filter, mustNotBeEmpty(flag.Name)
		}
		queried := field.Get(filter)
		if problem := field.Set(&filter, flag.Value.String()); problem != "" {
			return filter, command.Usagef("--%s %q: %s.", field.Flag, flag.Value.String(), problem)
		}
		if field.Get(filter) != queried {
			if err := disagreement(cmd, field, parts); err != nil {
				return filter, err
			}
		}
	}
	return filter, nil
}

func mustNotBeEmpty(flag string) error {
	return command.Usagef("--%s must not be empty. Leave it out to list everything.", flag)
}

// CheckSort checks --sort before anything is sent. It refuses a name that is close to a known one as a typo. It warns
// of any other unknown name, which a newer server may know, and others may silently ignore. Sorting perks by distance
// needs a position, and by relevance words.
func (f *Flags) CheckSort(s *command.Streams, fields []string, filter any) error {
	if f.Sort == "" {
		return nil
	}
	var seen []string
	perks, isOfPerks := filter.(api.PerkFilter)
	for key := range strings.SplitSeq(f.Sort, ",") {
		name := strings.TrimPrefix(strings.TrimSpace(key), "-")
		switch hint := command.DidYouMean(name, fields); {
		case name == "":
			return command.Usagef("--sort has an empty name in it. The fields are %s.", strings.Join(fields, ", "))
		case slices.Contains(seen, name):
			return command.Usagef("--sort names %q twice.", name)
		case isOfPerks && !perks.CanSortBy(name) && slices.Contains(fields, name):
			needed := map[string]string{api.SortDistance: "--near PLACE", api.SortRelevance: "words in --query"}
			return command.Usagef("--sort %s needs %s.", name, needed[name])
		case slices.Contains(fields, name):
		case hint != "":
			return command.Usagef("%q is not a field to sort by.%s The fields are %s.",
				name, hint, strings.Join(fields, ", "))
		default:
			s.Warn("%q is not a sort field that perksctl knows; the server decides.", name)
		}
		seen = append(seen, name)
	}
	return nil
}

// Checks makes the check of what a list shows; it may be nil, and return nil.
type Checks[T any] func() *api.FilterCheck[T]

// Connect connects to the service and shows a list, with --watch again and again.
func Connect[T any](
	cmd *cobra.Command, s *session.Session, flags Flags, view output.View, checks Checks[T],
	pages func(*client.Client) client.Pages[T],
) error {
	return flags.Watch.Run(cmd, s, func() error {
		printer, c, err := session.Begin[T](s, view)
		if err != nil {
			return err
		}
		var check *api.FilterCheck[T]
		if checks != nil {
			check = checks()
		}
		if err := Show(cmd.Context(), s.Streams, printer, flags, checked(s, flags, check, pages(c))); err != nil {
			return err
		}
		return verdict(s, check)
	})
}

// Show writes as many items as the flags ask for, and notes on Err what it left out.
func Show[T any](
	ctx context.Context, s *command.Streams, printer *output.Printer[T], flags Flags, pages client.Pages[T],
) error {
	onePage := !flags.All && flags.Limit == 0
	shown, cut, leftOut := 0, false, 0 // --limit cut items off
	var meta api.PageMeta
	hasNext, incomplete := false, ""
	items := func(yield func(T, error) bool) {
		for page, err := range pages {
			if err != nil {
				var none T
				yield(none, tooLate(err))
				return
			}
			meta, hasNext = page.Meta, page.Next != ""
			incomplete = page.Incomplete
			leftOut += len(page.LeftOut)
			for _, item := range page.Data {
				if flags.Limit > 0 && shown == flags.Limit {
					cut = true
					return
				}
				shown++
				if !yield(item, nil) {
					return
				}
			}
			if flags.Limit > 0 && shown == flags.Limit { // there are more unless this is the last page
				cut = page.Next != "" || meta.TotalPages == 0 && meta.MoreThan == 0 || meta.Page < meta.TotalPages
				return
			}
			if onePage {
				return
			}
		}
	}
	if err := printer.List(ctx, items); err != nil {
		return err
	}
	if incomplete != "" {
		s.Warn("%s", incomplete)
	}
	if leftOut > 0 {
		s.Note("Left out %s of the other kind: this server lists perks and redemptions together.",
			display.Count(leftOut))
	}
	switch {
	case cut && meta.Total > 0:
		s.Warn("--limit cut the list: %s of %s are shown.", display.Count(shown), display.Count(meta.Total))
	case cut:
		s.Warn("--limit cut the list after %s; there may be more.", display.Count(shown))
	case onePage && meta.Page > meta.TotalPages && meta.TotalPages > 0:
		s.Note("There is no page %d; the last one is %d.", meta.Page, meta.TotalPages)
	case onePage && meta.MoreThan > 0:
		s.Note("Page %d of a list of more than %s. See more with --page, or everything with --all.",
			meta.Page, display.Count(meta.MoreThan))
	case onePage && meta.TotalPages > 1:
		s.Note("Page %d of %s, %s in all. See more with --page, or everything with --all.",
			meta.Page, display.Count(meta.TotalPages), display.Count(meta.Total))
	case onePage && hasNext && meta.TotalPages == 0:
		s.Note("There are more. See them with --page, or everything with --all.")
	case shown == 0:
		s.Note("Nothing found.")
	}
	return nil
}

// tooLate says what to do about a page that the service does not count to. Its own advice is for programs.
func tooLate(err error) error {
	refused, ok := errors.AsType[*client.Error](err)
	if !ok || refused.Fields["page"] == nil {
		return err
	}
	late := *refused
	late.Fields = api.FieldErrors{"page": {"is too late to count to; use --all, or narrow the list"}}
	return &late
}

// Kind is a list of records that a filter selects.
type Kind[F, T any] struct {
	Fields []api.FilterField[F]
	Values Values
	Sort   []string // fields to sort by
	View   output.View
	// Query is the help of --query where no field is for words; "" if there is no such flag.
	Query string
	Check func(F) error // what the flags say together; nil is always right
	// More sets what other flags say, and returns fields for it; nil without any.
	More  func(*F) ([]api.FilterField[F], error)
	Pages func(*client.Client, context.Context, F, client.ListOptions) client.Pages[T]
}

// Command adds to a command the flags of the list, and that it shows it. Without other arguments it takes none.
func (k Kind[F, T]) Command(s *session.Session, cmd cobra.Command) *cobra.Command {
	var flags Flags
	if cmd.Args == nil {
		cmd.Args = command.NoArgs
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return k.Show(cmd, s, flags) }
	k.Bind(&cmd, &flags)
	return session.Writes[T](s, &cmd)
}

// Bind declares the flags of the list.
func (k Kind[F, T]) Bind(cmd *cobra.Command, flags *Flags) {
	flags.Bind(cmd, k.Sort)
	BindFilter(cmd, k.Fields, k.Values)
	if k.Query != "" {
		cmd.Flags().String(queryFlag, "", k.Query)
		completion.Flag(cmd, queryFlag, completion.Query(k.Fields))
	}
}

// Show checks the flags, and shows the list that they ask for.
func (k Kind[F, T]) Show(cmd *cobra.Command, s *session.Session, flags Flags) error {
	if err := flags.Check(cmd); err != nil {
		return err
	}
	filter, err := ReadFilter(cmd, k.Fields)
	fields := slices.Clip(k.Fields)
	if err == nil && k.More != nil {
		var more []api.FilterField[F]
		more, err = k.More(&filter)
		fields = append(fields, more...)
	}
	if err == nil && k.Check != nil {
		err = k.Check(filter)
	}
	if err == nil {
		err = flags.CheckSort(s.Streams, k.Sort, filter)
	}
	if err != nil {
		return err
	}
	checks := func() *api.FilterCheck[T] { return api.CheckFilter[F, T](fields, filter) }
	return Connect(cmd, s, flags, k.View, checks, func(c *client.Client) client.Pages[T] {
		return k.Pages(c, cmd.Context(), filter, flags.Options())
	})
}

// Getter reads records by their ids.
type Getter[T any] struct {
	View output.View
	Noun string // what one record is, for errors
	Get  func(ctx context.Context, c *client.Client, id string) (T, error)
	Show func(context.Context, *output.Printer[T], []T) error // nil shows one, or a list
}

// Command adds to a command that it shows the records with the ids in its arguments, with --watch again and again.
// Without other arguments it takes any ids.
func (g Getter[T]) Command(s *session.Session, cmd cobra.Command) *cobra.Command {
	var watch Watch
	if cmd.Args == nil {
		cmd.Args = command.AtLeastOne("ID")
	}
	cmd.RunE = func(cmd *cobra.Command, ids []string) error {
		return watch.Run(cmd, s, func() error { return g.run(cmd.Context(), s, ids) })
	}
	watch.Bind(&cmd)
	return session.Writes[T](s, &cmd)
}

func (g Getter[T]) run(ctx context.Context, s *session.Session, ids []string) error {
	printer, c, err := session.Begin[T](s, g.View)
	if err != nil {
		return err
	}
	records := make([]T, len(ids))
	for i, id := range ids {
		if records[i], err = g.Get(ctx, c, id); err != nil {
			return command.ErrorOf(len(ids), g.Noun+" "+id, err)
		}
	}
	if g.Show != nil {
		return g.Show(ctx, printer, records)
	}
	return printer.OneOrList(ctx, records)
}

// Each changes records in their order, and writes an object for one, and an array for several, even if only some were
// changed. The first failure ends it, and says which were not tried. The noun is what one record is.
func Each[ID ~string, T any](
	ctx context.Context, printer *output.Printer[T], noun string, ids []ID, change func(ID) (T, error),
) error {
	changed := []T{}
	var failure error
	for i, id := range ids {
		record, err := change(id)
		if err != nil {
			failure = command.ErrorOf(len(ids), noun+" "+string(id), err)
			if left := ids[i+1:]; len(left) > 0 {
				advice := "Not tried: " + strings.Join(api.Texts(left), ", ") + "."
				if advised, ok := errors.AsType[*command.Advised](err); ok {
					advice += "\n" + advised.Advice
				}
				failure = &command.Advised{Err: failure, Advice: advice}
			}
			break
		}
		changed = append(changed, record)
	}
	switch {
	case len(ids) > 1:
		return errors.Join(failure, printer.DoneEach(ctx, changed))
	case failure == nil:
		return printer.Done(ctx, changed[0])
	}
	return failure
}
