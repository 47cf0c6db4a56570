package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	_ "modernc.org/sqlite" // the database/sql driver "sqlite"
)

const (
	// importedPerks is how many perks the files have, and a full catalog before them.
	importedPerks = 1_000_000
	// writesEvery is how often something else is written while an import runs.
	writesEvery = 50 * time.Millisecond
	// importUsers is how many redemptions there may be of a perk during an import.
	importUsers = 50_000
)

// insidePerk is in every file and outsidePerk in none. A full catalog has both.
const (
	insidePerk = `{"id":"inside","title":"In the file","description":"For everybody","city":"Bath","stock":1000000}` +
		"\n"
	outsidePerk = `{"id":"outside","title":"Not in the file","description":"For everybody","city":"Bath",` +
		`"stock":1000000}` + "\n"
)

// importCases are the imports that are measured.
var importCases = []struct {
	name  string
	perks int64               // in the catalog before
	line  func([]byte) []byte // makes a line of the file from the same of an export
}{
	{"an empty catalog", 0, func(line []byte) []byte { return line }},
	{"every perk of a full catalog", importedPerks, func(line []byte) []byte {
		return stockMember.ReplaceAll(bytes.Replace(line, []byte(`"title":"`), []byte(`"title":"Again: `), 1),
			[]byte(`"stock":2000000`))
	}},
	{"new perks beside a full catalog", importedPerks, func(line []byte) []byte {
		return bytes.Replace(line, []byte(`"id":"`), []byte(`"id":"new-`), 1)
	}},
}

var stockMember = regexp.MustCompile(`"stock":(null|[0-9]+)`)

// measureImport compares imports of a million perks with bare copies of the columns of as many, while others write.
func measureImport(ctx context.Context, l *harness) (*table, error) {
	t := newTable("Importing (`import`)", "1,000,000 perks into", "store", "`perksd import`", "bare copy",
		"writes meanwhile", "longest wait")
	export, err := l.exportMillion(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range importCases {
		file := filepath.Join(l.Dir, "import.jsonl")
		if err := rewriteLines(export, file, c.line); err != nil {
			return nil, err
		}
		for _, kind := range []string{"PostgreSQL", "SQLite"} {
			// A section of its own, so that its server ends with it.
			_, err := l.measure(ctx, section{name: kind,
				measure: func(ctx context.Context, l *harness) (*table, error) {
					return nil, l.compareImport(ctx, t, kind, c.name, file, c.perks)
				}})
			if err != nil {
				return nil, fmt.Errorf("into %s: %w", c.name, err)
			}
		}
	}
	t.note("A bare copy puts all columns of as many perks and their stocks into a table without indexes: " +
		"PostgreSQL's COPY of a binary file, " +
		"a loop over a prepared INSERT in one transaction of SQLite. Meanwhile, perks inside and outside the file " +
		"are redeemed and a property " +
		"is changed, 20 times a second; none of it was refused, and every redemption that was acknowledged is " +
		"stored. In an empty catalog " +
		"only the property is changed.")
	return t, nil
}

// exportMillion returns the path of an export of a million sample perks.
func (l *harness) exportMillion(ctx context.Context) (path string, err error) {
	database, err := l.sqliteWith(ctx, importedPerks)
	if err != nil {
		return "", err
	}
	path = filepath.Join(l.Dir, "export.jsonl")
	file, err := os.Create(path)
	if err != nil {
		return "", err
	}
	command := l.Command(ctx, "perksd", "export", "perks", "-o", "jsonl", "--database", database)
	var problems bytes.Buffer
	command.Stdout, command.Stderr = file, &problems
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("perksd export: %w: %s", err, problems.Bytes())
	}
	return path, errors.Join(file.Close(), remove(database))
}

// rewriteLines writes a file of the changed lines of another, and insidePerk.
func rewriteLines(from, to string, change func([]byte) []byte) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	file, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	out := bufio.NewWriterSize(file, 1<<20)
	lines := bufio.NewScanner(source)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		out.Write(change(lines.Bytes())) // Flush returns the error
		out.WriteByte('\n')
	}
	out.WriteString(strings.Replace(insidePerk, "1000000", "2000000", 1))
	return cmp.Or(lines.Err(), out.Flush())
}

