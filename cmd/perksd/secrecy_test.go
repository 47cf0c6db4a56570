package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"example.com/perks/cmd/dev/programs"
	"example.com/perks/server/servertest"
	"example.com/perks/store/storetest"
)

// leakCheck sends secrets to the right and the wrong parts of requests, and collects all output for a search.
type leakCheck struct {
	t       *testing.T
	url     string
	secrets map[string]string
	read    bytes.Buffer
}

// send collects the response if it is an error.
func (s *leakCheck) send(what, method, path, body string, header map[string]string) {
	s.t.Helper()
	response, answer, err := programs.Send(http.DefaultClient, method, s.url+path, "", body, header)
	if err != nil {
		s.t.Fatal(err)
	}
	if response.StatusCode >= 400 {
		fmt.Fprintf(&s.read, "the response to %s: %s\n", what, answer)
	}
}

// findsNothing searches the output for each secret in all encodings.
func (s *leakCheck) findsNothing() {
	s.t.Helper()
	text := s.read.String()
	for name, secret := range s.secrets {
		sum := sha256.Sum256([]byte(secret))
		for spelling, hidden := range map[string]string{
			"as it is":    secret,
			"URL-encoded": url.QueryEscape(secret),
			"in base64":   base64.StdEncoding.EncodeToString([]byte(secret)),
			"hashed":      hex.EncodeToString(sum[:]),
		} {
			if at := strings.Index(text, hidden); at >= 0 {
				line := text[strings.LastIndexByte(text[:at], '\n')+1:]
				line, _, _ = strings.Cut(line, "\n")
				s.t.Errorf("%s is in the output %s: %s", name, spelling, line)
			}
		}
	}
}

func TestSecretsAndTokensAreInNoOutput(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		t.Run(format, func(t *testing.T) {
			i := programs.Install(t)
			i.ImportCSV("users", "id\nalice\n")
			i.ImportCSV("perks", "id,title,description,city\ntea,Tea,Hot,Bath\n")
			id, secret := i.Client("Leak check")
			server := i.Start("--log-level", "debug", "--log-format", format)
			token := programs.TokenOf(t, http.DefaultClient, server.URL, id, secret).AccessToken
			parts := strings.Split(token, ".")
			s := &leakCheck{t: t, url: server.URL, secrets: map[string]string{
				"the secret": secret, "the token": token, "the token's signature": parts[2],
				"the token's claims": parts[1], "id and secret": id + ":" + secret,
			}}
			s.useCorrectly(id, secret, token)
			s.misuse(id, secret, token)

			var rotated struct {
				Secret string `json:"client_secret"`
			}
			if err := json.Unmarshal([]byte(i.Must("", "client", "rotate-secret", id, "-o", "json")),
				&rotated); err != nil {
				t.Fatal(err)
			}
			s.secrets["the new secret"] = rotated.Secret
			s.useCorrectly(id, secret, token) // the secret is wrong now
			i.Must("", "client", "disable", id)
			s.send("a token of a disabled client", "GET", "/v2/partners/perks", "", bearerHeader(token))
			s.useCorrectly(id, rotated.Secret, token)

			server.Terminate()
			s.read.WriteString(server.Rest())
			s.read.WriteString(i.Must("", "audit"))
			s.read.WriteString(i.Must("", "client", "list", "-o", "json"))
			if got := strings.Count(s.read.String(), "token refused"); got < 5 {
				t.Errorf("the log has only %d reasons why tokens were refused:\n%s", got, s.read.String())
			}
			s.findsNothing()
		})
	}
}

func bearerHeader(token string) map[string]string {
	return map[string]string{"Authorization": "Bearer " + token}
}

