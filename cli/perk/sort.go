package perk

import (
	"slices"
	"strings"

	"example.com/perks/api"
	"example.com/perks/cli/command"
)

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
