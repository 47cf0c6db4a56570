package listing

import (
	"slices"
	"strings"

	"example.com/perks/api"
	"example.com/perks/cli/command"
	"example.com/perks/cli/exit"
	"example.com/perks/cli/streams"
)

// CheckSort looks at --sort before anything is sent. A name that is close to one of the fields is a slip and is refused. One
// that is like none of them may be a field of a server that knows more: it is sent, with a warning, because some servers
// ignore what they do not know.
func (f *Flags) CheckSort(s *streams.Streams, fields []string) error {
	if f.Sort == "" {
		return nil
	}
	var seen []string
	for key := range strings.SplitSeq(f.Sort, ",") {
		name := strings.TrimPrefix(strings.TrimSpace(key), "-")
		switch hint := command.DidYouMean(name, fields); {
		case name == "":
			return exit.Usagef("--sort has an empty name in it. The fields are %s.", strings.Join(fields, ", "))
		case slices.Contains(seen, name):
			return exit.Usagef("--sort names %q twice.", name)
		case slices.Contains(fields, name):
		case hint != "":
			return exit.Usagef("%q is not a field to sort by.%s The fields are %s.", name, hint, strings.Join(fields, ", "))
		default:
			s.Warn("%q is no field to sort by that perksctl knows; the server decides.", name)
		}
		seen = append(seen, name)
	}
	return nil
}

// CheckDistance refuses an order by distance without a place to measure it from.
func (f *Flags) CheckDistance(filters Filters) error {
	for key := range strings.SplitSeq(f.Sort, ",") {
		if strings.TrimPrefix(strings.TrimSpace(key), "-") == api.SortDistance && filters.Near == "" {
			return exit.Usagef("--sort %s needs --near LAT,LNG.", api.SortDistance)
		}
	}
	return nil
}
