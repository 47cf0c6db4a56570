package postgres

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"example.com/perks/api"
	"example.com/perks/store"
)

// foldedTexts are the columns of perk_folds beside the perk's id.
var foldedTexts = []string{"description", "image_url", "discount_text", "terms"}

// foldedText is a text as perks are sorted by it.
func foldedText(field string) string {
	return `coalesce((SELECT f.` + field + ` FROM perk_folds AS f WHERE f.perk_id = p.id), lower(p.` + field + ` COLLATE "C"))`
}

// folds returns the values for foldedTexts.
func folds(p api.Perk) []any {
	return []any{foldBeyondASCII(&p.Description), foldBeyondASCII(p.ImageURL), foldBeyondASCII(p.DiscountText), foldBeyondASCII(p.Terms)}
}

// foldBeyondASCII returns nil for a text that PostgreSQL can fold.
func foldBeyondASCII(text *string) *string {
	if text == nil || !strings.ContainsFunc(*text, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return nil
	}
	folded := store.Fold(*text)
	return &folded
}

// mergeFolds follows the perks that were staged, and writes only what is different.
var mergeFolds = []string{
	`DELETE FROM perk_folds AS old USING staged AS new
		WHERE old.perk_id = new.id AND (` + of("old", foldedTexts) + `) IS DISTINCT FROM (` + stagedFolds + `)`,
	`INSERT INTO perk_folds (perk_id, ` + strings.Join(foldedTexts, ", ") + `)
		SELECT new.id, ` + stagedFolds + ` FROM staged AS new
		WHERE coalesce(` + stagedFolds + `) IS NOT NULL ON CONFLICT (perk_id) DO NOTHING`,
}

var stagedFolds = "new." + strings.Join(foldedTexts, "_fold, new.") + "_fold"

// foldTexts fills perk_folds for the perks that are older than the table. It locks the catalog's version, so imports wait.
func foldTexts(ctx context.Context, tx pgx.Tx) error {
	s := &session{ctx, tx}
	if err := s.exec(raiseVersion); err != nil {
		return err
	}
	const atOnce = 1000
	for last := ""; ; {
		perks, err := all(s, scanPerk, `SELECT `+perkColumns+` FROM perks AS p
			WHERE p.id > $1 AND concat(p.description, p.image_url, p.discount_text, p.terms) ~ '[^\x01-\x7f]'
			ORDER BY p.id LIMIT $2`, last, atOnce)
		if err != nil {
			return err
		}
		var batch pgx.Batch
		for _, perk := range perks {
			batch.Queue(`INSERT INTO perk_folds (perk_id, `+strings.Join(foldedTexts, ", ")+`) VALUES ($1, $2, $3, $4, $5)`,
				append([]any{perk.ID}, folds(perk)...)...)
			last = perk.ID
		}
		if err := tx.SendBatch(ctx, &batch).Close(); err != nil || len(perks) < atOnce {
			return err
		}
	}
}
