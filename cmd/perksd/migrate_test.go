package main

import (
	"os"
	"strings"
	"testing"
)

func TestMigrateStatusChangesNothing(t *testing.T) {
	o := newOperator(t)
	status := o.must("migrate", "--status")
	if !strings.HasPrefix(status, "VERSION  NAME") || !strings.Contains(status, "pending") {
		t.Errorf("the status of a database without perksd is %q", status)
	}
	o.hasNoDatabase()
	if made := o.must("migrate"); strings.Contains(made, "pending") {
		t.Errorf("after migrate something is pending: %q", made)
	}
	if status := o.must("migrate", "--status"); strings.Contains(status, "pending") {
		t.Errorf("the status says that something is pending: %q", status)
	}
	if list := o.must("migrate", "--status", "-o", "json"); !strings.HasPrefix(list, "[\n  {\"version\":1,") {
		t.Errorf("the status in JSON is %q", list)
	}
}

func TestMigrateStatusMakesNoFile(t *testing.T) {
	o := newSQLiteOperator(t)
	o.must("migrate", "--status")
	if _, err := os.Stat(o.path("perks.db")); err == nil {
		t.Error("a file was made")
	}
}
