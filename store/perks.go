package store

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/perks/api"
)

// PerkColumns are the columns of perks AS p that make an api.Perk.
const PerkColumns = `p.id, p.title, p.description, p.category, p.merchant_name, p.image_url, p.discount_text, p.terms,
	p.valid_from, p.valid_to, p.city, p.created_at, p.updated_at`

// ScanPerk reads PerkColumns.
func ScanPerk(r Scanner) (p api.Perk, err error) {
	return p, r.Scan(&p.ID, &p.Title, &p.Description, &p.Category, &p.MerchantName, &p.ImageURL, &p.DiscountText,
		&p.Terms, &p.ValidFrom, &p.ValidTo, &p.City, &p.CreatedAt, &p.UpdatedAt)
}

// ScanPoint reads lat and lng, neither of which is null.
func ScanPoint(r Scanner) (p api.Point, err error) { return p, r.Scan(&p.Lat, &p.Lng) }

func scanPerkRecord(r Scanner) (record PerkRecord, err error) {
	record.Perk, err = ScanPerk(ScanAfter(r, &record.Lat, &record.Lng, &record.Stock, &record.Approval,
		&record.HoldFor))
	return record, err
}

// perkRecordColumns are the columns of perks AS p and perk_stock AS s that scanPerkRecord reads.
const perkRecordColumns = `p.lat, p.lng, s.stock, p.approval, p.hold_seconds, ` + PerkColumns

// StoredPerkFields are the columns of perks that a record has alone, without its words.
const StoredPerkFields = `id, created_at, updated_at, ` + ImportedPerkFields

// StoredPerkValues are a record's values of StoredPerkFields.
func StoredPerkValues(p PerkRecord) []any {
	keys := KeysOf(p)
	return []any{p.ID, nilIfZero(p.CreatedAt), nilIfZero(p.UpdatedAt), p.ValidFrom, p.ValidTo, p.Lat, p.Lng, keys.Cell,
		string(cmp.Or(p.Approval, ApprovalAuto)), p.HoldFor, keys.Title, keys.Category, keys.MerchantName, keys.City,
		p.Title, p.Category, p.MerchantName, p.City, p.ImageURL, p.DiscountText, p.Description, p.Terms}
}

// ImportedPerkFields are the columns of perks that are copied from staged records, besides id, times of the record,
// words and stock.
const ImportedPerkFields = `valid_from, valid_to, lat, lng, cell, approval, hold_seconds, title_fold, ` +
	`category_fold, merchant_name_fold, city_fold, title, category, merchant_name, city, image_url, discount_text, ` +
	`description, terms`

// partialPerks stages created_at and updated_at as null if the record lacks them.
func (o Operations) partialPerks() partialKind[PerkRecord] {
	return partialKind[PerkRecord]{
		kind: PerkKind, table: `perks`, missing: `absent`, scan: scanPerkRecord,
		columns: slices.Concat(rowColumns, columns(Text, "id"),
			columns(Instant, "created_at, updated_at, valid_from, valid_to"), columns(Number, "lat, lng"),
			columns(Integer, "cell"), columns(Text, "approval"), columns(Integer, "hold_seconds"),
			columns(Text, "title_fold, category_fold, merchant_name_fold, city_fold"),
			columns(Text, "title, category, merchant_name, city, image_url, discount_text, description, terms"),
			columns(Texts, "words"), columns(Integer, "stock"), o.db.PerkColumns),
		values: func(p PerkRecord) []any {
			return slices.Concat([]any{p.Row.Line, int64(p.Row.Absent)}, StoredPerkValues(p),
				[]any{KeysOf(p).Words, p.Stock}, o.db.PerkValues(p))
		},
		known: `new.lat, new.lng, new.stock, new.approval, new.hold_seconds, ` +
			stagedPerkColumns.Replace(PerkColumns) + `, ` + perkRecordColumns + `
			FROM staged AS new CROSS JOIN perks AS p ` + o.db.Stock + ` WHERE p.id = new.id AND new.absent <> 0`,
		args: []any{time.Time{}},
	}
}

// perkSortValues are what perks sort by, as PerkOrder has it in SQL; but for distance and relevance, which a perk alone
// does not tell.
var perkSortValues = map[string]func(*api.Perk) any{
	"id":            func(p *api.Perk) any { return p.ID },
	"title":         func(p *api.Perk) any { return Fold(p.Title) },
	"description":   func(p *api.Perk) any { return Fold(p.Description) },
	"category":      func(p *api.Perk) any { return orNil(foldOrNil(p.Category)) },
	"merchant_name": func(p *api.Perk) any { return orNil(foldOrNil(p.MerchantName)) },
	"image_url":     func(p *api.Perk) any { return orNil(foldOrNil(p.ImageURL)) },
	"discount_text": func(p *api.Perk) any { return orNil(foldOrNil(p.DiscountText)) },
	"terms":         func(p *api.Perk) any { return orNil(foldOrNil(p.Terms)) },
	"valid_from":    func(p *api.Perk) any { return orNil(p.ValidFrom) },
	"valid_to":      func(p *api.Perk) any { return orNil(p.ValidTo) },
	"city":          func(p *api.Perk) any { return Fold(p.City) },
	"created_at":    func(p *api.Perk) any { return p.CreatedAt },
	"updated_at":    func(p *api.Perk) any { return p.UpdatedAt },
}

// sortKinds are the kinds of fields other than texts.
var sortKinds = map[string]ColumnType{
	"valid_from": Instant, "valid_to": Instant, "created_at": Instant, "updated_at": Instant, "redeemed_at": Instant,
	"at":             Instant,
	api.SortDistance: Integer, api.SortRelevance: Integer,
	"propertyId": Integer, "bedrooms": Integer,
}

func orNil[T any](value *T) any {
	if value == nil {
		return nil
	}
	return *value
}

// relevance is what perks are sorted by for words, as Search.Order has it in SQL: 0 if the folded title contains all of
// them, otherwise 1. A perk matches if its words begin so, but a condition on beginnings would be slower than sorting,
// and hardly ever differs.
func relevance(title string, words []string) int64 {
	title = Fold(title)
	if slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(title, word) }) {
		return 1
	}
	return 0
}

// PerkOrder sorts perks AS p. fold returns the folded text of a column, and least is the function for the smaller of
// two numbers. Databases may differ in the last bits of a sine, so distances are sorted in whole millimetres.
func PerkOrder(fold func(field string) string, least string, nullsGreatest bool) Order {
	millimetres := fmt.Sprintf(`CAST(round(%v * asin(%s(1, sqrt(%s)))) AS bigint)`, 2*EarthRadiusKM*1e6, least,
		haversine)
	return Order{ID: `p.id`, NullsGreatest: nullsGreatest, Columns: map[string]SortColumn{
		"id":             {`p.id`, false, true},
		"title":          {`p.title_fold`, false, true},
		"description":    {fold("description"), false, false},
		"category":       {`p.category_fold`, true, true},
		"merchant_name":  {`p.merchant_name_fold`, true, true},
		"image_url":      {fold("image_url"), true, false},
		"discount_text":  {fold("discount_text"), true, false},
		"terms":          {fold("terms"), true, false},
		"valid_from":     {`p.valid_from`, true, true},
		"valid_to":       {`p.valid_to`, true, true},
		"city":           {`p.city_fold`, false, true},
		"created_at":     {`p.created_at`, false, true},
		"updated_at":     {`p.updated_at`, false, true},
		api.SortDistance: {millimetres, false, false},
	}}
}
