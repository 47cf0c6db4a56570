package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.com/perks/api"
)

// A change of a perk locks the version of the catalog first, as imports do, so that such changes run one at a time and
// nothing else of a perk changes meanwhile but the units that are held. Those it locks last, and then its idempotency
// key, as redeeming does. It raises the version last: whoever changes nothing leaves it.

var scanAuditedPerk = scanAudited(scanPerkRecord)

// importLease is how long a large import may write nothing before it is taken to have died. It would not overwrite what
// is changed after that: it fails.
const importLease = time.Minute

func (o Operations) lockCatalog(tx Tx) error {
	if err := lock(tx, o.db.LockCatalog); err != nil || o.db.ImportsPerks == "" {
		return err
	}
	isImporting, err := One(tx, ScanValue[bool], o.db.ImportsPerks, time.Now().Add(-importLease))
	if err == nil && isImporting {
		err = PerksAreImported()
	}
	return err
}

func (d *Dialect) selectAuditedPerk() string {
	return `SELECT a.audited, ` + perkRecordColumns + ` FROM perks AS p ` + d.Stock + `
		LEFT JOIN audited_perks AS a ON a.id = p.id WHERE p.id = $1`
}

func (o Operations) auditedPerk(q Querier, id string) (audited[PerkRecord], error) {
	return OneOr(PerkNotFound(id), q, scanAuditedPerk, o.db.selectAuditedPerk(), id)
}

func (o Operations) PerkRecord(ctx context.Context, id string) (PerkRecord, error) {
	return Read(notBehind(ctx), o.db, "read a perk", func(q Querier) (PerkRecord, error) {
		return OneOr(PerkNotFound(id), q, scanPerkRecord,
			`SELECT `+perkRecordColumns+` FROM perks AS p `+o.db.Stock+` WHERE p.id = $1`, id)
	})
}

func (o Operations) PerkStock(ctx context.Context, id string) (api.PerkStock, error) {
	return Read(notBehind(ctx), o.db, "read the stock of a perk", func(q Querier) (api.PerkStock, error) {
		return OneOr(PerkNotFound(id), q, func(r Scanner) (api.PerkStock, error) {
			var perk PerkRecord
			var held int64
			err := r.Scan(&perk.Stock, &held, &perk.Approval)
			return perk.StockWith(held), err
		}, `SELECT s.stock, s.held, p.approval FROM perks AS p `+o.db.Stock+` WHERE p.id = $1`, id)
	})
}

func (o Operations) CreatePerk(ctx context.Context, creation PerkCreation) (CreatedPerk, error) {
	return writeFor(ctx, o, "create a perk", func(tx Tx) (created CreatedPerk, err error) {
		if err := o.lockCatalog(tx); err != nil {
			return created, err
		}
		if creation.Key != nil {
			entry, isKnown, err := keyOfPerks(tx, creation.ClientID, *creation.Key, creation.At)
			if isKnown && entry != nil {
				err = o.firstReply(tx, *entry, &created.PerkRecord)
			}
			if created.Replayed = err == nil && isKnown; isKnown || err != nil {
				return created, err
			}
		}
		perk := creation.Perk
		for _, id := range api.UUIDSpellings(perk.ID) {
			known, err := One(tx, ScanValue[string], `SELECT id FROM perks WHERE id = $1`, id)
			if err == nil {
				err = PerkExists(known)
			}
			if !errors.Is(err, ErrNoRow) {
				return created, err
			}
		}
		perk.CreatedAt = creation.At.UTC().Truncate(time.Microsecond)
		perk.UpdatedAt = perk.CreatedAt
		hasNewCategory, err := setCategory(tx, &perk)
		if err != nil {
			return created, err
		}
		encoded, err := json.Marshal(perk)
		if err != nil {
			return created, fmt.Errorf("encode perk %q: %w", perk.ID, err)
		}
		if err := o.db.PutPerk(tx, perk); err != nil {
			return created, err
		}
		if _, err := tx.Exec(`INSERT INTO perk_stock (`+o.db.StockPerk+`, stock)
			SELECT `+o.db.PerkKey+`, $2 FROM perks WHERE id = $1`, perk.ID, perk.Stock); err != nil {
			return created, err
		}
		created.PerkRecord = perk
		change := perkChange{id: perk.ID, before: nil, after: encoded, audited: auditedAs(encoded, 0),
			isUncounted: hasNewCategory}
		if err := o.notePerkChange(tx, change); err != nil {
			return created, err
		}
		if err := Audit(tx, creation.At, creation.By, ActionCreatePerk, PerkSubject(perk.ID), nil,
			json.RawMessage(encoded)); err != nil || creation.Key == nil {
			return created, err
		}
		return created, o.keepReply(tx, creation.ClientID, *creation.Key, creation.At, PerkSubject(perk.ID))
	})
}

