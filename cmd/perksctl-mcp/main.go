// Command perksctl-mcp serves assistants; perksctl mcp runs it. It is a program of its own because what serves them
// takes time to initialise, which every other command would pay for.
package main

import (
	"os"

	"example.com/perks/cli/assistant"
	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
)

func main() {
	os.Exit(assistant.Main(os.Args[1:], command.SystemStreams(), session.Environment()))
}
