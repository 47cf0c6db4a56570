package main

import "testing"

func TestNetworks(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "",
		"10.0.0.5":                 "10.0.0.5/32",
		"10.0.0.5, 10.1.2.3/16,":   "10.0.0.5/32,10.1.0.0/16",
		"2001:db8::1,fd00::/8":     "2001:db8::1/128,fd00::/8",
		"0.0.0.0/0,::ffff:1.2.3.4": "0.0.0.0/0,::ffff:1.2.3.4/128",
	} {
		var n networks
		if err := n.Set(text); err != nil || n.String() != want {
			t.Errorf("%q is %q, %v", text, n.String(), err)
		}
	}
	for _, text := range []string{"proxy.example", "10.0.0", "10.0.0.0/33", "10.0.0.1-10.0.0.9"} {
		if err := new(networks).Set(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