// keyOfPerks tells whether a client's key is known, of the same request, and returns the entry with the first reply;
// nil if it changed nothing.
func keyOfPerks(tx Tx, clientID string, key IdempotencyKey, at time.Time) (entry *int64, isKnown bool, err error) {
	_, entry, err = knownKey(tx, clientID, key, at)
	if errors.Is(err, ErrNoRow) {
		return nil, false, nil
	}
	return entry, err == nil, err
}

// keepReply keeps a key with the entry that the transaction has just added about the subject.
func (o Operations) keepReply(tx Tx, clientID string, key IdempotencyKey, at time.Time, subject string) error {
	entry, err := o.lastEntry(tx, subject)
	if err != nil {
		return err
	}
	return keepKey(tx, clientID, key, at, nil, entry)
}

// setCategory gives the perk the name of its category in the category's own spelling, as mergePerkCategories does, and
// creates an unknown one.
func setCategory(tx Tx, perk *PerkRecord) (isNew bool, err error) {
	if perk.Category == nil {
		return false, nil
	}
	name, err := One(tx, ScanValue[string], `
		SELECT name FROM categories WHERE name_fold = $1 ORDER BY name = $2 DESC, id LIMIT 1`, Fold(*perk.Category),
		*perk.Category)
	if errors.Is(err, ErrNoRow) {
		return true, addCategories(tx, *perk.Category)
	}
	perk.Category = &name
	return false, err
}

func (o Operations) UpdatePerk(
	ctx context.Context, id string, by Actor, at time.Time, change func(*PerkRecord) error,
) (PerkRecord, error) {
	return writeFor(ctx, o, "update a perk", func(tx Tx) (left PerkRecord, err error) {
		if err := o.lockCatalog(tx); err != nil {
			return left, err
		}
		known, err := o.auditedPerk(tx, id)
		if err != nil {
			return left, err
		}
		perk := known.record
		if err := change(&perk); err != nil {
			return left, err
		}
		perk.ID, perk.CreatedAt, perk.UpdatedAt, perk.Row = id, known.record.CreatedAt, known.record.UpdatedAt, Row{}
		changed := api.PerkChanges(known.record, perk).Fields()
		if len(changed) == 0 {
			return known.record, nil
		}
		isNewCategory := false
		if slices.Contains(changed, "category") {
			if isNewCategory, err = setCategory(tx, &perk); err != nil {
				return left, err
			}
		}
		if slices.ContainsFunc(changed, func(field string) bool { return field != "stock" }) {
			perk.UpdatedAt = at.UTC().Truncate(time.Microsecond)
			if err := o.db.PutPerk(tx, perk); err != nil {
				return left, err
			}
		}
		if slices.Contains(changed, "stock") {
			if _, err := o.setStock(tx, id, perk.Stock); err != nil {
				return left, err
			}
		}
		noted, was, is, err := changeTo(perk, known)
		noted.isUncounted = isNewCategory
		if err == nil {
			err = o.notePerkChange(tx, noted)
		}
		if err != nil {
			return left, err
		}
		return perk, Audit(tx, at, by, ActionUpdatePerk, PerkSubject(id), was, is)
	})
}

