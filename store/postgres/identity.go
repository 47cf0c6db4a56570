package postgres

import (
	"context"
	"fmt"
)

// Identity tells databases apart, however their addresses are spelt: two addresses with the same identity lead to the same
// tables of the same server, or of a standby of it. The database must have been opened before, so that it has tables.
func Identity(ctx context.Context, address string) (string, error) {
	config, err := parseAddress(address)
	if err != nil {
		return "", err
	}
	pool, err := openPool(ctx, config)
	if err != nil {
		return "", fmt.Errorf("connect to %s: %w", name(config), err)
	}
	defer pool.Close()
	identity, err := one(view{ctx, pool}, scanValue[string], `
		SELECT concat_ws('/', c.system_identifier, d.oid, 'migrations'::regclass::oid)
		FROM pg_control_system() AS c, pg_database AS d WHERE d.datname = current_database()`)
	if err != nil {
		return "", fmt.Errorf("ask %s for its identity: %w", name(config), err)
	}
	return identity, nil
}

// MajorVersion asks the server at the address for its version, such as 15.
func MajorVersion(ctx context.Context, address string) (int, error) {
	config, err := parseAddress(address)
	if err != nil {
		return 0, err
	}
	pool, err := openPool(ctx, config)
	if err != nil {
		return 0, fmt.Errorf("connect to %s: %w", name(config), err)
	}
	defer pool.Close()
	number, err := one(view{ctx, pool}, scanValue[int], `SELECT current_setting('server_version_num')::integer`)
	return number / 10000, err
}