// compareImport measures one import on one store.
func (l *harness) compareImport(ctx context.Context, t *table, kind, name, file string, perks int64) error {
	database, err := l.databaseWith(ctx, kind, perks)
	if err != nil {
		return err
	}
	writes, err := l.startOtherWrites(ctx, database, perks > 0)
	if err != nil {
		return err
	}
	begun := time.Now()
	_, err = l.runPerksd(ctx, database, nil, "import", "perks", file)
	took := time.Since(begun)
	if err := errors.Join(err, writes.end(ctx)); err != nil {
		return err
	}
	copyRows := l.copyInPostgres
	if kind == "SQLite" {
		copyRows = l.copyInSQLite
	}
	bare, err := copyRows(ctx, database)
	if err != nil {
		return fmt.Errorf("copying bare rows: %w", err)
	}
	t.add(took.Seconds()/bare.Seconds(), target{4, atMost}, name, kind, seconds(took), seconds(bare),
		grouped(writes.count), milliseconds(writes.longest))
	l.logf("import on %s into %s: %s, a bare copy %s; of %d other writes one waited %s",
		kind, name, seconds(took), seconds(bare), writes.count, milliseconds(writes.longest))
	return nil
}

// otherWrites is what others write while an import runs: requests at fixed times, however long the ones before take.
type otherWrites struct {
	redeemed redeemLoad // what was acknowledged
	requests []otherWrite
	stop     func()
	running  sync.WaitGroup

	mu      sync.Mutex
	count   int64
	longest time.Duration
	err     error
}

// otherWrite is a request. perk is what it redeems, and "" if it changes a property.
type otherWrite struct{ perk string }

// startOtherWrites starts perksd on the database, and writes until end is called.
func (l *harness) startOtherWrites(ctx context.Context, database string, full bool) (*otherWrites, error) {
	service, err := l.serve(ctx, database)
	if err != nil {
		return nil, err
	}
	users := make([]byte, 0, 32*importUsers)
	for i := range importUsers {
		users = fmt.Appendf(users, `{"id":"u-%06d"}`+"\n", i)
	}
	inputs := []struct{ kind, text string }{
		{"users", string(users)},
		{"properties", fmt.Sprintf(`{"propertyId":1,"title":"Flat","price_pw":100,"owner":"bench-%d"}`+"\n",
			l.clients)},
	}
	w := &otherWrites{redeemed: redeemLoad{harness: l, database: database, acknowledged: map[string]int64{}},
		requests: []otherWrite{{}}}
	if full {
		inputs = append(inputs, struct{ kind, text string }{"perks", insidePerk + outsidePerk})
		w.requests = append(w.requests, otherWrite{"inside"}, otherWrite{"outside"})
	}
	for _, input := range inputs {
		if _, err := l.runPerksd(ctx, database, strings.NewReader(input.text), "import", input.kind, "--format",
			"jsonl", "-"); err != nil {
			return nil, err
		}
	}
	ticking, stop := context.WithCancel(ctx)
	w.stop = stop
	w.running.Go(func() {
		ticker := time.NewTicker(writesEvery)
		defer ticker.Stop()
		for n := 0; ; n++ {
			select {
			case <-ticker.C:
				w.running.Go(func() {
					w.note(w.requests[n%len(w.requests)], func(r otherWrite) error { return r.send(ctx, service, n) })
				})
			case <-ticking.Done():
				return
			}
		}
	})
	return w, nil
}

// note sends a request, and remembers how long it took.
func (w *otherWrites) note(r otherWrite, send func(otherWrite) error) {
	begun := time.Now()
	err := send(r)
	took := time.Since(begun)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count++
	w.longest = max(w.longest, took)
	switch {
	case err != nil:
		w.err = cmp.Or(w.err, fmt.Errorf("a write beside the import failed after %s: %w", took, err))
	case r.perk != "":
		w.redeemed.acknowledged[r.perk]++
	}
}

