package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/perks/api/client/certtest"
)

// multiplexed is a server with room for two connections, whose requests stay under way until they are let go. A visitor has
// one connection of HTTP/2.
func multiplexed(t *testing.T) (visitor func() *http.Client, ask func(*http.Client) <-chan *http.Response, begun <-chan struct{}, letGo chan<- struct{}, log *bytes.Buffer) {
	t.Helper()
	o := newOperator(t)
	authority := certtest.New(t, "Our own")
	certFile, keyFile := o.put(authority.Issue())
	l, err := listenOptions{address: "127.0.0.1:0", certFile: certFile, keyFile: keyFile}.open(time.Now)
	if err != nil {
		t.Fatal(err)
	}
	l.counted = func(*crowding) {}
	begins, ends := make(chan struct{}), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	log = &bytes.Buffer{}
	go func() {
		ended <- l.serve(ctx, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { begins <- struct{}{}; <-ends }), 2, slog.New(slog.NewTextHandler(log, nil)))
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	visitor = func() *http.Client {
		c := &http.Client{Timeout: commandTime, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authority.Roots()}, ForceAttemptHTTP2: true}}
		t.Cleanup(c.CloseIdleConnections)
		return c
	}
	ask = func(c *http.Client) <-chan *http.Response {
		answers := make(chan *http.Response, 1)
		go func() {
			answer, err := c.Get(l.url())
			if err != nil {
				t.Error(err)
				answer = &http.Response{Body: http.NoBody}
			}
			answer.Body.Close()
			answers <- answer
		}()
		return answers
	}
	return visitor, ask, begins, ends, log
}

func TestOneConnectionHasOnlySoManyRequestsUnderWayAndOthersStillOne(t *testing.T) {
	visitor, ask, begun, letGo, log := multiplexed(t)
	greedy, honest := visitor(), visitor()
	var underWay []<-chan *http.Response
	for range 3 { // one, and the two places
		underWay = append(underWay, ask(greedy))
		<-begun
	}
	for range 2 {
		select {
		case refused := <-ask(greedy):
			if refused.StatusCode != http.StatusServiceUnavailable || refused.Header.Get("Retry-After") != "1" || refused.ProtoMajor != 2 {
				t.Errorf("one more is answered with %d over %s, Retry-After %q", refused.StatusCode, refused.Proto, refused.Header.Get("Retry-After"))
			}
		case <-begun:
			t.Fatal("one more is under way")
		}
	}
	underWay = append(underWay, ask(honest))
	<-begun
	for range underWay {
		letGo <- struct{}{}
	}
	for _, answer := range underWay {
		if got := <-answer; got.StatusCode != http.StatusOK {
			t.Errorf("what was under way is answered with %d", got.StatusCode)
		}
	}
	again := ask(greedy)
	<-begun
	letGo <- struct{}{}
	if got := <-again; got.StatusCode != http.StatusOK {
		t.Errorf("afterwards it is answered with %d", got.StatusCode)
	}
	if said := strings.Count(log.String(), "too many are under way at once"); said != 1 {
		t.Errorf("the log says it %d times:\n%s", said, log)
	}
}
