package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/perks/store"
)

// A server, a database and a role may have settings that cut statements off, or acknowledge commits that a crash loses.
// What a session can set is set for each, and Settings finds the rest. Sessions compile no queries either: where
// sequential scans are disabled, PostgreSQL overestimates their cost, and took 117 ms to compile one that reads one row.

// timeouts are the settings that end a statement, a transaction or a session. An import is one statement, a write waits
// for its standby, and an idle connection stays in its pool.
var timeouts = []string{"statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout",
	"idle_session_timeout", "transaction_timeout"}

// weakCommits are the values of synchronous_commit with which a crash or a failover loses what was acknowledged.
const weakCommits = `('off', 'local', 'remote_write')`

// isSetIn reports whether the address sets the parameter. What it sets stays.
func isSetIn(config *pgx.ConnConfig, name string) bool {
	return config.RuntimeParams[name] != "" || strings.Contains(config.RuntimeParams["options"], name)
}

// own makes the sessions of the configuration set what perksd needs. A startup parameter costs no round trip, and no
// timeout cuts it off. Behind a pooler, which refuses such parameters and passes connections on, each transaction has
// to begin with the settings returned. It asks the server first: a role's remote_apply stays, and PostgreSQL before 17
// has no transaction_timeout.
func own(ctx context.Context, config *pgx.ConnConfig) (settings []string, err error) {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	defer closeBriefly(conn)
	results, err := conn.PgConn().Exec(ctx, `BEGIN READ ONLY; SET LOCAL statement_timeout = 0;
		SELECT pg_backend_pid(), current_setting('transaction_timeout', true) IS NOT NULL,
			current_setting('synchronous_commit') IN `+weakCommits+`;
		ROLLBACK`).ReadAll()
	if err != nil {
		return nil, err
	}
	found := results[2].Rows[0]
	if config.DefaultQueryExecMode == pgx.QueryExecModeSimpleProtocol || isOfAPooler(conn, string(found[0])) {
		return transactionSettings(config), nil
	}
	for _, name := range timeouts {
		if !isSetIn(config, name) && (name != "transaction_timeout" || string(found[1]) == "t") {
			config.RuntimeParams[name] = "0"
		}
	}
	if !isSetIn(config, "jit") {
		config.RuntimeParams["jit"] = "off"
	}
	if config.RuntimeParams["synchronous_commit"] == "" && string(found[2]) == "t" {
		config.RuntimeParams["synchronous_commit"] = "on"
	}
	return nil, nil
}

// isOfAPooler compares the process that a connection was told of with the one that answers: a pooler makes up the
// first.
func isOfAPooler(conn *pgx.Conn, backend string) bool {
	return backend != fmt.Sprint(conn.PgConn().PID())
}

// transactionSettings are statements that set, for the open transaction, what the address does not set. The first keeps
// a timeout from cutting off the second, which reads catalogs.
func transactionSettings(config *pgx.ConnConfig) []string {
	set := func(name, value, when string) string {
		return fmt.Sprintf(`CASE WHEN current_setting('%[1]s', true) %[3]s THEN set_config('%[1]s', '%[2]s', true) END`,
			name, value, when)
	}
	var statements, values []string
	for _, name := range timeouts {
		switch {
		case isSetIn(config, name):
		case name == "statement_timeout":
			statements = append(statements, `SET LOCAL statement_timeout = 0`)
		default:
			values = append(values, set(name, "0", `<> '0'`))
		}
	}
	if !isSetIn(config, "jit") {
		values = append(values, set("jit", "off", `= 'on'`))
	}
	if config.RuntimeParams["synchronous_commit"] == "" {
		values = append(values, set("synchronous_commit", "on", `IN `+weakCommits))
	}
	if len(values) > 0 {
		statements = append(statements, `SELECT `+strings.Join(values, `, `))
	}
	return statements
}

// beginWrite begins a transaction that writes.
const beginWrite = `BEGIN ISOLATION LEVEL READ COMMITTED`

// writeOptions begin a transaction with settings in the same round trip.
func writeOptions(settings []string) pgx.TxOptions {
	return pgx.TxOptions{BeginQuery: strings.Join(slices.Concat([]string{beginWrite}, settings), `; `)}
}

// queueBegin is writeOptions for a batch, in which each statement has a result.
func queueBegin(b *pgx.Batch, settings []string) {
	for _, statement := range slices.Concat([]string{beginWrite}, settings) {
		b.Queue(statement)
	}
}

// checkSynchronousCommit refuses an address that asks for less than perksd promises.
func checkSynchronousCommit(asked string) error {
	if asked == "" || slices.Contains([]string{"on", "remote_apply", "remote_write"}, asked) {
		return nil
	}
	return fmt.Errorf("the address of the database has synchronous_commit=%s, which loses acknowledged redemptions in "+
		"a crash: leave it out, or name on or remote_apply", asked)
}

