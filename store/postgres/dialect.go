package postgres

import (
	"strconv"
	"strings"

	"example.com/perks/store"
)

// dialect is PostgreSQL's.
var dialect = &store.Dialect{
	LockClient:        ` FOR NO KEY UPDATE`, // lets an import reference the client: disabling it must not wait for that
	LockProperty:      ` FOR UPDATE`,
	LockSigningKeys:   lockSigningKeys,
	LockNewProperties: lockNewProperties,
	// As redeeming does. A redemption's perk never changes, so it can be read before the lock.
	LockStock: `SELECT FROM perk_stock WHERE perk_id = (SELECT perk_id FROM redemptions
		WHERE id = $1) FOR UPDATE`,
	LockCatalog:      `SELECT FROM catalog FOR UPDATE`,
	SkipLocked:       ` FOR UPDATE SKIP LOCKED`,
	StockPerk:        `perk_id`,
	EmptyIndex:       `DELETE FROM perk_folds`,
	JSONObject:       `json_build_object`,
	JSONValue:        `coalesce(to_json(%s)::text, 'null')`,
	JSONTexts:        `%s`,
	RowPlace:         `ctid`,
	RowPlaceType:     `tid`,
	OnCommitDrop:     `ON COMMIT DROP`,
	Stock:            `JOIN perk_stock AS s ON s.perk_id = p.id`,
	Redemptions:      `redemptions AS r`,
	PerkOfRedemption: `r.perk_id`,
	// All redemptions of a user are sorted: they are few, because each is of another perk or not live. OFFSET 0 keeps
	// PostgreSQL from searching an index of all redemptions.
	RedemptionsOfUser: `(SELECT * FROM redemptions WHERE user_id = @user OFFSET 0) AS r`,
	// OFFSET 0 makes PostgreSQL look up each perk, however many redemptions it expects.
	PerkOfEach:     ` CROSS JOIN LATERAL (SELECT * FROM perks WHERE id = r.perk_id OFFSET 0) AS p`,
	RedemptionPerk: `r.perk_id`,
	PerkKey:        `id`,
	// PostgreSQL supposes that what a filter matches is spread evenly over time, and would read all redemptions in
	// their order until there are enough. And whether a user has a perk it would look up among all redemptions of the
	// perk. So the indexes for filters have expressions that are only used here.
	IndexedPerk:   `(r.perk_id || '')`,
	RedemptionDay: `(r.redeemed_at AT TIME ZONE 'UTC')::date - DATE '1970-01-01'`,
	ByCodePoint:   ` COLLATE "C"`,
	FilteredTime:  `(r.redeemed_at AT TIME ZONE 'UTC')`,
	PerkOrder:     perkOrder,
	WordsType:     `tsvector`,
	HasWords: func(words []string, args store.Named) string {
		args["words"] = queryOf(words)
		return `w.words @@ @words::tsquery`
	},
	PropertiesWithWords: `properties AS p WHERE p.words @@ @words::tsquery`,
	AreCommonWords:      areCommonWords,
	// an index has each order, and all is not read
	ListSettings: `SELECT concat(` + listSettings + `, set_config('enable_sort', 'off', true))`,
	Indexed:      func(string) string { return `` },
	AuditRedemptions: store.AuditSource{
		Select: `
			SELECT r.redeemed_at AS at, 0 AS source, 0::bigint AS entry, coalesce(r.actor, '') AS actor,
				'' AS action, '' AS subject, NULL AS before, NULL AS after,
				r.id AS redemption, r.perk_id, r.user_id, r.client_id, r.first_status, r.metadata, r.arrived
			FROM redemptions AS r`,
		Columns: map[string]string{"at": `r.redeemed_at`, "id": `r.id`, "client": `r.client_id`, "actor": `r.actor`},
	},
	AuditEntries: store.AuditSource{
		Select: `
			SELECT a.at, 1 AS source, a.entry, a.actor, a.action, a.subject, a.before, a.after,
				NULL AS redemption, NULL AS perk_id, NULL AS user_id, NULL AS client_id, NULL AS first_status,
				NULL AS metadata, a.arrived
			FROM audit AS a`,
		Columns: map[string]string{"at": `a.at`, "subject": `a.subject`, "actor": `a.actor COLLATE "C"`,
			"action": `a.action COLLATE "C"`},
	},
	AuditID: `entry`,
	// Of a listing with many entries PostgreSQL would suppose that they are spread evenly over all.
	IndexedAuditID: `(entry + 0)`,
	NextAuditID:    `nextval('audit_entry_seq')`,
	LockAudit:      `LOCK TABLE audit IN SHARE UPDATE EXCLUSIVE MODE`, // two archives at once; others read and add
	BeginRemoving:  `SELECT set_config('perks.archiving', 'on', true)`,
	EndRemoving:    `SELECT set_config('perks.archiving', '', true)`,
	AuditGone: `UPDATE audit_archived SET arrived = greatest(arrived,
		(SELECT arrived FROM audit WHERE entry >= $1 AND entry <= $2 ORDER BY arrived DESC LIMIT 1))`,
	// A redemption sorts before other entries of the same instant, because it is made before it is decided. Two indexes
	// give the order of time, so that only entries of one instant are sorted.
	AuditOldestFirst: ` ORDER BY at, source, entry, redemption`,
	// The times are those of many servers. A transaction gets its number when it first writes, after it has seen what
	// it changes.
	AuditInCommitOrder: ` ORDER BY arrived, at, source, entry, redemption`,
}

// lockSigningKeys allows reads. It locks the table, because two replicas could add a key at once, and there is no row
// to lock yet.
const lockSigningKeys = `LOCK TABLE signing_keys IN SHARE ROW EXCLUSIVE MODE`

// lockNewProperties lets one transaction at a time add properties. Others can update and delete existing ones.
const lockNewProperties = `LOCK TABLE properties IN SHARE UPDATE EXCLUSIVE MODE`

// areCommonWords looks at about as many of the listings with a word as the limit says, chosen at random: the index
// would give all of them before the first. It has no such limit for beginnings of words, and of several words the
// chosen listings would differ.
func areCommonWords(q store.Querier, words []string, others string, args store.Named, most int64) (bool, error) {
	limit := func(listings int64) error {
		_, err := store.One(q, store.ScanValue[string], `SELECT set_config('gin_fuzzy_search_limit', $1, true)`,
			strconv.FormatInt(listings, 10))
		return err
	}
	if len(words) == 1 {
		if err := limit(10 * most); err != nil {
			return false, err
		}
	}
	from := `properties WHERE words @@ @whole::tsquery`
	if others != "" { // OFFSET 0 keeps PostgreSQL from searching their indexes
		from = `(SELECT * FROM ` + from + ` OFFSET 0) AS p WHERE ` + others
	}
	args["whole"], args["most"] = `'`+strings.Join(words, `' & '`)+`'`, most+1
	there, err := store.One(q, store.ScanValue[int64],
		`SELECT count(*) FROM (SELECT 1 FROM `+from+` LIMIT @most) AS counted`, args)
	if err == nil && len(words) == 1 {
		err = limit(0)
	}
	return there > most, err
}
