package client_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
)

// BenchmarkRedeem measures the client's own cost of a redemption, as in a bulk run, without a network.
func BenchmarkRedeem(b *testing.B) {
	const key = "0195f3c2-8a51-7d2c-9b1f-3f6a2d1c4e5b-17-00c0ffee"
	body := []byte(`{"id":"0195f3c2-8a51-7d2c-9b1f-3f6a2d1c4e5b","perk_id":"hot-0001","user_id":"u-000001",` +
		`"redeemed_at":"2026-03-02T10:00:00.123456Z"}`)
	header := http.Header{
		"Content-Type": {"application/json"}, "Date": {"Mon, 02 Mar 2026 10:00:00 GMT"}, "Idempotency-Key": {key},
		"X-Request-Id": {"0195f3c2-8a51-7d2c-9b1f-3f6a2d1c4e5c"},
	}
	c, err := client.New(client.Config{
		BaseURL: "http://127.0.0.1:8080/v2", Tokens: client.StaticToken("a.b.c"), WaitBudget: time.Minute,
		Timeout: 30 * time.Second,
		Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
			_, _ = io.Copy(io.Discard, req.Body)
			_ = req.Body.Close()
			return &http.Response{
				Status: "201 Created", StatusCode: http.StatusCreated, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
				Header: header, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
				Request: req,
			}, nil
		}),
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx := client.WithWaitContext(context.Background(), b.Context())
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := c.Redeem(ctx, "hot-0001", api.RedeemRequest{UserID: "u-000001"}, key); err != nil {
			b.Fatal(err)
		}
	}
}
