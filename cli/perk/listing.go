package perk

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
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

// Filters choose perks.
type ListFilters struct {
	Query          string
	Category       string
	City           string
	Near           string
	RadiusKM       float64
	IncludeExpired bool
}

// filterFlags are the names of the flags that Bind declares.
var filterFlags = []string{"query", "category", "city", "near", "radius", "include-expired"}

// Bind declares the flags.
func (f *ListFilters) Bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.Query, "query", "", "only perks in whose title, merchant or description each of these `words` begins one")
	flags.StringVar(&f.Category, "category", "", "only this category, by name or id")
	flags.StringVar(&f.City, "city", "", "only this city")
	flags.StringVar(&f.Near, "near", "", "only perks around this position (`LAT,LNG` in degrees)")
	flags.Float64Var(&f.RadiusKM, "radius", 0, "how far from --near, in `km`")
	flags.BoolVar(&f.IncludeExpired, "include-expired", false, "show perks too that have ended")
}

// Used returns the first filter that was given, or "".
func (f *ListFilters) Used(cmd *cobra.Command) string {
	for _, name := range filterFlags {
		if cmd.Flags().Changed(name) {
			return name
		}
	}
	return ""
}

// Apply adds the filters to the page's options. It refuses what cannot be a position or a distance.
func (f *ListFilters) Apply(cmd *cobra.Command, options client.ListOptions) (client.PerkListOptions, error) {
	perks := client.PerkListOptions{
		ListOptions: options, Query: f.Query, Category: f.Category, City: f.City,
		RadiusKM: f.RadiusKM, IncludeExpired: f.IncludeExpired,
	}
	for _, name := range []string{"query", "category", "city"} {
		if flag := cmd.Flags().Lookup(name); flag.Changed && strings.TrimSpace(flag.Value.String()) == "" {
			return perks, command.Usagef("--%s must not be empty; leave it out to list everything.", name)
		}
	}
	switch {
	case f.Near == "" && cmd.Flags().Changed("radius"):
		return perks, command.Usagef("--radius needs --near LAT,LNG.")
	case cmd.Flags().Changed("radius") && !(f.RadiusKM > 0):
		return perks, command.Usagef("--radius must be above 0.")
	case f.Near == "":
		return perks, nil
	}
	point, err := parsePoint(f.Near)
	perks.Near = point
	return perks, err
}

func parsePoint(text string) (*client.Point, error) {
	latText, lngText, _ := strings.Cut(text, ",")
	lat, latErr := strconv.ParseFloat(strings.TrimSpace(latText), 64)
	lng, lngErr := strconv.ParseFloat(strings.TrimSpace(lngText), 64)
	if latErr != nil || lngErr != nil {
		return nil, command.Usagef("--near %q is not a position: give latitude and longitude in degrees, such as 51.5072,-0.1276.", text)
	}
	if problem := api.LatRule(lat); problem != "" {
		return nil, command.Usagef("The latitude in --near %s.", problem)
	}
	if problem := api.LngRule(lng); problem != "" {
		return nil, command.Usagef("The longitude in --near %s.", problem)
	}
	return &client.Point{Lat: lat, Lng: lng}, nil
}

// CheckSort looks at --sort before anything is sent. A name that is close to one of the fields is a slip and is refused. One
// that is like none of them may be a field of a server that knows more: it is sent, with a warning, because some servers
// ignore what they do not know.
func (f *ListFlags) CheckSort(s *command.Streams, fields []string) error {
	if f.Sort == "" {
		return nil
	}
	var seen []string
	for key := range strings.SplitSeq(f.Sort, ",") {
		name := strings.TrimPrefix(strings.TrimSpace(key), "-")
		switch hint := command.DidYouMean(name, fields); {
		case name == "":
			return command.Usagef("--sort has an empty name in it. The fields are %s.", strings.Join(fields, ", "))
		case slices.Contains(seen, name):
			return command.Usagef("--sort names %q twice.", name)
		case slices.Contains(fields, name):
		case hint != "":
			return command.Usagef("%q is not a field to sort by.%s The fields are %s.", name, hint, strings.Join(fields, ", "))
		default:
			s.Warn("%q is no field to sort by that perksctl knows; the server decides.", name)
		}
		seen = append(seen, name)
	}
	return nil
}

// CheckDistance refuses an order by distance without a place to measure it from.
func (f *ListFlags) CheckDistance(filters ListFilters) error {
	for key := range strings.SplitSeq(f.Sort, ",") {
		if strings.TrimPrefix(strings.TrimSpace(key), "-") == api.SortDistance && filters.Near == "" {
			return command.Usagef("--sort %s needs --near LAT,LNG.", api.SortDistance)
		}
	}
	return nil
}

// ShowList writes the items of the pages as far as the flags say, and tells on Err what was left out.
func ShowList[T any](ctx context.Context, s *command.Streams, printer *output.Printer[T], flags ListFlags, pages iter.Seq2[api.Page[T], error]) error {
	onePage := !flags.All && flags.Limit == 0
	shown, cut := 0, false // there were more items than --limit lets through
	var meta api.PageMeta
	items := func(yield func(T, error) bool) {
		for page, err := range pages {
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			meta = page.Meta
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
			if flags.Limit > 0 && shown == flags.Limit { // which is a cut unless this is known to be the last page
				cut = meta.TotalPages == 0 || meta.Page < meta.TotalPages
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
	switch {
	case cut && meta.Total > 0:
		s.Warn("--limit cut the list: %d of %d are shown.", shown, meta.Total)
	case cut:
		s.Warn("--limit cut the list after %d; there may be more.", shown)
	case onePage && meta.Page > meta.TotalPages && meta.TotalPages > 0:
		s.Note("There is no page %d; the last one is %d.", meta.Page, meta.TotalPages)
	case onePage && meta.TotalPages > 1:
		s.Note("Page %d of %d, %d in all. See more with --page, or everything with --all.", meta.Page, meta.TotalPages, meta.Total)
	case shown == 0:
		s.Note("Nothing was found.")
	}
	return nil
}
