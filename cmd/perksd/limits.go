package main

import "github.com/spf13/pflag"

// limitOptions says how much of the server one caller may have.
type limitOptions struct {
	rate rate
}

func (o *limitOptions) flags(f *pflag.FlagSet) {
	f.Var(&o.rate, "rate-limit", "how often each client may ask; 0 is without limit (default without)")
}
