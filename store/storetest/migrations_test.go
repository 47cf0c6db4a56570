package storetest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"example.com/perks/store"
)

func TestManyOpenANewDatabaseAtOnce(t *testing.T) {
	forEachDatabase(t, func(t *testing.T, d database) {
		var group errgroup.Group
		for range 10 {
			group.Go(func() error {
				db, err := d.open(context.Background(), d.address)
				if err != nil {
					return err
				}
				return errors.Join(db.Ready(context.Background()), db.Close())
			})
		}
		noError(t, group.Wait())
		d.wantMigrated(t, true)
	})
}

func TestAskingForTheMigrationsChangesNothing(t *testing.T) {
	forEachDatabase(t, func(t *testing.T, d database) {
		d.wantMigrated(t, false)
		d.wantMigrated(t, false)
		d.opened(t)
		before := d.wantMigrated(t, true)
		if diff := cmp.Diff(before, d.wantMigrated(t, true)); diff != "" {
			t.Errorf("the migrations have changed:\n%s", diff)
		}
	})
}

// wantMigrated returns the migrations, all of which must be applied, or none.
func (d database) wantMigrated(t *testing.T, applied bool) []store.Migration {
	t.Helper()
	migrations := must(d.status(t.Context(), d.address))(t)
	if len(migrations) == 0 {
		t.Fatal("no migration is known")
	}
	for i, m := range migrations {
		if prefix := fmt.Sprintf("%04d_", i+1); m.Version != i+1 || !strings.HasPrefix(m.Name, prefix) {
			t.Errorf("migration %d is %d, %q, want a name that begins with %q", i+1, m.Version, m.Name, prefix)
		}
		if m.AppliedAt.IsZero() == applied {
			t.Errorf("migration %q was applied at %v, want applied: %t", m.Name, m.AppliedAt, applied)
		}
	}
	return migrations
}

func TestADatabaseOfAnotherProgramIsRefusedUnlessItFits(t *testing.T) {
	const add = `INSERT INTO migrations SELECT count(*) + 1, '%s', max(applied_at) FROM migrations`
	for name, test := range map[string]struct{ change, want string }{
		"a newer one that fits": {fmt.Sprintf(add, "9999_tomorrow.fits1"), ""},
		"a newer one":           {fmt.Sprintf(add, "9999_tomorrow"), ": use a newer perksd"},
		"an older one": {`UPDATE migrations SET name = '0001_initial'`,
			"its migration 0001_initial is not one of this program, which has 0001_schema"},
	} {
		t.Run(name, func(t *testing.T) {
			forEachDatabase(t, func(t *testing.T, d database) {
				noError(t, d.opened(t).Close())
				d.execute(t, d.address, test.change)
				db, opening := d.open(t.Context(), d.address)
				migrations, asking := d.status(t.Context(), d.address)
				if test.want == "" {
					noError(t, errors.Join(opening, asking, db.Close()))
					if last := migrations[len(migrations)-1]; len(store.Pending(migrations)) > 0 ||
						last.Name != "9999_tomorrow.fits1" {
						t.Errorf("the migrations are %v", migrations)
					}
					return
				}
				for _, err := range []error{opening, asking} {
					if err == nil || !strings.Contains(err.Error(), test.want) {
						t.Errorf("got %v, want %q", err, test.want)
					}
				}
			})
		})
	}
}
