package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"
)

func isTerminal(stream any) bool {
	file, isFile := stream.(*os.File)
	return isFile && term.IsTerminal(int(file.Fd()))
}

var errNotConfirmed = errors.New("cancelled; nothing was changed")

// confirm asks before something is lost. Only the whole word will do: a finger on the wrong key is no agreement.
func (p *program) confirm(ctx context.Context, question string) error {
	fmt.Fprintf(p.stderr, "%s\nType yes to go on: ", question)
	answered := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(p.stdin).ReadString('\n') // the end of the input is no yes
		answered <- line
	}()
	select {
	case line := <-answered:
		if strings.TrimSpace(line) == "yes" {
			return nil
		}
	case <-ctx.Done():
		fmt.Fprintln(p.stderr)
	}
	return errNotConfirmed
}
