package main

import "fmt"

// target is what a ratio should be. The zero target asks for nothing.
type target struct {
	limit float64
	kind  targetKind
}

type targetKind int

const (
	none targetKind = iota
	atLeast
	atMost
)

func (t target) String() string {
	switch t.kind {
	case atLeast:
		return fmt.Sprintf(">= %.2f", t.limit)
	case atMost:
		return fmt.Sprintf("<= %.2f", t.limit)
	}
	return ""
}

func (t target) isMissedBy(ratio float64) bool {
	return t.kind == atLeast && ratio < t.limit || t.kind == atMost && ratio > t.limit
}

// verdict is what the table says of a ratio.
func (t target) verdict(ratio float64) string {
	switch {
	case t.kind == none:
		return ""
	case t.isMissedBy(ratio):
		return "MISSED"
	}
	return "reached"
}
