package main

import (
	"context"
	"errors"

	"example.com/perks/store"
)

// serveStores is the databases that a server answers from.
type serveStores struct {
	live    store.Store
	sandbox store.Store // nil without a sandbox
}

// openStores opens the live database and, unless its address is empty, the sandbox.
func (p *program) openStores(ctx context.Context, sandbox string) (serveStores, error) {
	if sandbox != "" {
		same, err := sameDatabase(p.database, sandbox)
		if err != nil {
			return serveStores{}, err
		}
		if same {
			return serveStores{}, usageError{errors.New("the sandbox needs a database of its own: --sandbox-database names the same one as --database")}
		}
	}
	live, err := openStore(ctx, p.database)
	if err != nil || sandbox == "" {
		return serveStores{live: live}, err
	}
	s := serveStores{live: live}
	if s.sandbox, err = openStore(ctx, sandbox); err != nil {
		return serveStores{}, errors.Join(err, live.Close())
	}
	return s, nil
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