// setStock sets the stock of a perk, and returns how many units are held, which others cannot change from then on.
func (o Operations) setStock(tx Tx, id string, stock *int64) (held int64, err error) {
	ofPerk := ` WHERE ` + o.db.StockPerk + ` = (SELECT ` + o.db.PerkKey + ` FROM perks WHERE id = $1)`
	held, err = One(tx, ScanValue[int64], `UPDATE perk_stock SET stock = $2`+ofPerk+`
		AND (CAST($2 AS bigint) IS NULL OR held <= $2) RETURNING held`, id, stock)
	if !errors.Is(err, ErrNoRow) {
		return held, err
	}
	if held, err = One(tx, ScanValue[int64], `SELECT held FROM perk_stock`+ofPerk, id); err == nil {
		err = StockBelowHeld(id, *stock, held)
	}
	return held, err
}

func (o Operations) ChangePerkStock(ctx context.Context, restock PerkRestock) (ChangedStock, error) {
	id := restock.ID
	return writeFor(ctx, o, "change the stock of a perk", func(tx Tx) (changed ChangedStock, err error) {
		if err := o.lockCatalog(tx); err != nil {
			return changed, err
		}
		known, err := o.auditedPerk(tx, id)
		if err != nil {
			return changed, err
		}
		isKnown := false
		if restock.Key != nil {
			var entry *int64
			entry, isKnown, err = keyOfPerks(tx, restock.ClientID, *restock.Key, restock.At)
			if changed.Replayed = isKnown; err != nil || entry != nil {
				if err == nil {
					err = o.firstReply(tx, *entry, &changed.PerkStock)
				}
				return changed, err
			}
		}
		perk := known.record
		if !isKnown {
			if perk.Stock, err = restock.Change.Apply(perk.Stock); err != nil {
				return changed, err
			}
		}
		if isKnown || equal(perk.Stock, known.record.Stock) { // a key that changed nothing replays what there is now
			held, err := One(tx, ScanValue[int64],
				`SELECT s.held FROM perks AS p `+o.db.Stock+` WHERE p.id = $1`, id)
			changed.PerkStock = perk.StockWith(held)
			if err == nil && restock.Key != nil && !isKnown {
				err = keepKey(tx, restock.ClientID, *restock.Key, restock.At, nil, nil)
			}
			return changed, err
		}
		noted, was, is, err := changeTo(perk, known)
		if err == nil {
			err = o.notePerkChange(tx, noted)
		}
		if err != nil {
			return changed, err
		}
		held, err := o.setStock(tx, id, perk.Stock)
		if err != nil {
			return changed, err
		}
		changed.PerkStock = perk.StockWith(held)
		if was, err = withStock(was, known.record.StockWith(held)); err == nil {
			is, err = withStock(is, changed.PerkStock)
		}
		if err == nil {
			err = Audit(tx, restock.At, restock.By, ActionChangePerkStock, PerkSubject(id), was, is)
		}
		if err != nil || restock.Key == nil {
			return changed, err
		}
		return changed, o.keepReply(tx, restock.ClientID, *restock.Key, restock.At, PerkSubject(id))
	})
}

