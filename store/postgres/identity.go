package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/perks/store"
)

// Identity tells the tables at an address from most others.
type Identity struct {
	// the number that initdb gave it, its standbys and its physical copies; "" if the role may not read it
	server string
	tables string
}

func identityIn(q store.Querier) (i Identity, err error) {
	i.tables, err = store.One(q, store.ScanValue[string], `
		SELECT concat_ws('/', d.oid, 'migrations'::regclass::oid,
			(SELECT extract(epoch FROM min(applied_at)) FROM migrations))
		FROM pg_database AS d WHERE d.datname = current_database()`)
	if err != nil {
		return i, err
	}
	i.server, err = store.One(q, store.ScanValue[string], `SELECT system_identifier::text FROM pg_control_system()`)
	if sqlState(err) != "" && !isTransient(err) { // managed services may not let anybody call it
		return i, nil
	}
	return i, err
}

// IsSame reports whether both may be of the same tables of the same server or its standbys, however the addresses are
// written. If not, they are certainly of two databases. A physical copy has the same numbers as its original.
func (i Identity) IsSame(other Identity) bool {
	return i.tables == other.tables && (i.server == other.server || i.server == "" || other.server == "")
}

// ErrStandby means that a server follows another one, so that nobody can tell whether its database is a copy of its
// own.
var ErrStandby = errors.New("it is a standby")

// AreSame tells for certain whether two addresses lead to the same tables, however they are written. Both databases
// must be migrated. The error is ErrStandby if one is on a standby, which may follow the server of the other.
//
// Where the numbers leave it open, it takes a lock of a random number in one and looks for it in the other: a lock is
// seen everywhere in its database and nowhere else. It needs no right, changes nothing, and is gone with its
// transaction.
func AreSame(ctx context.Context, address, other string) (bool, error) {
	return connectedTo(ctx, address, func(one *pgxpool.Conn, a Identity) (bool, error) {
		return connectedTo(ctx, other, func(another *pgxpool.Conn, b Identity) (same bool, err error) {
			if !a.IsSame(b) {
				return false, nil
			}
			// Behind a pooler only a transaction keeps its connection.
			readOnly := pgx.TxOptions{AccessMode: pgx.ReadOnly}
			err = pgx.BeginTxFunc(ctx, one, readOnly, func(first pgx.Tx) error {
				return pgx.BeginTxFunc(ctx, another, readOnly, func(second pgx.Tx) (err error) {
					same, err = showsLock(view{ctx, first}, view{ctx, second})
					return err
				})
			})
			return same, err
		})
	})
}

func connectedTo[T any](
	ctx context.Context, address string, work func(*pgxpool.Conn, Identity) (T, error),
) (result T, err error) {
	config, err := parseAddress(address)
	if err != nil {
		return result, err
	}
	return withConnection(ctx, "read the identity", config, func(conn *pgxpool.Conn) (T, error) {
		identity, err := identityIn(view{ctx, conn})
		if err != nil {
			var none T
			return none, err
		}
		return work(conn, identity)
	})
}

func showsLock(one, another store.Querier) (bool, error) {
	for _, q := range []store.Querier{one, another} {
		follows, err := store.One(q, store.ScanValue[bool], `SELECT pg_is_in_recovery()`)
		if err != nil || follows {
			return false, errors.Join(err, ErrStandby)
		}
	}
	number := rand.Int64() // #nosec G404 -- nobody gains by guessing it
	const lock = `SELECT pg_try_advisory_xact_lock($1::bigint)`
	first, err := store.One(one, store.ScanValue[bool], lock, number)
	if err != nil {
		return false, err
	}
	second, err := store.One(another, store.ScanValue[bool], lock, number)
	if err == nil && !first {
		err = fmt.Errorf("the lock %d is taken", number)
	}
	return !second, err
}
