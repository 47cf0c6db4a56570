// Package webhook is what everybody shares who sends or receives events by the Standard Webhooks specification:
// secrets, headers, signatures, the body, and when a failed delivery is tried again.
package webhook

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"example.com/perks/api"
)

// The headers of a delivery.
const (
	HeaderID        = standardwebhooks.HeaderWebhookID
	HeaderTimestamp = standardwebhooks.HeaderWebhookTimestamp
	HeaderSignature = standardwebhooks.HeaderWebhookSignature
)

// Tolerance is how far the time of a delivery may be from the receiver's.
const Tolerance = 5 * time.Minute

const (
	secretPrefix = "whsec_"
	newSecret    = 32 // bytes
	// The bounds of the specification, in bytes.
	minSecret = 24
	maxSecret = 64
)

// Secret signs deliveries. Its text, which begins with whsec_, is never printed by fmt.
type Secret struct{ key string }

// NewSecret returns the text of a new random secret.
func NewSecret() string {
	key := make([]byte, newSecret)
	_, _ = rand.Read(key) // never fails
	return secretPrefix + base64.StdEncoding.EncodeToString(key)
}

// ParseSecret reads the text of a secret.
func ParseSecret(text string) (Secret, error) {
	encoded, isPrefixed := strings.CutPrefix(text, secretPrefix)
	key, err := base64.StdEncoding.DecodeString(encoded)
	if !isPrefixed || err != nil || len(key) < minSecret || len(key) > maxSecret {
		return Secret{}, fmt.Errorf("a secret is %s and %d to %d bytes in base64, as the service showed it", secretPrefix,
			minSecret, maxSecret)
	}
	return Secret{string(key)}, nil
}

// String hides the secret.
func (Secret) String() string { return "[secret]" }

// GoString hides the secret.
func (Secret) GoString() string { return "[secret]" }

func (s Secret) signer() *standardwebhooks.Webhook {
	signer, _ := standardwebhooks.NewWebhookRaw([]byte(s.key)) // never fails
	return signer
}

// Sign returns the signature of a body that is sent under an id at a time, such as "v1,...".
func (s Secret) Sign(id string, at time.Time, body []byte) string {
	signature, _ := s.signer().Sign(id, at, body) // never fails
	return signature
}

// Header returns the headers of a delivery, with a signature by each secret.
func Header(id string, at time.Time, body []byte, secrets ...Secret) http.Header {
	signatures := make([]string, len(secrets))
	for i, secret := range secrets {
		signatures[i] = secret.Sign(id, at, body)
	}
	header := http.Header{}
	header.Set(HeaderID, id)
	header.Set(HeaderTimestamp, strconv.FormatInt(at.Unix(), 10))
	header.Set(HeaderSignature, strings.Join(signatures, " "))
	return header
}

// Verify returns nil if a delivery was signed with one of the secrets, at about now. Otherwise the error says which
// check failed.
func Verify(h http.Header, body []byte, now time.Time, secrets ...Secret) error {
	for _, name := range []string{HeaderID, HeaderTimestamp, HeaderSignature} {
		if len(h.Values(name)) != 1 || h.Get(name) == "" {
			return fmt.Errorf("the delivery has not exactly one header %s", name)
		}
	}
	seconds, err := strconv.ParseInt(h.Get(HeaderTimestamp), 10, 64)
	if err != nil {
		return fmt.Errorf("the header %s is %q, which is not a number of seconds since 1970", HeaderTimestamp,
			h.Get(HeaderTimestamp))
	}
	at := time.Unix(seconds, 0)
	switch age := now.Sub(at); {
	case age > Tolerance:
		return fmt.Errorf("the delivery is too old: it was sent at %s, and at most %s may pass", moment(at), Tolerance)
	case age < -Tolerance:
		return fmt.Errorf("the delivery is from the future: it was sent at %s; check this machine's clock", moment(at))
	}
	for _, secret := range secrets {
		if secret.signer().VerifyIgnoringTimestamp(body, h) == nil {
			return nil
		}
	}
	return ErrSignature
}

// ErrSignature says that a delivery was signed with another secret, or changed.
var ErrSignature = errors.New("no signature matches: the secret is another one, or the body is not as it was sent, " +
	"byte by byte")

func moment(at time.Time) string { return at.UTC().Format(time.RFC3339) }

// Body returns the body of the delivery of an event. The same event always has the same one.
func Body(e api.Event) ([]byte, error) {
	return api.EncodeJSON(struct {
		Type      api.EventType `json:"type"`
		Timestamp string        `json:"timestamp"`
		Data      api.Event     `json:"data"`
	}{e.Type, e.At.UTC().Format("2006-01-02T15:04:05.000Z07:00"), e})
}
