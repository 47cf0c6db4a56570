package server_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"hash"
	"maps"
	"strings"
	"testing"
)

// forgery is a token with exactly one fault. It is built byte by byte, because a library would refuse most of them.
type forgery struct {
	t              *testing.T
	header, claims map[string]any
}

func forgeryOf(t *testing.T, token string) forgery {
	t.Helper()
	parts := strings.Split(token, ".")
	f := forgery{t: t}
	for i, into := range []*map[string]any{&f.header, &f.claims} {
		text, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, into); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// with returns the token with another claim; nil removes it.
func (f forgery) with(name string, value any) forgery {
	f.claims = put(f.claims, name, value)
	return f
}

func (f forgery) withHeader(name string, value any) forgery {
	f.header = put(f.header, name, value)
	return f
}

func put(members map[string]any, name string, value any) map[string]any {
	members = maps.Clone(members)
	if members[name] = value; value == nil {
		delete(members, name)
	}
	return members
}

func encoded(text []byte) string { return base64.RawURLEncoding.EncodeToString(text) }

func (f forgery) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// text is the signed part.
func (f forgery) text() string {
	header, err := json.Marshal(f.header)
	f.must(err)
	claims, err := json.Marshal(f.claims)
	f.must(err)
	return encoded(header) + "." + encoded(claims)
}

func (f forgery) unsigned() string { return f.text() + "." }

// signed signs with HMAC and SHA-256, whatever the header says.
func (f forgery) signed(secret []byte) string { return f.sealed(sha256.New, secret) }

func (f forgery) sealed(function func() hash.Hash, secret []byte) string {
	seal := hmac.New(function, secret)
	seal.Write([]byte(f.text()))
	return f.text() + "." + encoded(seal.Sum(nil))
}

func (f forgery) hmac(alg string, secret []byte) string {
	function := map[string]func() hash.Hash{"HS384": sha512.New384, "HS512": sha512.New}[alg]
	return f.withHeader("alg", alg).sealed(function, secret)
}

func (f forgery) rsa() string {
	f = f.withHeader("alg", "RS256")
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	f.must(err)
	sum := sha256.Sum256([]byte(f.text()))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	f.must(err)
	return f.text() + "." + encoded(signature)
}

func (f forgery) ecdsa() string {
	f = f.withHeader("alg", "ES256")
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	f.must(err)
	sum := sha256.Sum256([]byte(f.text()))
	r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
	f.must(err)
	return f.text() + "." + encoded(append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...))
}

func (f forgery) ed25519() string {
	f = f.withHeader("alg", "EdDSA")
	_, key, err := ed25519.GenerateKey(rand.Reader)
	f.must(err)
	return f.text() + "." + encoded(ed25519.Sign(key, []byte(f.text())))
}
