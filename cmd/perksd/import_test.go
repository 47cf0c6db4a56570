package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/iotest"
)

// importable has a file of each kind for a database with the client acme.
var importable = map[string]string{
	"perks":      "id,title,description,city\ntea,Tea,Hot,Bath\ncake,Cake,Sweet,Bath\n",
	"categories": "id,category_name\nfood,Food\nfun,Fun\n",
	"users":      "id\nalice\nbob\n",
	"properties": "propertyId,title,price_pw,owner\n1,Flat,100,acme\n2,House,200.50,acme\n",
}

func withClient(t *testing.T) *operator {
	o := newOperator(t)
	o.must("client", "create", "--name", "Acme", "--id", "acme")
	return o
}

// everything exports all records.
func (o *operator) everything() string {
	o.t.Helper()
	var all strings.Builder
	for _, kind := range []string{"perks", "categories", "users", "properties", "redemptions"} {
		all.WriteString(o.must("export", kind, "-o", "jsonl"))
	}
	return all.String()
}

func TestAnInterruptedImportChangesNothing(t *testing.T) {
	o := newOperator(t)
	o.must("migrate")
	ctx, interrupt := context.WithCancel(context.Background())
	// One byte at a time, so that the interrupt comes between two rows.
	input := iotest.OneByteReader(&interrupting{Reader: strings.NewReader("id\nalice\nbob\ncarol\n"), after: 12,
		interrupt: interrupt})
	var stdout, stderr bytes.Buffer
	p := o.program("", &stdout, &stderr)
	p.In = input
	if code := p.run(ctx, []string{"import", "users", "--format", "csv", "-"}); code != exitFailure {
		t.Errorf("exit code %d, stdout %q", code, stdout.String())
	}
	equal(t, "the message", "perksd: stdin: interrupted; nothing was imported\n", stderr.String())
	equal(t, "the users", "id\n", o.must("export", "users"))
}

// interrupting is an input that interrupts the command while it reads.
type interrupting struct {
	*strings.Reader
	after     int
	interrupt func()
}

func (r *interrupting) Read(p []byte) (int, error) {
	if r.after -= len(p); r.after <= 0 {
		r.interrupt()
	}
	return r.Reader.Read(p)
}
