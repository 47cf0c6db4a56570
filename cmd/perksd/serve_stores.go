package main

import (
	"context"
	"errors"
	"log/slog"

	"example.com/perks/store"
)

// serveStores is the databases that a server answers from.
type serveStores struct {
	live    store.Store
	sandbox store.Store // nil without a sandbox
}

// openStores opens the live database and, unless --sandbox-database is empty, the sandbox.
func (p *program) openStores(ctx context.Context, log *slog.Logger) (s serveStores, err error) {
	live, err := parseDatabase(p.database)
	if err != nil {
		return s, err
	}
	if p.sandboxDatabase == "" {
		s.live, err = live.open(ctx, log)
		return s, err
	}
	apart, err := parseDatabase(p.sandboxDatabase)
	if err != nil {
		return s, err
	}
	if err := requireApart(ctx, live, apart); err != nil {
		return s, err
	}
	if err := requireNotLive(ctx, apart); err != nil { // before either is migrated
		return s, err
	}
	if s.live, err = live.open(ctx, log); err != nil {
		return s, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.sandbox, err = apart.open(ctx, log); err != nil {
		return s, err
	}
	return s, requireSandbox(ctx, live, apart, s.sandbox)
}

func (s serveStores) all() []store.Store {
	if s.sandbox == nil {
		return []store.Store{s.live}
	}
	return []store.Store{s.live, s.sandbox}
}

func (s serveStores) close() error {
	var failures []error
	for _, db := range s.all() {
		failures = append(failures, db.Close())
	}
	return errors.Join(failures...)
}
