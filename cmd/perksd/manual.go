//go:build manual

package main

import "example.com/perks/cmd/dev/manual"

// With the tag manual, the program writes its manual pages.
func init() { manual.Main((&program{}).root(), "8") }
