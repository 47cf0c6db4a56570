package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

// diagnose returns the outcome of each check by its name.
func (o *operator) diagnose(code int) map[string]store.Finding {
	o.t.Helper()
	said := o.run("doctor", "-o", "json")
	if said.code != code {
		o.t.Errorf("exit code %d, want %d: %s", said.code, code, said.stderr)
	}
	var findings []store.Finding
	if err := json.Unmarshal([]byte(said.stdout), &findings); err != nil {
		o.t.Fatalf("%v: %s", err, said.stdout)
	}
	found := map[string]store.Finding{}
	for _, f := range findings {
		found[f.Check] = f
	}
	return found
}

func TestDoctorChecksAFile(t *testing.T) {
	o := newSQLiteOperator(t)
	f := o.diagnose(exitFailure)["database"]
	if f.Outcome != store.Failed || !strings.Contains(f.Found, "perksd migrate") {
		t.Errorf("without a database: %+v", f)
	}
	o.must("migrate")
	if f := o.diagnose(exitDone); f["file"].Outcome != store.OK || f["disk"].Outcome != store.OK {
		t.Errorf("a new file: %+v", f)
	}
	if err := os.Chmod(o.path("perks.db"), 0o644); err != nil {
		t.Fatal(err)
	}
	if f := o.diagnose(exitDone)["file"]; f.Outcome != store.Warning || !strings.Contains(f.Advice, "chmod 600") {
		t.Errorf("a file that others read: %+v", f)
	}
}

// TestDoctorChecksAServer has a server without fsync, and one whose role may not connect.
func TestDoctorChecksAServer(t *testing.T) {
	o := newOperatorOf(t, storetest.PostgresDatabase(t))
	o.must("migrate")
	f := o.diagnose(exitFailure)
	if f["fsync"].Outcome != store.Failed || f["server"].Outcome != store.OK || f["disk"].Outcome != store.NotChecked {
		t.Errorf("%+v", f)
	}
	o.env["PERKSD_DATABASE"] = strings.Replace(o.env["PERKSD_DATABASE"], "postgres://", "postgres://nobody:hunter2@", 1)
	o.env["PERKSD_DATABASE"] = withParameter(t, o.env["PERKSD_DATABASE"], "user", "nobody")
	said := o.run("doctor")
	if said.code != exitFailure || strings.Contains(said.stdout+said.stderr, "hunter2") {
		t.Errorf("as nobody: %+v", said)
	}
}
