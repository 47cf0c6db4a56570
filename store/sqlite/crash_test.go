package sqlite

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

// redeemForever names the environment variable that turns this test program into one that redeems perk "p" of the named
// database until it is killed, and writes each acknowledged id as a line.
const redeemForever = "REDEEM_FOREVER"

func TestMain(m *testing.M) {
	if path := os.Getenv(redeemForever); path != "" {
		fmt.Fprintln(os.Stderr, redeemUntilKilled(path))
		os.Exit(1)
	}
	for mode, do := range map[string]func(path string) error{
		replaceOnInputOf: replaceOnInput, commitTwo: commitTwoTogether, restoreBeside: restoreFromBeside,
		importLarge: importRound2,
	} {
		if path := os.Getenv(mode); path != "" {
			fmt.Fprint(os.Stderr, do(path))
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

const crashUsers = 2000

func redeemUntilKilled(path string) error {
	ctx := context.Background()
	db, err := Open(ctx, path, Options{})
	if err != nil {
		return err
	}
	acknowledged := make(chan string)
	for caller := range 8 {
		go func() {
			for i := caller; ; i += 8 {
				user := fmt.Sprint("user", i%crashUsers)
				id := fmt.Sprintf("%d-%d", os.Getpid(), i)
				_, err := db.Redeem(ctx, store.RedeemAttempt{ID: id, PerkID: "p", UserID: user, ClientID: "shop",
					At:  time.Now(),
					Key: &store.IdempotencyKey{Key: id}})
				if err == nil {
					acknowledged <- id
				}
			}
		}()
	}
	for id := range acknowledged {
		if _, err := fmt.Println(id); err != nil {
			return err
		}
	}
	return nil
}

func TestNothingAcknowledgedIsLostWhenTheProcessIsKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "perks.db")
	db := must(Open(t.Context(), path, Options{}))(t)
	importForCrash(t, db)
	noError(t, db.Close())
	var acknowledged []string
	for range 3 {
		acknowledged = append(acknowledged, killAfter(t, path, 100)...)
		requireRedeemed(t, path, acknowledged)
	}
}

func importForCrash(t *testing.T, db *DB) {
	t.Helper()
	units := int64(crashUsers)
	perk := store.PerkRecord{Perk: api.Perk{ID: "p", Title: "P", Description: "P", City: "Leeds"}, Stock: &units}
	must(db.ImportPerks(t.Context(), storetest.Rows(perk), nil, store.Operator, time.Now()))(t)
	users := storetest.Numbered(crashUsers, func(i int) store.User { return store.User{ID: fmt.Sprint("user", i)} })
	must(db.ImportUsers(t.Context(), users, store.Operator, time.Now()))(t)
}

// killAfter runs a process that redeems, kills it after so many acknowledged redemptions, and returns their ids.
func killAfter(t *testing.T, path string, enough int) []string {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0])
	command.Env = append(os.Environ(), redeemForever+"="+path)
	var messages strings.Builder
	command.Stderr = &messages
	output := must(command.StdoutPipe())(t)
	noError(t, command.Start())
	var acknowledged []string
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		acknowledged = append(acknowledged, lines.Text())
		if len(acknowledged) == enough {
			noError(t, command.Process.Kill())
		}
	}
	if err := command.Wait(); len(acknowledged) < enough {
		t.Fatalf("the process exited (%v) after %d redemptions: %s", err, len(acknowledged), messages.String())
	}
	return acknowledged
}

// requireRedeemed checks that every acknowledged redemption exists, with its key, and that the stock matches.
func requireRedeemed(t *testing.T, path string, acknowledged []string) {
	t.Helper()
	db := must(Open(t.Context(), path, Options{}))(t)
	defer db.Close()
	there := map[string]bool{}
	for record, err := range db.ExportRedemptions(t.Context(), "") {
		noError(t, err)
		there[record.ID] = true
	}
	for _, id := range acknowledged {
		if !there[id] {
			t.Errorf("redemption %s was acknowledged, but is missing", id)
		}
	}
	for what, text := range map[string]string{
		"units held": `SELECT held FROM perk_stock`,
		"keys": `SELECT count(*) FROM idempotency_keys AS k JOIN redemptions AS r ON r.row = k.redemption
			AND r.id = k.key`,
	} {
		n := must(store.One(db.latest(t.Context()), store.ScanValue[int], text))(t)
		if n != len(there) {
			t.Errorf("%s: %d, but there are %d redemptions", what, n, len(there))
		}
	}
	if verdict, err := store.One(db.latest(t.Context()), store.ScanValue[string],
		`PRAGMA integrity_check`); verdict != "ok" {
		t.Errorf("SQLite finds: %s (%v)", verdict, err)
	}
}
