package main

import (
	"fmt"
	"strings"
	"testing"
)

func TestNetworks(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "",
		"10.0.0.5":                 "10.0.0.5/32",
		"10.0.0.5, 10.1.2.3/16,":   "10.0.0.5/32,10.1.0.0/16",
		"2001:db8::1,fd00::/8":     "2001:db8::1/128,fd00::/8",
		"0.0.0.0/0,::ffff:1.2.3.4": "0.0.0.0/0,::ffff:1.2.3.4/128",
	} {
		list, err := parseNetworks(text)
		if got := strings.ReplaceAll(strings.Trim(fmt.Sprint(list), "[]"), " ", ","); err != nil || got != want {
			t.Errorf("%q is %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"proxy.example", "10.0.0", "10.0.0.0/33", "10.0.0.1-10.0.0.9"} {
		if _, err := parseNetworks(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
