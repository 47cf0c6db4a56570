// Command perksd is the service and the tools of the person who operates it: it serves the API, and makes clients,
// imports and exports records, decides redemptions and reads the audit log at the database's side.
//
// Each command is a file that reads its flags and calls the store or the server; how a request is answered and how a
// record is kept is theirs. Only main ends the process, and only the files named database know which databases there are.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// From the first signal on the usual handling is back, so that a second one ends a program that drains too slowly.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr))
}
