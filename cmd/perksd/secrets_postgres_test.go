package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"example.com/perks/store/storetest"
)

// TestSecretsAreInNoTable reads every row of every table, as a dump would.
func TestSecretsAreInNoTable(t *testing.T) {
	o := newOperatorOf(t, storetest.PostgresDatabase(t))
	var created, rotated clientView
	if err := json.Unmarshal([]byte(o.must("client", "create", "--name", "X", "--id", "x", "-o", "json")),
		&created); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(o.must("client", "rotate-secret", "x", "-o", "json")), &rotated); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), o.env["PERKSD_DATABASE"])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), `SELECT format('SELECT coalesce(string_agg(t::text, E''\n''), '''') FROM %I `+
		`AS t', tablename) FROM pg_tables WHERE schemaname = 'public'`)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	var dump strings.Builder
	for _, table := range tables {
		var text string
		if err := conn.QueryRow(t.Context(), table).Scan(&text); err != nil {
			t.Fatal(err)
		}
		dump.WriteString(text)
	}
	if !strings.Contains(dump.String(), "client.rotate-secret") {
		t.Error("the dump lacks the audit log, so this test shows nothing")
	}
	for _, secret := range []string{created.Secret, rotated.Secret} {
		if strings.Contains(dump.String(), secret) {
			t.Error("a client's secret is in a table")
		}
	}
}
