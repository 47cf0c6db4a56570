package main

import (
	"bytes"
	"context"
	"net"
	"testing"
	"time"

	"example.com/perks/server"
)

const notWithoutTLS = ", because anyone on the network could read tokens and secrets: " +
	"use --tls-cert and --tls-key, or --behind-proxy if a proxy in front terminates TLS"

func TestServeListensWithoutTLSOnlyOnLoopback(t *testing.T) {
	for _, address := range []string{":0", "0.0.0.0:0", "[::]:0", "192.0.2.1:0", "[2001:db8::1]:0",
		"[::ffff:0.0.0.0]:0", "[::ffff:192.0.2.1]:0"} {
		newOperator(t).refuses(exitUsage, "perksd does not serve plain HTTP on "+address+notWithoutTLS, "serve",
			"--addr", address)
	}
	for _, address := range []string{"127.0.0.1:0", "127.1.2.3:0", "localhost:0", "[::ffff:127.0.0.1]:0"} {
		l, err := listenAt(serveOptions{address: address})
		if err != nil {
			t.Errorf("listening on %s: %v", address, err)
			continue
		}
		if ip := l.Addr().(*net.TCPAddr).IP; !ip.IsLoopback() {
			t.Errorf("for %s it listens on %s", address, ip)
		}
		l.Close()
	}
}

func listenAt(o serveOptions) (net.Listener, error) {
	l, _, err := o.listen(time.Now)
	return l, err
}

// The address counts to which a name resolves, not the name.
func TestServeListensWithoutTLSOnlyOnNamesOfLoopback(t *testing.T) {
	inside, outside := net.IPv4(127, 0, 0, 1), net.IPv4(192, 0, 2, 7)
	lookUpAs(t, outside)
	newOperator(t).refuses(exitUsage, "perksd does not serve plain HTTP on localhost.perks.example:0"+notWithoutTLS,
		"serve", "--addr", "localhost.perks.example:0")
	lookUpAs(t, inside)
	l, err := listenAt(serveOptions{address: "perks.example:0"})
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}

// lookUpAs makes every name resolve to an address, until the test ends.
func lookUpAs(t *testing.T, address net.IP) {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		packet := make([]byte, 1<<10)
		for {
			n, from, err := server.ReadFrom(packet)
			if err != nil {
				return
			}
			_, _ = server.WriteTo(answerWith(packet[:n], address.To4()), from)
		}
	}()
	before := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
	t.Cleanup(func() {
		net.DefaultResolver = before
		server.Close()
	})
}

// answerWith answers a question for an IPv4 address as RFC 1035, section 4 has it, and knows no others.
func answerWith(question []byte, ip net.IP) []byte {
	const header = 12
	name := bytes.IndexByte(question[header:], 0) + header + 1
	answer := append([]byte{}, question[:name+4]...) // the name, its type and class
	answer[2] |= 0x80                                // it is a response
	answer[7], answer[9], answer[11] = 0, 0, 0       // with no records
	if question[name+1] == 1 {
		answer[7] = 1
		answer = append(answer, 0xc0, header, 0, 1, 0, 1, 0, 0, 0, 0, 0, byte(len(ip)))
		answer = append(answer, ip...)
	}
	return answer
}

func TestBehindAProxyItListensAnywhere(t *testing.T) {
	l, err := listenAt(serveOptions{address: ":0", Config: server.Config{BehindProxy: true}})
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}

func TestServeRefusesHalfACertificateAndABadAddress(t *testing.T) {
	o := newOperator(t)
	const both = "give both --tls-cert and --tls-key, or neither"
	o.refuses(exitUsage, both, "serve", "--tls-cert", "cert.pem")
	o.refuses(exitUsage, both, "serve", "--tls-key", "key.pem")
	o.refuses(exitFailure, "reading the certificate: none.pem does not exist", "serve", "--addr", ":0", "--tls-cert",
		"none.pem", "--tls-key", "none.pem")
	o.refuses(exitUsage, "--addr must be HOST:PORT, such as 127.0.0.1:8080, not \"nowhere\"", "serve", "--addr",
		"nowhere")
	o.refuses(exitUsage, "--addr must be HOST:PORT, such as 127.0.0.1:8080, not \"127.0.0.1:99999\"", "serve", "--addr",
		"127.0.0.1:99999")
	o.refuses(exitUsage, "--addr: the host \"nowhere.invalid\" is not known", "serve", "--addr", "nowhere.invalid:80")
	o.hasNoDatabase()
}
