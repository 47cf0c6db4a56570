package server

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"

	"example.com/perks/api"
	"example.com/perks/store"
)

const (
	// indexInterval is how often redemptions are looked for whose metadata is not indexed: servers that do not search
	// the keys make them.
	indexInterval = time.Minute
	// indexLogInterval is how often the log says how far a long indexing is.
	indexLogInterval = 30 * time.Second
)

// metadataIndex indexes the metadata of one database's redemptions.
type metadataIndex struct {
	store   store.Store
	name    string // of the database
	keys    []string
	log     *slog.Logger
	percent atomic.Int32 // 100 once everything was indexed
}

// run indexes until ctx ends: what is not indexed yet, and at each tick what has come.
func (x *metadataIndex) run(ctx context.Context, ticks <-chan time.Time) {
	for {
		x.catchUp(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticks:
		}
	}
}

// catchUp indexes until nothing is left. It works at most half of the time, so that requests hardly get slower.
func (x *metadataIndex) catchUp(ctx context.Context) {
	log := x.log.With("database", x.name, "keys", strings.Join(x.keys, ","))
	for saidAt := time.Now(); ; {
		began := time.Now()
		percent, err := x.store.IndexMetadata(ctx, x.keys)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			log.Warn("cannot index the metadata of redemptions; trying again in a minute", "error", err)
			return
		case percent == 100:
			if x.percent.Swap(100) < 100 {
				log.Info("the metadata of all redemptions is indexed")
			}
			return
		case x.percent.Load() < 100:
			x.percent.Store(int32(percent)) // #nosec G115 -- at most 100
			if time.Since(saidAt) >= indexLogInterval {
				log.Info("indexing the metadata of redemptions", "percent", percent)
				saidAt = time.Now()
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Since(began)):
		}
	}
}

func (x *metadataIndex) collector() prometheus.Collector {
	return gauge("metadata_indexed_percent", "How many of the redemptions can be found by their metadata.",
		prometheus.Labels{"database": x.name}, func() int { return int(x.percent.Load()) })
}

// tell says which keys are searched, and whether a list by metadata may lack redemptions.
func (x *metadataIndex) tell(c echo.Context, filter api.MetadataFilter) {
	if len(x.keys) == 0 {
		return
	}
	header := c.Response().Header()
	header.Set(api.HeaderSearched, strings.Join(x.keys, ", "))
	if percent := x.percent.Load(); percent < 100 && filter != "" {
		header.Set(api.HeaderIndexed, strconv.Itoa(int(percent)))
	}
}

// CheckSearchedKeys returns what is wrong with Config.SearchMetadata, or "".
func CheckSearchedKeys(keys []string) string {
	if len(keys) > api.MaxSearchedKeys {
		return "must have at most " + strconv.Itoa(api.MaxSearchedKeys) + " keys"
	}
	seen := map[string]bool{}
	for _, key := range keys {
		if problem := api.MetadataKeyRule(key); problem != "" {
			return strconv.Quote(key) + " " + problem
		}
		folded := strings.ToLower(key)
		if seen[folded] {
			return "has the key " + strconv.Quote(key) + " twice; keys must differ in more than case"
		}
		seen[folded] = true
	}
	return ""
}
