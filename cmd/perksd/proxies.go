package main

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/spf13/pflag"
)

// networks is a flag that takes IP addresses and ranges of them.
type networks struct{ list []netip.Prefix }

func (n *networks) flag(f *pflag.FlagSet) {
	f.Var(n, "trusted-proxies", "with --behind-proxy, the addresses of all proxies, such as 10.0.0.5,10.1.0.0/16; nobody else's word counts (default whoever is connected, as the only proxy)")
}

// check comes once all flags are known.
func (n *networks) check(behindProxy bool) error {
	if len(n.list) > 0 && !behindProxy {
		return usageError{errors.New("--trusted-proxies means nothing without --behind-proxy")}
	}
	return nil
}

func (n *networks) String() string {
	texts := make([]string, len(n.list))
	for i, network := range n.list {
		texts[i] = network.String()
	}
	return strings.Join(texts, ",")
}

// Type is how help shows the value.
func (n *networks) Type() string { return "CIDR,..." }

// Set reads the list. An address alone is a range of one.
func (n *networks) Set(text string) error {
	var list []netip.Prefix
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		if address, err := netip.ParseAddr(part); err == nil {
			list = append(list, netip.PrefixFrom(address, address.BitLen()))
			continue
		}
		network, err := netip.ParsePrefix(part)
		if err != nil {
			return fmt.Errorf("%q is neither an IP address nor a range of them such as 10.1.0.0/16", part)
		}
		list = append(list, network.Masked())
	}
	n.list = list
	return nil
}
