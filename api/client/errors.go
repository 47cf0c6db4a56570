package client

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/go-resty/resty/v2"

	"example.com/perks/api"
)

// Error is a response other than the one asked for: the server refused or failed, or it is not the service at all.
type Error struct {
	Status    int             // of the HTTP response
	Code      api.Code        // the server's, or http_ and the status, such as http_400
	Message   string          // a sentence for people
	Fields    api.FieldErrors // what is wrong with which field, if the server says so
	Param     string          // of what was not found, as in api.Error, if the server says so
	RequestID string          // if the server gives one

	// RetryAfter is how long the server asks to wait; 0 if it does not say.
	RetryAfter time.Duration

	// NotFromService says that a refusal is not a JSON object, or a success a web page, so that the response may not
	// come from the service but from a proxy before it.
	NotFromService bool

	// CredentialsRefused says that the service issues no token for the credentials, whatever status it says so with.
	CredentialsRefused bool

	// Unsupported says that the service lacks the endpoint, which is beyond the specification.
	Unsupported bool

	// OutcomeUnknown says that the request was to change something, and that the response does not tell whether it did.
	OutcomeUnknown bool

	// KeyUnused says that the service found nothing that was made under the request's idempotency key. So no earlier
	// request under that key has changed anything, unless the key is so old that it was forgotten.
	KeyUnused bool
}

// Error returns the message, followed by each field's messages if there are any.
func (e *Error) Error() string { return e.Unwrap().Error() }

// LoginNeeded tells whether the service refuses the token or the credentials.
func (e *Error) LoginNeeded() bool {
	return e.Status == http.StatusUnauthorized || e.CredentialsRefused
}

// Unwrap returns the error as an *api.Error, for api.CodeOf.
func (e *Error) Unwrap() error {
	return &api.Error{Code: e.Code, Message: e.Message, Fields: e.Fields, Param: e.Param}
}

// Unreachable means that no complete response came: the server was not found, refused the connection or didn't reply.
type Unreachable struct {
	Address string // of the API
	Err     error

	// OutcomeUnknown says that the request was to change something and may have reached the server.
	OutcomeUnknown bool
	// NotSent says that no part of the request has left this computer.
	NotSent bool
}

// TimedOut tells whether the request ran out of time.
func (u *Unreachable) TimedOut() bool {
	network, isNetwork := errors.AsType[net.Error](u.Err)
	return errors.Is(u.Err, context.DeadlineExceeded) || isNetwork && network.Timeout()
}

func (u *Unreachable) Error() string {
	text := fmt.Sprintf("No reply from %s: %s.", u.Address, u.Reason())
	if u.OutcomeUnknown {
		text += " The request may have been carried out."
	}
	if advice := u.Advice(); advice != "" {
		text += " " + advice
	}
	return text
}

// Reason says why no response came, in words that follow a colon.
func (u *Unreachable) Reason() string { return reason(u.Err) }

// Advice says what may help, as a sentence, or "".
func (u *Unreachable) Advice() string {
	_, advice := explain(u.Err)
	return advice
}

// Unwrap returns the failure of the network or of the context.
func (u *Unreachable) Unwrap() error { return u.Err }

// IsNotFound tells whether the service itself says that the record does not exist. A proxy's 404 does not count.
func IsNotFound(err error) bool {
	refused, ok := errors.AsType[*Error](err)
	gone := ok && (refused.Status == http.StatusNotFound || refused.Status == http.StatusGone)
	return ok && (gone || refused.Code == api.CodeNotFound) && !refused.NotFromService && !refused.CredentialsRefused
}

// OutcomeUnknown tells whether a change may have been made despite err.
func OutcomeUnknown(err error) bool {
	if unreachable, ok := errors.AsType[*Unreachable](err); ok {
		return unreachable.OutcomeUnknown
	}
	refused, ok := errors.AsType[*Error](err)
	return ok && refused.OutcomeUnknown
}

// KeyUnused tells whether err says that no request under the same idempotency key has changed anything.
func KeyUnused(err error) bool {
	refused, ok := errors.AsType[*Error](err)
	return ok && refused.KeyUnused
}

func reason(err error) string {
	why, _ := explain(err)
	return why
}

// withoutURL removes the method and URL that net/http puts before an error: our messages name the address already.
func withoutURL(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}

// codeOf is the code of a response that has none: no more than its status says.
func codeOf(status int) api.Code { return api.Code("http_" + strconv.Itoa(status)) }

