package sqlite

import (
	"strings"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

func TestAStoredFingerprintOfTheWrongLengthIsAnError(t *testing.T) {
	db := openTemporary(t)
	const tables = `
		INSERT INTO users (id) VALUES ('alice');
		INSERT INTO perks (id, created_at, updated_at, approval, title_fold, city_fold, title, city, description)
		VALUES ('tea', 0, 0, 'auto', 'tea', 'bath', 'Tea', 'Bath', 'Hot');
		INSERT INTO perk_stock (perk, stock, held) SELECT row, 10, 0 FROM perks`
	script := func(text string) {
		t.Helper()
		if err := db.write(t.Context(), "prepare a test", func(s *session) error { return s.script(text) }); err != nil {
			t.Fatal(err)
		}
	}
	script(tables)
	redeem := func() error {
		_, err := db.Redeem(t.Context(), store.RedeemAttempt{ID: "r", PerkID: "tea", UserID: "alice", ClientID: "shop", At: time.Now(),
			Key: &store.IdempotencyKey{Key: "k"}})
		return err
	}
	if err := redeem(); err != nil {
		t.Fatal(err)
	}
	for _, kept := range []string{`x''`, `x'00'`, `zeroblob(33)`} {
		script(`UPDATE idempotency_keys SET fingerprint = ` + kept)
		if err := redeem(); api.CodeOf(err) != api.CodeInternal || !strings.Contains(err.Error(), `the fingerprint of the idempotency key "k" has`) {
			t.Errorf("with the fingerprint %s kept: %v", kept, err)
		}
	}
}
