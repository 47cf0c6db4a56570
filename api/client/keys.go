package client

import "net/http"

const (
	idempotencyKey = "Idempotency-Key"
	replayed       = "Idempotent-Replayed"

	// askingKey goes with a request that only reads: a service that repeats it there honours keys too.
	askingKey = "do keys count"
)

// HonoursKeys tells whether the server has shown to this Client that an Idempotency-Key counts: it has repeated one in an
// answer, or given a first answer once more.
func (c *Client) HonoursKeys() bool { return c.retry.honoursKeys.Load() }

func showsThatKeysCount(req *http.Request, res *http.Response) bool {
	return repeatsKey(req, res) || res.Header.Get(replayed) == "true"
}

// repeatsKey tells whether the server has looked at the request's key.
func repeatsKey(req *http.Request, res *http.Response) bool {
	key := req.Header.Get(idempotencyKey)
	echoes := res.Header.Get("User-Agent") != "" // no answer has one, unless it repeats whatever it was sent
	return key != "" && !echoes && res.Header.Get(idempotencyKey) == key
}