func equal[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

// withStock returns a part of an entry that changes the stock, with the figures: those alone, unless it is a whole
// record.
func withStock(part json.RawMessage, stock api.PerkStock) (json.RawMessage, error) {
	if !perks.isWhole(part) {
		return json.Marshal(stock)
	}
	return api.JoinObjects(part, struct {
		Held int64  `json:"held"`
		Left *int64 `json:"left"`
	}{stock.Held, stock.Left})
}

// perkChange is what lists, imports and later changes need to know of a change.
type perkChange struct {
	id            string
	before, after []byte // whole records as JSON; before is nil of a new perk
	audited       []byte
	isUncounted   bool // the change is more than that of one perk
}

// changeTo returns the change of a perk, and what its entry says was before it and is after it.
func changeTo(to PerkRecord, known audited[PerkRecord]) (change perkChange, was, is json.RawMessage, err error) {
	change.id = to.ID
	before, errBefore := json.Marshal(known.record)
	after, errAfter := json.Marshal(to)
	if err := errors.Join(errBefore, errAfter); err != nil {
		return change, nil, nil, fmt.Errorf("encode perk %q: %w", to.ID, err)
	}
	change.before, change.after = before, after
	was, is, change.audited, err = known.updateEntry(before, after)
	return change, was, is, err
}

// How many versions of the catalog back a change of one perk is known, and how many of these with the records.
const (
	keptEdits     = 100_000
	keptEditTexts = 1000
)

// notePerkChange raises the version of the catalog. perk_edits says which perk a version changed, and how, so that what
// follows from the former version need not be made anew. A version without an edit changed more.
func (o Operations) notePerkChange(tx Tx, change perkChange) error {
	steps := []Step{
		{Text: `INSERT INTO audited_perks (id, audited) VALUES ($1, $2)
			ON CONFLICT (id) DO UPDATE SET audited = excluded.audited`, Args: []any{change.id, change.audited}},
		{Text: RaiseVersion},
	}
	if !change.isUncounted {
		before := "null"
		if change.before != nil {
			before = string(change.before)
		}
		steps = append(steps,
			Step{Text: `INSERT INTO perk_edits (version, perk, before, after)
				SELECT version, CAST($1 AS text), CAST($2 AS text), CAST($3 AS text) FROM catalog`,
				Args: []any{change.id, before, string(change.after)}},
			Step{Text: `UPDATE perk_edits SET before = NULL, after = NULL
				WHERE version = (SELECT version - $1 FROM catalog)`, Args: []any{keptEditTexts}},
			Step{Text: `DELETE FROM perk_edits WHERE version < (SELECT version - $1 FROM catalog)`,
				Args: []any{keptEdits}},
		)
	}
	return Run(tx.Exec, steps...)
}

func (o Operations) PerkHistory(ctx context.Context, query PerkHistoryQuery) (List[PerkVersion], error) {
	return inSnapshot(ctx, o, "read the history of a perk", o.db.Snapshot, func(q Querier) (List[PerkVersion], error) {
		h, _, err := o.historyOfPerk(q, query.ID)
		if err != nil {
			return List[PerkVersion]{Items: []PerkVersion{}}, err
		}
		return h.page(query.Window, query.After)
	})
}

func (o Operations) historyOfPerk(
	q Querier, id string,
) (h history[PerkRecord], current audited[PerkRecord], err error) {
	if current, err = o.auditedPerk(q, id); err != nil {
		return h, current, err
	}
	h, err = perks.historyOf(o, q, &current, fmt.Sprintf("perk %q", id), PerkSubject(id))
	return h, current, err
}

func (o Operations) PerkAsOf(ctx context.Context, id string, at time.Time) (PerkRecord, error) {
	return inSnapshot(notBehind(ctx), o, "read a perk as it was", o.db.Snapshot, func(q Querier) (PerkRecord, error) {
		h, current, err := o.historyOfPerk(q, id)
		if err != nil {
			return PerkRecord{}, err
		}
		record, entry, err := h.asOf(at)
		if err == nil {
			err = o.isUndisturbed(h, current, entry, at)
		}
		return record, err
	})
}

// isUndisturbed fails if an import may have changed the perk between an entry and a time: imports have no entry of each
// perk, and those of categories rename that of perks. None has if the next change, or the perk as it is, follows from
// the entry.
func (o Operations) isUndisturbed(
	h history[PerkRecord], current audited[PerkRecord], entry recordEntry[PerkRecord], at time.Time,
) error {
	left, err := json.Marshal(entry.After)
	if err != nil {
		return err
	}
	next, err := h.read(`>`, ``, entry.number, 0, 1)
	if err != nil {
		return err
	}
	found := current.record
	if len(next) > 0 && next[0].follows() {
		return nil
	}
	if len(next) > 0 && next[0].isKnown && next[0].Before != nil {
		found = *next[0].Before
	}
	if is, err := json.Marshal(found); err != nil || bytes.Equal(is, left) {
		return err
	}
	imported, err := OneOr(nil, h.q, ScanValue[time.Time], `
		SELECT at FROM audit WHERE action IN ('`+ActionImportPerks+`', '`+ActionImportCategories+`', '`+
		ActionResetSandbox+`') AND `+o.db.AuditID+` > $1 AND at <= $2 ORDER BY `+o.db.AuditID+` LIMIT 1`,
		entry.number, at)
	if err == nil && !imported.IsZero() {
		err = api.Errorf(api.CodeNotFound, "Nobody knows what %s was at %s: the import of %s may have changed it.",
			h.name, moment(at), moment(imported))
	}
	return err
}