// refusal makes an Error of an unsuccessful response. It reads the service's own bodies, problem details (RFC 9457),
// OAuth errors (RFC 6749, section 5.2) and short plain text.
func refusal(sent call, e *requestState, res *resty.Response) *Error {
	var body bodyMembers
	_ = json.Unmarshal(res.Body(), &body) // of anything but an object it stays nil
	refused := &Error{
		Status:         res.StatusCode(),
		Code:           api.Code(body.text("code")),
		Fields:         body.fields(),
		Param:          body.text("param"),
		RequestID:      res.Header().Get("X-Request-Id"),
		NotFromService: body == nil,

		RetryAfter:     retryAfter(res.Header(), res.ReceivedAt()),
		OutcomeUnknown: e.unresolved && sent.changes(),

		CredentialsRefused: sent.forToken && refusesCredentials(res.StatusCode(), body),
	}
	for _, name := range []string{"response", "detail", "message", "error_description", "title", "error"} {
		refused.Message = cmp.Or(refused.Message, body.text(name))
	}
	if len(refused.Fields) > 0 { // which the specification allows after a failed validation only
		refused.Code = cmp.Or(refused.Code, api.CodeValidationFailed)
	}
	refused.Code = cmp.Or(refused.Code, codeOf(refused.Status))
	// These codes also say that an earlier attempt under the same key changed nothing. After any other conflict the
	// server may still be at work on it.
	final := []api.Code{api.CodeAlreadyRedeemed, api.CodePerkNotStarted, api.CodePerkExpired, api.CodeSoldOut,
		api.CodeNotDeleted}
	if e.conflicted && slices.Contains(final, refused.Code) {
		refused.OutcomeUnknown, refused.KeyUnused = false, true
	}
	if refused.Message == "" {
		refused.Message = statusSentence(res)
	}
	var sentHeader http.Header // with what the RoundTrippers added
	if res.RawResponse != nil && res.RawResponse.Request != nil {
		sentHeader = res.RawResponse.Request.Header
	}
	refused.hide(maskOf(credentials(sentHeader)))
	return refused
}

// refusesCredentials tells whether a refusal to issue a token is about the client. The specification gives no status
// for that, and services use several. One about something else has a code: ours, or that of RFC 6749, section 5.2.
func refusesCredentials(status int, body bodyMembers) bool {
	refusals := []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound,
		http.StatusUnprocessableEntity}
	others := []string{string(api.CodeInvalidJSON), string(api.CodeValidationFailed), string(api.CodeNotFound),
		"invalid_request", "invalid_scope", "unsupported_grant_type"}
	return body != nil && slices.Contains(refusals, status) &&
		!slices.Contains(others, body.text("code")) && !slices.Contains(others, body.text("error"))
}

// statusSentence describes a response whose body has nothing to show.
func statusSentence(res *resty.Response) string {
	sentence := strings.TrimSpace(fmt.Sprintf("The server answered %d %s", res.StatusCode(),
		http.StatusText(res.StatusCode())))
	if location := res.Header().Get("Location"); res.StatusCode() < 400 && location != "" {
		return fmt.Sprintf("%s to %s, which was not followed. Is this the address of the API?", sentence, location)
	}
	if page := webPage(res); page != "" {
		return sentence + " with " + page + "."
	}
	text := strings.TrimSpace(string(res.Body()))
	isText := strings.HasPrefix(res.Header().Get("Content-Type"), "text/plain")
	if !isText || text == "" || len(text) > 200 || strings.Contains(text, "\n") || !utf8.ValidString(text) {
		return sentence + "."
	}
	return sentence + ": " + text
}

