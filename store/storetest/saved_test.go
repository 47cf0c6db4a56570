package storetest_test

import (
	"path/filepath"
	"testing"

	"example.com/perks/store/storetest"
)

func TestAServerBeginsWithWhatAnotherSaved(t *testing.T) {
	t.Parallel()
	first := start(t, storetest.PostgresOptions{})
	if err := first.CreateDatabase(t.Context(), "kept"); err != nil {
		t.Fatal(err)
	}
	execute(t, connect(t, first.DSN("kept")), `CREATE TABLE colours AS SELECT 'blue' AS name`)
	saved := filepath.Join(t.TempDir(), "saved")
	if err := first.Save(t.Context(), saved); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second finds nothing of the first's
		copied, err := storetest.StartPostgresFrom(t.Context(), saved, storetest.PostgresOptions{})
		if err != nil {
			t.Fatal(err)
		}
		stopLater(t, copied)
		conn := connect(t, copied.DSN("kept"))
		execute(t, conn, `INSERT INTO colours VALUES ('red')`)
		if n := one[int](t, conn, `SELECT count(*) FROM colours`); n != 2 {
			t.Errorf("there are %d colours, want the saved one and a new one", n)
		}
	}
}