// send is request n. Redemptions of one perk have a user each.
func (r otherWrite) send(ctx context.Context, s *service, n int) error {
	method, path, body, want := http.MethodPatch, "/update-property/1", fmt.Sprintf(`{"title":"Flat %d"}`, n),
		http.StatusOK
	if r.perk != "" {
		method, path, body, want = http.MethodPost, "/partners/perks/"+r.perk+"/redeem",
			fmt.Sprintf(`{"user_id":"u-%06d"}`, n), http.StatusCreated
	}
	request, err := http.NewRequestWithContext(ctx, method, s.url(path), strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+s.token)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != want {
		err = fmt.Errorf("%s %s got status %d: %s", method, path, response.StatusCode, bytes.TrimSpace(answer))
	}
	return err
}

// end waits for the requests in progress. It fails if one was refused, or an acknowledged redemption is not stored.
func (w *otherWrites) end(ctx context.Context) error {
	w.stop()
	w.running.Wait()
	return cmp.Or(w.err, w.redeemed.check(ctx))
}

// copyInPostgres copies the columns of a million perks of a database into a table without indexes, and returns how long
// that took.
func (l *harness) copyInPostgres(ctx context.Context, database string) (took time.Duration, err error) {
	dsn, _, _ := strings.Cut(database, "&pool_max_conns")
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx)
	rows, err := os.Create(filepath.Join(l.Dir, "rows"))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, rows.Close(), os.Remove(rows.Name())) }()
	all := `SELECT p.*, s.stock FROM perks AS p JOIN perk_stock AS s ON s.perk_id = p.id LIMIT `
	if _, err := conn.PgConn().CopyTo(ctx, rows,
		fmt.Sprintf(`COPY (%s %d) TO STDOUT (FORMAT binary)`, all, importedPerks)); err != nil {
		return 0, err
	}
	if _, err := conn.Exec(ctx, `CREATE TABLE bare_rows AS `+all+`0`); err != nil {
		return 0, err
	}
	if _, err := conn.Exec(ctx, `CHECKPOINT`); err != nil { // what was written before must not slow this down
		return 0, err
	}
	if _, err := rows.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	begun := time.Now()
	_, err = conn.PgConn().CopyFrom(ctx, bufio.NewReaderSize(rows, 1<<20), `COPY bare_rows FROM STDIN (FORMAT binary)`)
	return time.Since(begun), err
}

// copyInSQLite is copyInPostgres for a file of SQLite.
func (l *harness) copyInSQLite(ctx context.Context, database string) (took time.Duration, err error) {
	source, err := sql.Open("sqlite", "file:"+strings.TrimPrefix(database, "sqlite:")+"?mode=ro")
	if err != nil {
		return 0, err
	}
	defer source.Close()
	file := filepath.Join(l.Dir, "bare.db")
	defer func() { err = errors.Join(err, remove("sqlite:"+file)) }()
	bare, err := sql.Open("sqlite", "file:"+file+"?_pragma=journal_mode(wal)&_pragma=synchronous(full)")
	if err != nil {
		return 0, err
	}
	defer bare.Close()
	rows, err := source.QueryContext(ctx,
		fmt.Sprintf(`SELECT p.*, s.stock FROM perks AS p JOIN perk_stock AS s ON s.perk = p.row LIMIT %d`,
			importedPerks))
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return 0, err
	}
	values, places := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		places[i] = &values[i]
	}
	if _, err := bare.ExecContext(ctx, `CREATE TABLE bare_rows ("`+strings.Join(columns, `", "`)+`")`); err != nil {
		return 0, err
	}
	tx, err := bare.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback() // has no effect after the commit
	insert, err := tx.PrepareContext(ctx, `INSERT INTO bare_rows VALUES (?`+strings.Repeat(`, ?`, len(columns)-1)+`)`)
	if err != nil {
		return 0, err
	}
	for rows.Next() {
		if err := rows.Scan(places...); err != nil {
			return 0, err
		}
		begun := time.Now() // reading the row is not part of the copy
		if _, err := insert.ExecContext(ctx, values...); err != nil {
			return 0, err
		}
		took += time.Since(begun)
	}
	if err := rows.Err(); err != nil {
		return 0, err
	}
	begun := time.Now()
	err = tx.Commit()
	return took + time.Since(begun), err
}
