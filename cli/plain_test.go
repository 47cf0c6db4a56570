package cli_test

import (
	"io"
	"net"
	"regexp"
	"strings"
	"testing"

	"example.com/perks/cli/session"
)

// librariesWords is how Go and its libraries speak of their own functions, types and states.
var librariesWords = regexp.MustCompile(strings.Join([]string{
	`strconv\.`, `(^| )(yaml|json|template|x509|tls|csv|flag|exec|fs):`, `executing "`, `read \.`, `dial tcp`,
	`net/http`, `net/url`, `fork/exec`, `%!`,
	`\bopen [^ ]+:`, `\bread [^ ]+:`, `\bwrite [^ ]+:`, `\bstat [^ ]+:`, `\bmkdir [^ ]+:`, `\bparse "`,
	`parsing (time|regexp)`, `parse error`,
	`invalid character`, `unexpected EOF`, `end of JSON`, `looking for beginning`, `cannot unmarshal`, `Go value`,
	`Go struct`, `interface \{\}`,
	`did not find expected`, `could not find expected`, `cannot start any token`, `end of stream`, `not found in type`,
	`Invalid argument "`, `shorthand`, `Flag needs`,
	`malformed`, `no such (host|file)`, `missing protocol`, `unsupported protocol`, `exit status`, `file not found`,
	`illegal base64`,
	`context (deadline|canceled)`, `\bEOF\b`,
}, "|"))

// answers starts a server that sends these bytes to every request, and returns its address.
func answers(t *testing.T, reply string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer connection.Close()
				_, _ = connection.Read(make([]byte, 4096))
				_, _ = io.WriteString(connection, reply)
			}()
		}
	}()
	return "http://" + listener.Addr().String() + "/v2"
}

// TestRepliesThatAreNotHTTP reads what breaks the protocol. The script words.txtar has all other errors of libraries.
func TestRepliesThatAreNotHTTP(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for reply, want := range map[string]string{
		"hello\r\n\r\n":                                 "what came back is not HTTP. Is the port right?",
		"HTTP/1.1 xx OK\r\n\r\n":                        "what came back is not HTTP",
		ok + "foo\r\n\r\n":                              "what came back is not HTTP",
		ok + "Content-Length: x\r\n\r\n":                "what came back is not HTTP",
		ok + "Transfer-Encoding: chunked\r\n\r\nzz\r\n": "what came back is not HTTP",
		ok + "Content-Length: 100\r\n\r\n{":             "the response was cut off",
		"HTTP/1.1 302 Found\r\nLocation: /v2/x\r\nContent-Length: 0\r\n\r\n":      "redirects more than 5 times",
		"HTTP/1.1 302 Found\r\nLocation: http://[::\r\nContent-Length: 0\r\n\r\n": "redirects to an invalid URL",
		"does not speak TLS": "does not speak TLS",
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel() // some wait before they try again
			address := answers(t, reply)
			if reply == want {
				address = strings.Replace(address, "http:", "https:", 1)
			}
			x := newTerminal(t, map[string]string{session.EnvAPIURL: address, session.EnvToken: "t"})
			r := x.run("perk", "list", "--timeout", "20s")
			if found := librariesWords.FindString(r.err); r.code == 0 || !strings.Contains(r.err, want) || found != "" {
				t.Errorf("exit code %d, %q, want %q and no %q", r.code, r.err, want, found)
			}
		})
	}
}
