package perk

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/cli/command"
)

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
