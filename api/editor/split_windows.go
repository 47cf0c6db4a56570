package editor

import (
	"errors"
	"os"
	"strings"
)

// Split returns the words of a command line. It knows only double quotes, because a backslash separates directories. A path without arguments needs no quotes
// around spaces.
func Split(line string) ([]string, error) {
	if info, err := os.Stat(line); err == nil && !info.IsDir() {
		return []string{line}, nil
	}
	var words []string
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	if strings.Count(line, `"`)%2 == 1 {
		return nil, errors.New("a quote is not closed")
	}
	return words, nil
}