var pageTitle = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?is)<title[^>]*>\s*([^<]{1,100}?)\s*</title`)
})

// webPage describes a body that is a web page, such as a proxy's; "" if it is something else.
func webPage(res *resty.Response) string {
	start := bytes.ToLower(bytes.TrimSpace(res.Body()[:min(len(res.Body()), 100)]))
	if !bytes.HasPrefix(start, []byte("<!doctype html")) && !bytes.HasPrefix(start, []byte("<html")) {
		return ""
	}
	if title := pageTitle().FindSubmatch(res.Body()); title != nil && utf8.Valid(title[1]) {
		return fmt.Sprintf("the web page %q", strings.Join(strings.Fields(html.UnescapeString(string(title[1]))), " "))
	}
	return "a web page"
}

// bodyMembers has the members of a JSON object. Each is decoded by itself, so that one of an unexpected type hides no
// other.
type bodyMembers map[string]json.RawMessage

// text returns a member that is a text, without space around it, and "" for any other.
func (b bodyMembers) text(name string) string {
	var text string
	if json.Unmarshal(b[name], &text) != nil {
		return ""
	}
	return strings.TrimSpace(text)
}

// fields reads the member errors, whose entries are arrays of messages or single ones.
func (b bodyMembers) fields() api.FieldErrors {
	var entries map[string]json.RawMessage
	if json.Unmarshal(b["errors"], &entries) != nil {
		return nil
	}
	fields := api.FieldErrors{}
	for field, raw := range entries {
		var many []string
		var one string
		switch {
		case json.Unmarshal(raw, &many) == nil && len(many) > 0:
			fields[field] = many
		case json.Unmarshal(raw, &one) == nil && one != "":
			fields[field] = []string{one}
		}
	}
	return fields
}

// cutOff says that a response was cut off.
type cutOff struct{ err error }

func (b *cutOff) Error() string { return "the response was cut off: " + b.err.Error() }
func (b *cutOff) Unwrap() error { return b.err }

// explain says why no response came, and what may help ("" if nothing is known to). Unknown errors are returned as they
// are.
func explain(err error) (why, advice string) {
	const (
		network = "Is this computer online, and is its DNS server right?"
		between = "Is the port right, and do proxies and firewalls let TLS through?"
	)
	var (
		broken *cutOff
		step   *net.OpError
		name   *net.DNSError
		record tls.RecordHeaderError
		timed  net.Error
	)
	dialled, target := errors.As(err, &step) && step.Op == "dial" && !errors.Is(err, context.Canceled), "the server"
	if dialled && step.Addr != nil {
		target = step.Addr.String()
	}
	switch {
	case errors.As(err, &broken):
		why, advice = explain(broken.err)
		return "the response was cut off: " + why, advice
	case step != nil && step.Op == "proxyconnect":
		why, _ = explain(step.Err)
		return "the proxy cannot be reached: " + why, "Does HTTPS_PROXY name the right proxy?"

	case errors.As(err, &name) && name.IsNotFound:
		return "the name " + name.Name + " is not known", "Is the name right, and is this computer online?"
	case name != nil && name.IsTimeout:
		return "looking up the name " + name.Name + " took too long", network
	case name != nil:
		return "the name " + name.Name + " cannot be looked up: " + name.Err, network

	case dialled && step.Timeout():
		return "connecting to " + target + " took too long",
			"A firewall may block the connection. If you need a proxy, set HTTPS_PROXY."
	case dialled && errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused by " + target, "Is the server running, and is the port right?"
	case dialled && (errors.Is(err, syscall.ENETUNREACH) || errors.Is(err, syscall.EHOSTUNREACH)):
		return "no route to " + target, "Is this computer online, and does it need a proxy?"
	}
	if why, advice := explainCertificate(err); why != "" {
		return why, advice
	}
	switch {
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &record):
		return "the server does not speak TLS on this port",
			"Should the address begin with http://, or is the port wrong?"
	case isAlert(err):
		text := err.Error()
		return "the server refused the TLS handshake (" + text[strings.LastIndex(text, ": ")+len(": "):] + ")", between
	// net/http does not export it
	case errors.As(err, &timed) && timed.Timeout() && strings.Contains(timed.Error(), "TLS handshake"):
		return "the TLS handshake took too long", between

	case errors.Is(err, context.DeadlineExceeded):
		return "it took too long", ""
	case errors.Is(err, context.Canceled):
		return "the request was cancelled", ""
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the server, or a proxy before it, reset the connection", ""
	case errors.Is(err, io.EOF):
		return "the server closed the connection without a response", ""
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection closed too early", ""
	}
	return unknown(err)
}

// unknown is for errors without a type. What net/http says of a response is about its own code; what the system says is
// not.
func unknown(err error) (why, advice string) {
	text := err.Error()
	for _, broken := range []string{"malformed ", "bad Content-Length", "transfer encoding", "chunk length",
		"transport connection broken", "unexpected EOF"} {
		if strings.Contains(text, broken) {
			return "what came back is not HTTP", "Is the port right?"
		}
	}
	for status := http.StatusBadRequest; status < 600; status++ {
		if text == http.StatusText(status) { // all that net/http says of a proxy's refusal
			return "the proxy refused the connection: " + text, "Does HTTPS_PROXY name the right proxy?"
		}
	}
	if step, isStep := errors.AsType[*net.OpError](err); isStep {
		if number, isNumber := errors.AsType[syscall.Errno](err); isNumber {
			text = number.Error()
		}
		if step.Op == "dial" {
			return "no connection is possible: " + text, "Is the address right?"
		}
		return "the connection broke: " + text, ""
	}
	return strings.TrimPrefix(text, "net/http: "), ""
}

// isAlert tells whether the other side aborted the TLS handshake with an alert. crypto/tls exports its type for QUIC
// only.
func isAlert(err error) bool {
	step, ok := errors.AsType[*net.OpError](err)
	return ok && step.Op == "remote error"
}
