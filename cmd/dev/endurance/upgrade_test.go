package endurance

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"example.com/perks/cmd/dev/programs"
	"example.com/perks/store/storetest"
)

// release is the variable that names the perksd of the last release. The tests upgrade it to this one. Without it, they
// upgrade this one to a next version, which is the same with one more migration.
const release = "PERKS_TEST_RELEASE"

func TestAnUpgradeAndTheWayBackUnderLoadOverPostgreSQL(t *testing.T) {
	parallel(t)
	upgradeUnderLoad(t, programs.InstallOver(t, storetest.PostgresDatabase(t)), 2)
}

func TestAnUpgradeAndTheWayBackUnderLoadOverSQLite(t *testing.T) {
	parallel(t)
	upgradeUnderLoad(t, programs.InstallOver(t, "sqlite:"+filepath.Join(t.TempDir(), "perks.db")), 1)
}

// upgradeUnderLoad replaces one server after the other, and then each again by its former version, as docs/upgrading.md
// says. Redemptions continue at the others, or wait if there is one.
func upgradeUnderLoad(t *testing.T, former *programs.Installation, servers int) {
	next := former
	if path := os.Getenv(release); path != "" {
		former = next.Using(path)
	} else {
		next = former.Using(nextVersion(t))
	}
	running := former.StartTogether(servers)
	load := startLoad(t, former, running...)
	load.awaitReplies(200)
	if servers > 1 {
		next.Must("", "migrate")
		load.awaitReplies(200)
	}
	for _, step := range []*programs.Installation{next, former} {
		for n := range running {
			running[n].Terminate()
			running[n] = step.Start()
			load.move(running)
			load.awaitReplies(200)
		}
	}
	load.finish()
	load.check(former)
}

// nextVersion builds the next version of perksd, once. Its migration makes something that older ones pass over.
func nextVersion(t *testing.T) string {
	t.Helper()
	path, err := buildNext()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var buildNext = sync.OnceValues(func() (string, error) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for _, driver := range []string{"postgres", "sqlite"} {
		migrations := filepath.Join(root, "store", driver, "migrations")
		known, err := filepath.Glob(filepath.Join(migrations, "*.sql"))
		if err != nil {
			return "", err
		}
		script := filepath.Join(dir, driver+".sql")
		if err := os.WriteFile(script, []byte(`CREATE TABLE tomorrow (id text PRIMARY KEY);`), 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(migrations, fmt.Sprintf("%04d_tomorrow.fits%d.sql", len(known)+1, len(known)))] = script
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file, built := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "next")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		return "", err
	}
	return filepath.Join(built, "perksd"),
		programs.Build(context.Background(), built, "-overlay="+file, "example.com/perks/cmd/perksd")
})
