package main

import (
	"errors"
	"log/slog"

	"github.com/spf13/pflag"
)

// limitOptions says how much of the server one caller, and all of them, may have.
type limitOptions struct {
	rate        rate
	burst       int
	connections int
}

func (o *limitOptions) flags(f *pflag.FlagSet) {
	f.Var(&o.rate, "rate-limit", "how often each client may ask; 0 is without limit (default without)")
	f.IntVar(&o.burst, "rate-burst", 0, "how many requests at once --rate-limit lets through of a client that was quiet; 0 is those of one second")
	f.IntVar(&o.connections, "max-connections", 10_000, "how many connections are open at once, if the system lets perksd have twice as many files; a quiet one costs some 20 KiB")
}

func (o *limitOptions) check() error {
	switch {
	case o.burst < 0:
		return usageError{errors.New("--rate-burst must not be negative")}
	case o.burst > 0 && o.rate.perSecond == 0:
		return usageError{errors.New("--rate-burst means nothing without --rate-limit")}
	case o.connections < 1:
		return usageError{errors.New("--max-connections must be at least 1")}
	}
	return nil
}

// roomFor returns how many connections there can be. Half of the files are kept for the databases.
func (o *limitOptions) roomFor(log *slog.Logger) int {
	room := openFiles() / 2
	if room >= o.connections {
		return o.connections
	}
	log.Warn("the system lets perksd have too few files for --max-connections", "max_connections", o.connections, "connections", room, "files_needed", 2*o.connections)
	return room
}
