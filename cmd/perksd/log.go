package main

import (
	"io"
	"log/slog"

	"github.com/spf13/pflag"

	"example.com/perks/api/display"
)

// logOptions says what the server's log looks like.
type logOptions struct {
	format, level choice
}

func (o *logOptions) flags(f *pflag.FlagSet) {
	o.format = choice{value: "text", allowed: []string{"text", "json"}}
	f.Var(&o.format, "log-format", "how to write the log")
	o.level = choice{value: "info", allowed: []string{"debug", "info", "warn", "error"}}
	f.Var(&o.level, "log-level", "the least that is logged: info has a line for every request, debug also why a token was refused")
}

func (o *logOptions) logger(out io.Writer) *slog.Logger {
	var options slog.HandlerOptions
	switch o.level.value {
	case "debug":
		options.Level = slog.LevelDebug
	case "warn":
		options.Level = slog.LevelWarn
	case "error":
		options.Level = slog.LevelError
	}
	if o.format.value == "json" {
		return slog.New(slog.NewJSONHandler(display.JSONWriter(out), &options))
	}
	return slog.New(slog.NewTextHandler(display.Writer(out), &options))
}
