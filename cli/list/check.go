package list

import (
	"errors"
	"fmt"
	"strings"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/cli/session"
)

// checked passes pages on. It holds the records that are shown against the filter, if there is a check, and warns of
// the first page that is certainly in another order than was asked for.
func checked[T any](
	s *session.Session, flags Flags, check *api.FilterCheck[T], pages client.Pages[T],
) client.Pages[T] {
	return func(yield func(api.Page[T], error) bool) {
		isDoubted := flags.Sort != ""
		for page, err := range pages {
			if check != nil {
				shown := page.Data
				if flags.Limit > 0 {
					shown = shown[:min(len(shown), max(0, flags.Limit-check.Records))]
				}
				check.Page(shown)
			}
			if isDoubted && api.Unsorted(flags.Sort, page.Data) {
				s.Streams.Warn("This server ignored --sort %s: the list has another order.", flags.Sort)
				isDoubted = false
			}
			if !yield(page, err) {
				return
			}
		}
	}
}

// verdict says which filters the service has ignored: to people as a warning, to scripts as a failure, so that nothing
// acts on records that were not asked for.
func verdict[T any](s *session.Session, check *api.FilterCheck[T]) error {
	err := Ignored(check)
	if err != nil && s.Output.IsTable() {
		s.Streams.Warn("%s", err)
		return nil
	}
	return err
}

// Ignored returns an error that names the filters that the service has ignored; nil if it has used them all.
func Ignored[T any](check *api.FilterCheck[T]) error {
	var flags, counts []string
	for _, ignored := range check.Ignored() {
		flags = append(flags, "--"+ignored.Flag)
		counts = append(counts, display.Count(ignored.Misfits))
	}
	if len(flags) == 0 {
		return nil
	}
	text := fmt.Sprintf("This server ignored %s: %s of %s records do not fit.",
		strings.Join(flags, " and "), strings.Join(counts, " and "), display.Count(check.Records))
	return errors.New(text)
}