func basicHeader(id, secret string) map[string]string {
	return map[string]string{"Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte(id+":"+secret))}
}

func (s *leakCheck) useCorrectly(id, secret, token string) {
	s.send("a secret", "POST", "/v2/auth/token", "{}", basicHeader(id, secret))
	s.send("an encoded secret", "POST", "/v2/auth/token", "{}",
		basicHeader(url.QueryEscape(id), strings.ReplaceAll(url.QueryEscape(secret), "-", "%2D")))
	s.send("a list", "GET", "/v2/partners/perks", "", bearerHeader(token))
	s.send("a redemption", "POST", "/v2/partners/perks/tea/redeem", `{"user_id":"alice"}`, bearerHeader(token))
}

// misuse sends secrets in the wrong parts of requests, as people and programs do by mistake.
func (s *leakCheck) misuse(id, secret, token string) {
	s.send("a wrong secret", "POST", "/v2/auth/token", "{}", basicHeader(id, secret+"x"))
	s.send("a secret for the id", "POST", "/v2/auth/token", "{}", basicHeader(secret, id))
	s.send("a token for the id", "POST", "/v2/auth/token", "{}", basicHeader(token, secret))
	s.send("a secret as a grant", "POST", "/v2/auth/token", fmt.Sprintf(`{"grant_type":%q,"client_secret":%q}`, secret,
		secret), basicHeader(id, secret))
	s.send("a secret as a scope", "POST", "/v2/auth/token", fmt.Sprintf(`{"scope":%q}`, secret),
		basicHeader(id, secret))
	s.send("a secret as a token", "GET", "/v2/partners/perks", "", bearerHeader(secret))
	s.send("a tampered token", "GET", "/v2/partners/perks", "", bearerHeader(token+"x"))
	s.send("a token twice", "GET", "/v2/partners/perks", "", bearerHeader(token+"."+token))
	s.send("a secret as an algorithm", "GET", "/v2/partners/perks", "",
		bearerHeader(base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"`+secret+`"}`))+".e30.AA"))
	for _, hidden := range []string{secret, token, base64.StdEncoding.EncodeToString([]byte(id + ":" + secret))} {
		for _, path := range []string{"/", "/v2/", "/v2/partners/perks/", "/v2/partners/perks/users/",
			"/v2/get-property/", "/v2/auth/", "/docs/"} {
			s.send("a secret in a path", "GET", path+url.PathEscape(hidden), "", bearerHeader(token))
			s.send("a secret in a path, encoded twice", "GET", path+url.PathEscape(url.PathEscape(hidden)), "", nil)
		}
		query := url.QueryEscape(hidden)
		s.send("a secret in the query", "GET", "/v2/partners/perks?access_token="+query, "", nil)
		s.send("a secret to sort by", "GET", "/v2/partners/perks?sort="+query, "", bearerHeader(token))
		s.send("a secret for a number", "GET", "/v2/partners/perks?page="+query, "", bearerHeader(token))
		s.send("a secret for a user", "POST", "/v2/partners/perks/tea/redeem", fmt.Sprintf(`{"user_id":%q}`, hidden),
			bearerHeader(token))
		s.send("a secret for a field", "POST", "/v2/partners/perks/tea/redeem",
			fmt.Sprintf(`{"user_id":"alice",%q:1}`, hidden), bearerHeader(token))
		for _, name := range []string{"X-Request-Id", "User-Agent", "Referer", "Cookie", "Idempotency-Key",
			"If-None-Match", "Content-Type", "Content-Encoding", "X-Forwarded-For", "X-Forwarded-Host", "Traceparent"} {
			header := bearerHeader(token)
			header[name] = hidden
			s.send("a secret as "+name, "POST", "/v2/partners/perks/tea/redeem", `{"user_id":"alice"}`, header)
		}
	}
}

func TestFailedHandshakesAndDatabasesShowNoSecrets(t *testing.T) {
	i := programs.Install(t)
	certFile, keyFile := newOperator(t).put(servertest.NewAuthority(t, "Our own").Issue())
	s := &leakCheck{t: t, secrets: map[string]string{"the token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln",
		"the password": "pass-of-the-database"}}
	server := i.Start("--log-level", "debug", "--tls-cert", certFile, "--tls-key", keyFile)
	for _, hello := range []string{"GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + s.secrets["the token"] +
		"\r\n\r\n", "\x16\x03\x01\x00\x2a" + s.secrets["the token"]} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(server.URL, "https://"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, hello); err != nil {
			t.Fatal(err)
		}
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		answer, _ := io.ReadAll(conn) // any response
		s.read.Write(answer)
		conn.Close()
	}
	server.WaitFor(t, "TLS handshake error")
	server.Terminate()
	s.read.WriteString(server.Rest())
	for _, command := range [][]string{{"serve", "--addr", "127.0.0.1:0"}, {"client", "list"}} {
		for _, address := range []string{"postgres://perks:pass-of-the-database@127.0.0.1:1/perks?connect_timeout=1",
			"postgres://perks:pass-of-the-database@%zz/perks", "mysql://perks:pass-of-the-database@db/perks"} {
			output, err := i.Command(append(command, "--database", address)...).CombinedOutput()
			if err == nil {
				t.Errorf("%v over %s succeeded", command, address)
			}
			s.read.Write(output)
		}
	}
	s.findsNothing()
}

// TestSecretsAreInNoTable reads every row of every table, as a dump would.
func TestSecretsAreInNoTable(t *testing.T) {
	o := newOperatorOf(t, storetest.PostgresDatabase(t))
	var created, rotated clientView
	if err := json.Unmarshal([]byte(o.must("client", "create", "--name", "X", "--id", "x", "-o", "json")),
		&created); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(o.must("client", "rotate-secret", "x", "-o", "json")), &rotated); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), o.env["PERKSD_DATABASE"])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), `SELECT format('SELECT coalesce(string_agg(t::text, E''\n''), '''') FROM %I `+
		`AS t', tablename) FROM pg_tables WHERE schemaname = 'public'`)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	var dump strings.Builder
	for _, table := range tables {
		var text string
		if err := conn.QueryRow(t.Context(), table).Scan(&text); err != nil {
			t.Fatal(err)
		}
		dump.WriteString(text)
	}
	if !strings.Contains(dump.String(), "client.rotate-secret") {
		t.Error("the dump lacks the audit log, so this test shows nothing")
	}
	for _, secret := range []string{created.Secret, rotated.Secret} {
		if strings.Contains(dump.String(), secret) {
			t.Error("a client's secret is in a table")
		}
	}
}
