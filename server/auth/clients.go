package auth

import (
	"context"
	"sync"
	"time"

	"example.com/perks/store"
)

// clientCache spares a look-up of the client on every request. It only ever holds clients that a validly signed token
// named, so it stays as small as the table of clients.
type clientCache struct {
	store store.Credentials
	now   func() time.Time

	mu      sync.RWMutex
	clients map[string]cachedClient
}

type cachedClient struct {
	client store.Client
	loaded time.Time
}

func newClientCache(s store.Credentials, now func() time.Time) *clientCache {
	return &clientCache{store: s, now: now, clients: map[string]cachedClient{}}
}

func (c *clientCache) get(ctx context.Context, id string) (store.Client, error) {
	now := c.now()
	c.mu.RLock()
	cached, ok := c.clients[id]
	c.mu.RUnlock()
	if age := now.Sub(cached.loaded); ok && age >= 0 && age < clientsFreshFor {
		return cached.client, nil
	}
	client, err := c.store.Client(ctx, id)
	if err != nil {
		return store.Client{}, err
	}
	c.mu.Lock()
	c.clients[id] = cachedClient{client: client, loaded: now}
	c.mu.Unlock()
	return client, nil
}
