package sqlite

import (
	"fmt"
	"strings"

	"example.com/perks/store"
)

// dialect has no locks, because SQLite has one writer at a time.
var dialect = &store.Dialect{
	ImportsPerks:      `SELECT EXISTS (SELECT 1 FROM large_import WHERE written_at >= $1)`,
	StockPerk:         `perk`,
	EmptyIndex:        `INSERT INTO perk_words (perk_words) VALUES ('delete-all')`,
	JSONObject:        `json_object`,
	JSONValue:         `json_quote(%s)`,
	JSONTexts:         `json(%s)`,
	RowPlace:          `rowid`,
	RowPlaceType:      `integer`,
	Stock:             `CROSS JOIN perk_stock AS s ON s.perk = p.row`,
	Redemptions:       redemptionsAndPerks,
	PerkOfRedemption:  `p.id`,
	RedemptionsOfUser: redemptionsAndPerks,
	RedemptionPerk:    `r.perk`,
	PerkKey:           `row`,
	IndexedPerk:       `r.perk`,
	RedemptionDay:     `r.redeemed_at / 86400000000`,
	FilteredTime:      `r.redeemed_at`,
	PerkOrder:         perkOrder,
	WordsType:         `text`,
	// Looking up each listing in the index of words takes longer than looking at its words.
	HasWords: func(words []string, args store.Named) string {
		args["words"] = queryOf(words)
		var conditions []string
		for i, word := range words {
			name := fmt.Sprintf(`word_%d`, i)
			args[name] = `'` + word
			conditions = append(conditions, `instr(w.words, @`+name+`) > 0`)
		}
		return strings.Join(conditions, ` AND `)
	},
	PropertiesWithWords: `property_words CROSS JOIN properties AS p INDEXED BY properties_by_id
		ON p.id = property_words.rowid AND property_words MATCH @words`,
	// FTS5 finds whole words one after the other, but all with a beginning before the first.
	AreCommonWords: func(q store.Querier, words []string, others string, args store.Named, most int64) (bool, error) {
		from := `property_words WHERE property_words MATCH @whole`
		if others != "" {
			from = `(SELECT rowid FROM ` + from +
				` LIMIT 2 * @most) AS found CROSS JOIN properties AS p ON p.id = found.rowid WHERE ` + others
		}
		args["whole"], args["most"] = `"`+strings.Join(words, `" "`)+`"`, most+1
		there, err := store.One(q, store.ScanValue[int64], `SELECT count(*) FROM (SELECT 1 FROM `+from+` LIMIT @most)`,
			args)
		return there > most, err
	},
	StreamsWords: true,
	Indexed:      func(index string) string { return ` INDEXED BY ` + index },
	AuditRedemptions: store.AuditSource{
		Select: `
			SELECT r.redeemed_at AS at, 0 AS source, r.row AS seq, coalesce(r.actor, '') AS actor,
				'' AS action, '' AS subject, NULL AS before, NULL AS after,
				r.id, p.id AS perk, r.user_id, r.client_id, r.first_status, r.metadata, r.row AS redemption
			FROM ` + redemptionsAndPerks,
		// The + keeps SQLite from reading all redemptions of a client, of which a follower wants the last.
		Columns: map[string]string{"at": `r.redeemed_at`, "id": `r.id`, "client": `+r.client_id`, "actor": `+r.actor`},
	},
	AuditEntries: store.AuditSource{
		Select: `
			SELECT a.at, 1 AS source, a.row AS seq, a.actor, a.action, a.subject, a.before, a.after,
				NULL AS id, NULL AS perk, NULL AS user_id, NULL AS client_id, NULL AS first_status,
				NULL AS metadata, a.redemption
			FROM audit AS a`,
		Columns: map[string]string{"at": `a.at`, "subject": `a.subject`, "actor": `a.actor`, "action": `a.action`},
	},
	AuditID:        `row`,
	IndexedAuditID: `row`,
	NextAuditID:    `(SELECT ifnull(max(row), 0) + 1 FROM audit)`,
	BeginRemoving:  `UPDATE audit_archived SET removing = 1`,
	EndRemoving:    `UPDATE audit_archived SET removing = 0`,
	AuditGone:      `UPDATE audit_archived SET row = max(row, $1, $2)`,
	// A redemption sorts before other entries of the same instant, because it is made before it is decided.
	AuditOldestFirst: ` ORDER BY at, source, seq`,
	// An entry comes after the last redemption that there was.
	AuditInCommitOrder: ` ORDER BY redemption, source, seq`,
}
