// Package endtoend has nothing but tests: they work with the real perksctl tui in a real terminal, against the real perksd, and make
// sure that the terminal is as it was, however the terminal UI ends.
package endtoend