// Settings checks the settings of the server at the address that a session cannot set, as a session of perksd finds
// them.
func Settings(ctx context.Context, address string) ([]store.Finding, error) {
	config, err := parseAddress(address)
	if err != nil {
		return nil, err
	}
	owned, err := own(ctx, config.ConnConfig)
	if err != nil {
		return nil, fmt.Errorf("read the settings of %s: %w", name(config), err)
	}
	return withConnection(ctx, "read the settings", config, func(conn *pgxpool.Conn) ([]store.Finding, error) {
		names := append([]string{"fsync", "full_page_writes", "synchronous_commit", "synchronous_standby_names",
			"data_sync_retry"}, timeouts...)
		values := map[string]string{}
		pair := func(r row) (s [2]string, err error) { return s, r.Scan(&s[0], &s[1]) }
		for setting, err := range store.Each(view{ctx, conn}, pair,
			`SELECT name, coalesce(current_setting(name, true), '') FROM unnest($1::text[]) AS name`, names) {
			if err != nil {
				return nil, err
			}
			values[setting[0]] = setting[1]
		}
		return judgeSettings(values, conn.Conn().Config(), owned != nil), nil
	})
}

// judgeSettings returns a finding for each setting that perksd depends on.
func judgeSettings(values map[string]string, config *pgx.ConnConfig, isPooled bool) (findings []store.Finding) {
	add := func(name string, outcome store.Outcome, found, advice string) {
		findings = append(findings, store.Finding{Check: name, Outcome: outcome,
			Found: name + " = " + orEmpty(values[name]) + found, Advice: advice})
	}
	alter := func(name, value string) string {
		return fmt.Sprintf(`psql -c "ALTER SYSTEM SET %s = %s" -c "SELECT pg_reload_conf()"`, name, value)
	}
	if values["fsync"] == "off" {
		add("fsync", store.Failed, ": a crash of the machine loses acknowledged redemptions and can damage the "+
			"database", alter("fsync", "on"))
	} else {
		add("fsync", store.OK, "", "")
	}
	if values["full_page_writes"] == "off" {
		add("full_page_writes", store.Warning, ": a crash of the machine can leave pages half written, which nothing "+
			"repairs", alter("full_page_writes", "on"))
	} else {
		add("full_page_writes", store.OK, "", "")
	}
	if values["data_sync_retry"] == "on" {
		add("data_sync_retry", store.Warning,
			": after a failed fsync PostgreSQL continues without what the disk has lost",
			`psql -c "ALTER SYSTEM SET data_sync_retry = off", and restart PostgreSQL`)
	}
	switch commit := values["synchronous_commit"]; {
	case strings.HasPrefix(commit, "remote_") && values["synchronous_standby_names"] == "":
		add("synchronous_commit", store.Warning,
			": commits wait for no standby, because synchronous_standby_names is empty",
			alter("synchronous_standby_names",
				`'ANY 1 (NAME, NAME)'`)+", with the cluster_name of each standby; or leave "+
				"synchronous_commit at on")
	default:
		if isPooled && strings.Contains(weakCommits, "'"+commit+"'") {
			values["synchronous_commit"] = "on" // in each transaction
		}
		add("synchronous_commit", store.OK,
			fmt.Sprintf(", synchronous_standby_names = '%s'", values["synchronous_standby_names"]), "")
	}
	if isPooled && config.DefaultQueryExecMode != pgx.QueryExecModeSimpleProtocol {
		findings = append(findings, store.Finding{Check: "pooler", Outcome: store.Warning, Found: "a pooler is in " +
			"between, and statements are prepared: one of transactions loses them",
			Advice: "unless it keeps a connection for each session, add default_query_exec_mode=simple_protocol to " +
				"the address of the database"})
	}
	for _, name := range timeouts {
		value := values[name]
		// those connections are the pooler's
		if value == "" || value == "0" || isPooled && name == "idle_session_timeout" {
			continue
		}
		advice := "leave it out of the address of the database"
		if isPooled {
			advice = fmt.Sprintf(`psql -c "ALTER ROLE %s SET %s = 0", and restart the pooler: `+
				`behind one, perksd sets it only in transactions`,
				pgx.Identifier{config.User}.Sanitize(), name)
		}
		add(name, store.Warning, ": PostgreSQL cuts off what takes longer, such as an export or an index of a "+
			"migration", advice)
	}
	return findings
}

func orEmpty(value string) string {
	if value == "" {
		return "''"
	}
	return value
}
