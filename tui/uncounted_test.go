package tui_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"example.com/perks/api"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
	"example.com/perks/tui/tuitest"
)

// many is how many users, listings and redemptions uncounted has: more than the service counts of a list.
const many = store.MaxCounted + 70

// uncounted starts a service of whose lists only the beginning is counted.
func uncounted(t *testing.T) (*servertest.Server, account) {
	t.Helper()
	server := servertest.Start(t)
	id, secret := server.Client()
	var users []string
	var properties []api.Property
	for i := range many {
		users = append(users, fmt.Sprintf("user-%04d", i+1))
		properties = append(properties, api.Property{ID: int64(i + 1), Title: fmt.Sprintf("Flat number %d.", i+1)})
	}
	server.ImportUsers(users...)
	server.ImportProperties(id, properties...)
	server.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "tea", Title: "Tea for two"}})
	begun, failed := time.Now().Add(-time.Hour), make(chan error, many)
	for i, user := range users {
		go func() {
			_, err := server.Live.Redeem(t.Context(), store.RedeemAttempt{
				ID: uuid.NewString(), PerkID: "tea", UserID: user, ClientID: id, Metadata: []byte(`{}`),
				At: begun.Add(time.Duration(i) * time.Second),
			})
			failed <- err
		}()
	}
	for range many {
		if err := <-failed; err != nil {
			t.Fatal(err)
		}
	}
	return server, account{id, secret}
}

// TestUsersAreWalkedToTheirEnd goes to the last of a list that has one order, by pages and by rows, and back.
func TestUsersAreWalkedToTheirEnd(t *testing.T) {
	server, owner := uncounted(t)
	d := tuitest.StartAs(t, server, owner.id, owner.secret)
	d.Play(`
		2 => Users 200+
		enter => user-0001 | row 1 of 200+
		G => row 50 of 200+ | Only 200 are counted, and the order can't be reversed to see the end. / finds the others.
		settle G => row 100 of 200+
		settle G => row 150 of 200+
		settle G => row 200 of 200+
		settle G => row 250 of 200+
		settle G => LAST | row 270 of 200+
		j ctrl+r settle => LAST | row 270 of 200+
		k => of 200+
		settle g => user-0001 | row 1 of 200+ | ≠ LAST`,
		"LAST", fmt.Sprintf("user-%04d", many))
}

// TestTheEndOfAListThatIsNotCounted goes there at once, from there up to the beginning, and reloads it.
func TestTheEndOfAListThatIsNotCounted(t *testing.T) {
	server, owner := uncounted(t)
	for _, list := range []struct{ key, heading, first, last string }{
		{"3", "Properties 200+", "Flat number 1.", "Flat number 270."},
		{"4", "Redemptions 200+", "user-0270", "user-0001"},
	} {
		t.Run(list.heading, func(t *testing.T) {
			d := tuitest.StartAs(t, server, owner.id, owner.secret)
			d.Play("LIST => HEADING", "LIST", list.key, "HEADING", list.heading)
			if d.App.Top().Form() != nil {
				d.Press("enter")
			}
			up := strings.Repeat("pgup settle\n", many/15)
			d.Play(`
				settle => FIRST | row 1 of 200+
				G => LAST | last row ─ | ≠ FIRST
				settle k => 1 row before the end
				j ctrl+r settle => LAST | last row ─
				k k k space => 2 rows before the end - 1 marked
				size: 32x12
				=> last-2 1*
				size: 80x24
				g => FIRST | row 1 of 200+ - 1 marked, not among these rows | ≠ LAST
				settle G => LAST | last row - 1 marked ─
				`+up+`=> FIRST | row 1 of 200+
				G => LAST | row 270 of 200+
				k g => FIRST | row 1 of 200+`,
				"FIRST", list.first, "LAST", list.last)
		})
	}
}

// TestOthersAddToTheEndOfAList adds listings behind the last. The cursor stays on its row, and an export from there has
// the order of the list.
func TestOthersAddToTheEndOfAList(t *testing.T) {
	server, owner := uncounted(t)
	file := filepath.Join(t.TempDir(), "all.csv")
	next := int64(many)
	add := func(n string) {
		var added []api.Property
		for range len(n) {
			next++
			added = append(added, api.Property{ID: next, Title: fmt.Sprintf("Flat number %d.", next)})
		}
		server.ImportProperties(owner.id, added...)
	}
	d := tuitest.StartAs(t, server, owner.id, owner.secret)
	d.Commands = map[string]func(string){"add": add}
	d.Play(`
		3 => Properties 200+
		enter settle G settle => > 270 Flat number 270. | last row ─
		k k => > 268 Flat number 268. | 2 rows before the end
		add: .
		wait: 3s => 3 rows before the end
		=> > 268 Flat number 268.
		add: .....
		wait: 3s => 8 rows before the end
		=> > 268 Flat number 268.
		wait: 1s
		settle pgdown => > 276 Flat number 276. | last row ─
		E => Export 200+ properties
		ctrl+u "FILE\n" => Exported 276 properties`, "FILE", file)
	text, err := os.ReadFile(file)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if err != nil || len(lines) != 277 || !strings.HasPrefix(lines[1], "1,") || !strings.HasPrefix(lines[276], "276,") {
		t.Errorf("exported %d lines, from %q to %q (%v)", len(lines), lines[1], lines[len(lines)-1], err)
	}
}

// TestAListIsReadFromItsEndInLittleMemory goes up by pages of the window from the last of 1,200 listings, and down
// again: each is seen, in order.
func TestAListIsReadFromItsEndInLittleMemory(t *testing.T) {
	const all = 1200
	server := servertest.Start(t)
	id, secret := server.Client()
	properties := make([]api.Property, all)
	for i := range properties {
		properties[i] = api.Property{ID: int64(i + 1), Title: fmt.Sprintf("Flat number %d.", i+1)}
	}
	server.ImportProperties(id, properties...)
	d := tuitest.StartAs(t, server, id, secret)
	d.Play(`
		3 => Properties 200+
		enter settle G settle => last row`)
	list := d.App.Top().(interface {
		Shown() []api.Property
		Visible() []api.Property
	})
	for _, way := range []struct {
		key string
		end int64
	}{{"pgup", 1}, {"pgdown", all}} {
		for range all {
			before := list.Visible()
			d.Press(way.key)
			d.Settle()
			visible := list.Visible()
			if kept := len(list.Shown()); kept > 1000 {
				t.Fatalf("%d rows are kept", kept)
			}
			for i := range visible {
				if visible[i].ID != visible[0].ID+int64(i) {
					t.Fatalf("the rows have a gap:\n%s", d.Screen())
				}
			}
			if gap := visible[0].ID - before[0].ID; max(gap, -gap) > int64(len(visible)) {
				t.Fatalf("%s goes from %d to %d", way.key, before[0].ID, visible[0].ID)
			}
			if visible[0].ID == way.end || visible[len(visible)-1].ID == way.end {
				break
			}
		}
		d.See(fmt.Sprintf("Flat number %d.", way.end))
	}
	d.Play("G => last row")
}
