// Command perksctl is the command-line client of the perks service.
package main

import (
	"os"

	"example.com/perks/cli"
	"example.com/perks/cli/session"
	"example.com/perks/cli/streams"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], streams.System(), session.Environment()))
}
