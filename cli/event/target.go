package event

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/webhook"
	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
)

// target is where events are delivered to. Many goroutines use it.
type target interface {
	deliver(ctx context.Context, e api.Event, at time.Time, attempt int) answer
	close()
}

// answer is the outcome of an attempt.
type answer struct {
	problem  string // "" if the event is delivered
	status   *int
	exitCode *int
	text     string
	response *http.Response // nil without one
}

// open prepares the target that the flags name.
func (f *forwarding) open(ctx context.Context, s *session.Session, connection session.Connection) (target, error) {
	if f.exec != "" {
		return newProgram(f.exec, s.Streams)
	}
	if err := connection.CheckReceiver("forward-to", f.forwardTo); err != nil {
		return nil, err
	}
	text := ""
	if f.secretStdin {
		var err error
		if text, err = s.Streams.ReadPiped(ctx); err != nil {
			return nil, err
		}
	} else {
		text = webhook.NewSecret()
		s.Streams.Show("The secret of these webhooks is " + text + "\nTo use it again, pass it to --secret-stdin.\n")
	}
	secret, err := webhook.ParseSecret(strings.TrimSpace(text))
	if err != nil {
		return nil, command.Usagef("--secret-stdin: %s.", command.Plain(err))
	}
	roots, err := s.Roots(connection.CACert)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	transport.MaxIdleConnsPerHost = mostAtOnce
	return &receiver{url: f.forwardTo, secret: secret, agent: "perksctl/" + s.Version, client: &http.Client{
		Transport: transport, Timeout: answerTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// What perksd allows a receiver, too.
const (
	answerTime = 10 * time.Second
	mostAnswer = 64 << 10
)

// receiver is a URL that events are posted to as webhooks.
type receiver struct {
	url, agent string
	secret     webhook.Secret
	client     *http.Client
}

func (r *receiver) close() { r.client.CloseIdleConnections() }

func (r *receiver) deliver(ctx context.Context, e api.Event, at time.Time, _ int) answer {
	body, err := webhook.Body(e)
	if err != nil {
		return answer{problem: err.Error()}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, bytes.NewReader(body))
	if err != nil {
		return answer{problem: err.Error()}
	}
	request.Header = webhook.Header(e.ID, at, body, r.secret)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", r.agent)
	response, err := r.client.Do(request)
	if err != nil {
		return answer{problem: unreached(err)}
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, mostAnswer)) // the status says whether it was taken
	a := answer{status: &response.StatusCode, response: response,
		text: strings.ToValidUTF8(string(text[:min(len(text), api.MaxWebhookAnswer)]), "")}
	if !webhook.IsDelivered(response) {
		a.problem = strings.TrimSpace(fmt.Sprintf("%d %s", response.StatusCode, http.StatusText(response.StatusCode)))
	}
	return a
}

// unreached says in a few words why there is no response.
func unreached(err error) string {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		if failed.Timeout() {
			return fmt.Sprintf("no response within %s", answerTime)
		}
		err = failed.Err
	}
	if failed, ok := errors.AsType[*net.OpError](err); ok && failed.Op == "dial" {
		return "not reached: " + failed.Err.Error()
	}
	return err.Error()
}
