package main

import (
	"io"
	"log/slog"

	"github.com/spf13/pflag"
)

// logOptions says what the server's log looks like.
type logOptions struct {
	format choice
}

func (o *logOptions) flags(f *pflag.FlagSet) {
	o.format = choice{value: "text", allowed: []string{"text", "json"}}
	f.Var(&o.format, "log-format", "how to write the log")
}

func (o *logOptions) logger(out io.Writer) *slog.Logger {
	if o.format.value == "json" {
		return slog.New(slog.NewJSONHandler(out, nil))
	}
	return slog.New(slog.NewTextHandler(out, nil))
}
