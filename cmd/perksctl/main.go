// Command perksctl is the command-line client of the perks service.
package main

import (
	"os"

	"example.com/perks/cli"
	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], command.SystemStreams(), session.Environment()))
}
