//go:build manual

package main

import (
	"example.com/perks/api"
	"example.com/perks/cli"
	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
	"example.com/perks/cmd/dev/manual"
)

// With the tag manual, the program writes its manual pages.
func init() {
	root := cli.NewRoot(session.New(command.SystemStreams(), session.Environment(), api.Build().Version))
	root.Long += "\n" + cli.Reference
	manual.Main(root, "1")
}
