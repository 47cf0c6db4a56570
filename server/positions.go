package server

import (
	"context"
	"net/http"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/labstack/echo/v4"

	"example.com/perks/store"
)

// positionHeader tells how far a client's writes have come. It is in the response to a write, and in the requests of a
// client that reads from several replicas.
const positionHeader = "X-Position"

// positions lets a client see its own writes although reads may come from standbys: each read gets the position after
// the client's last write. A client that sends the header says so itself; for others this replica remembers those that
// it has served.
type positions struct {
	db      store.Store
	now     func() time.Time
	written *lru.Cache[string, written]
}

// written is the position after a client's last write. It is of no use once every standby that is read has it.
type written struct {
	position store.Position
	until    time.Time
}

const positionTime = time.Second

func newPositions(config Config) *positions {
	if !config.Standbys {
		return nil
	}
	return &positions{db: config.Live, now: config.Now, written: newLRU[string, written](cacheSize)}
}

// follow prepares a request of the client.
func (p *positions) follow(c echo.Context, client string) {
	if p == nil {
		return
	}
	r := c.Request()
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		c.SetRequest(r.WithContext(store.MayBeBehind(r.Context(), p.after(client, r.Header.Get(positionHeader)))))
		return
	}
	// Also after a refusal: the client's own write may be why, if its response was lost.
	c.Response().Before(func() { p.wrote(c, client) })
}

// after returns what a read must include. A position that cannot be read may be of another version of perksd.
func (p *positions) after(client, sent string) store.Position {
	last, known := p.written.Get(client)
	known = known && p.now().Before(last.until)
	if sent != "" {
		position, ok := store.ParsePosition(sent)
		if !ok || known && last.position == store.AfterAll {
			return store.AfterAll
		}
		return position
	}
	if !known {
		return ""
	}
	return last.position
}

// wrote notes and tells the position after a write, which may have been made even if its outcome is not known.
func (p *positions) wrote(c echo.Context, client string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request().Context()), positionTime)
	defer cancel()
	position, err := p.db.Position(ctx)
	if err != nil {
		position = store.AfterAll
	} else {
		c.Response().Header().Set(positionHeader, string(position))
	}
	p.written.Add(client, written{position, p.now().Add(store.MaxBehind + positionTime)})
}
