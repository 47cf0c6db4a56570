package store

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"example.com/perks/api"
)

// PropertyColumns are the columns of properties, the id first.
const PropertyColumns = `id, owner, title, description, address, city, postcode, images, price_pw, bedrooms, ` +
	`bathrooms, lat, lng, deposit`

// ScanProperty reads PropertyColumns.
func ScanProperty(r Scanner) (p PropertyRecord, err error) {
	var price string
	err = r.Scan(&p.ID, &p.Owner, &p.Title, &p.Description, &p.Address, &p.City, &p.Postcode, &p.Images, &price,
		&p.Bedrooms, &p.Bathrooms, &p.Lat, &p.Lng, &p.Deposit)
	if err != nil {
		return p, err
	}
	if p.PricePW, err = api.ParsePrice(price); err != nil {
		return p, fmt.Errorf("read the price of property %d: %w", p.ID, err)
	}
	return p, nil
}

// derivedPropertyColumns are what lists match and the databases cannot derive.
const derivedPropertyColumns = `city_fold, words, price_key, word_bits`

// derivedPropertyValues are a listing's values of derivedPropertyColumns. The words are as PostgreSQL writes a
// tsvector.
func derivedPropertyValues(p api.Property) []any {
	words := Words(strings.Join([]string{p.Title, p.Description, p.Address, p.City, p.Postcode}, " "))
	bits := wordBits(words)
	for i, word := range words {
		words[i] = `'` + word + `'`
	}
	return []any{cityKey(p.City), strings.Join(words, " "), p.PricePW.SortKey(), bits}
}

// cityKey is by what a listing's city is found. Blanks around it do not count.
func cityKey(city string) string { return Fold(strings.TrimSpace(city)) }

// PropertyValues are a record's values in the order of PropertyColumns.
func PropertyValues(p PropertyRecord) []any {
	return []any{p.ID, p.Owner, p.Title, p.Description, p.Address, p.City, p.Postcode, append([]string{}, p.Images...),
		p.PricePW.String(),
		p.Bedrooms, p.Bathrooms, p.Lat, p.Lng, p.Deposit}
}

var scanAuditedListing = scanAudited(ScanProperty)

const (
	selectAudited  = `SELECT audited, ` + PropertyColumns + ` FROM properties WHERE id = $1`
	selectProperty = `SELECT ` + PropertyColumns + ` FROM properties WHERE id = $1`
	insertProperty = `INSERT INTO properties (` + auditedColumns + `) VALUES ` + auditedProperty
	updateProperty = `UPDATE properties SET (` + auditedColumns + `) = ` + auditedProperty + ` WHERE id = $1`
	// The last of auditedColumns is what auditedAs makes of the record that the listing's last entry leaves.
	auditedColumns  = PropertyColumns + `, ` + derivedPropertyColumns + `, audited`
	auditedProperty = `($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)`
)

// storedPropertyValues are those of PropertyColumns and derivedPropertyColumns.
func storedPropertyValues(p PropertyRecord) []any {
	return append(PropertyValues(p), derivedPropertyValues(p.Property)...)
}

// addProperty inserts a listing whose entry in the audit log has the whole record. It returns 0 if there is one with
// the id.
func addProperty(tx Tx, p PropertyRecord) (added int64, err error) {
	encoded, err := json.Marshal(p)
	if err != nil {
		return 0, fmt.Errorf("encode property %d: %w", p.ID, err)
	}
	return tx.Exec(insertProperty+` ON CONFLICT (id) DO NOTHING`,
		append(storedPropertyValues(p), auditedAs(encoded, 0))...)
}

// Of qualifies columns with the name of a table.
func Of(table, columns string) string {
	return table + "." + strings.ReplaceAll(columns, ", ", ", "+table+".")
}

func (o Operations) Property(ctx context.Context, id int64) (PropertyRecord, error) {
	return Read(ctx, o.db, "read a property", func(q Querier) (PropertyRecord, error) {
		return OneOr(PropertyNotFound(id), q, ScanProperty, selectProperty, id)
	})
}

func (o Operations) lockProperty(tx Tx, id int64) (audited[PropertyRecord], error) {
	return OneOr(PropertyNotFound(id), tx, scanAuditedListing,
		selectAudited+o.db.LockProperty, id)
}

func (o Operations) CreateProperty(
	ctx context.Context, creation PropertyCreation,
) (created CreatedProperty, err error) {
	return writeFor(ctx, o, "create a property", func(tx Tx) (created CreatedProperty, err error) {
		if err := lock(tx, o.db.LockNewProperties); err != nil {
			return created, err
		}
		if creation.Key != nil {
			id, _, err := knownKey(tx, creation.Owner, *creation.Key, creation.At)
			if err == nil && id == nil {
				err = IdempotencyKeyReused(creation.Key.Key)
			}
			if err == nil {
				created.Property, err = o.asCreated(tx, *id)
				created.Replayed = err == nil
			}
			if !errors.Is(err, ErrNoRow) {
				return created, err
			}
		}
		last, err := One(tx, ScanValue[int64], `
			SELECT coalesce(max(id), 0) FROM (
				SELECT max(id) AS id FROM properties UNION ALL SELECT last FROM deleted_properties) AS known`)
		if err != nil {
			return created, err
		}
		if last == math.MaxInt64 {
			return created, NoPropertyID()
		}
		record := PropertyRecord{Property: creation.Property, Owner: creation.Owner}
		record.ID = last + 1
		if creation.Key != nil {
			if err := keepKey(tx, creation.Owner, *creation.Key, creation.At, &record.ID, nil); err != nil {
				return created, err
			}
		}
		if added, err := addProperty(tx, record); err != nil || added == 0 {
			return created, cmp.Or(err, fmt.Errorf("the new id %d is taken", record.ID))
		}
		created.Property = record.Property
		return created, Audit(tx, creation.At, ClientActor(creation.Owner, creation.Actor), ActionCreateProperty,
			PropertySubject(record.ID), nil, record)
	})
}

// knownKey returns the listing that a client's key names, if it names one, and the entry that has the first reply, of a
// restored one and of a change of a perk; or ErrNoRow. It ignores expired keys.
func knownKey(tx Tx, clientID string, key IdempotencyKey, at time.Time) (id, entry *int64, err error) {
	var fingerprint []byte
	id, err = One(tx, func(r Scanner) (id *int64, err error) { return id, r.Scan(&fingerprint, &id, &entry) }, `
		SELECT fingerprint, property_id, entry FROM idempotency_keys
		WHERE client_id = $1 AND key = $2 AND created_at >= $3`, clientID, key.Key, at.Add(-IdempotencyKeyLife))
	if err == nil {
		err = key.Check(fingerprint)
	}
	return id, entry, err
}

// asCreated returns a listing as it was created.
func (o Operations) asCreated(tx Tx, id int64) (api.Property, error) {
	var record PropertyRecord
	encoded, err := OneOr(fmt.Errorf("the audit log lacks the creation of property %d", id), tx, ScanValue[string], `
		SELECT after FROM audit WHERE subject = $1 AND action = $2
			ORDER BY `+o.db.AuditID+` DESC LIMIT 1`, PropertySubject(id), ActionCreateProperty)
	if err != nil {
		return record.Property, err
	}
	if err := json.Unmarshal([]byte(encoded), &record); err != nil {
		return record.Property, fmt.Errorf("read property %d as it was created: %w", id, err)
	}
	return record.Property, nil
}

// keepKey replaces an expired key. Another transaction may have just used the same one.
func keepKey(tx Tx, clientID string, key IdempotencyKey, at time.Time, id, entry *int64) error {
	if _, err := tx.Exec(`DELETE FROM idempotency_keys WHERE client_id = $1 AND key = $2 AND created_at < $3`,
		clientID, key.Key, at.Add(-IdempotencyKeyLife)); err != nil {
		return err
	}
	kept, err := tx.Exec(`INSERT INTO idempotency_keys (client_id, key, fingerprint, created_at, property_id, entry)
		VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (client_id, key) DO NOTHING`, clientID, key.Key, key.Fingerprint[:], at, id, entry)
	if err == nil && kept == 0 {
		err = IdempotencyKeyReused(key.Key)
	}
	return err
}

func (o Operations) UpdateProperty(
	ctx context.Context, id int64, by Actor, at time.Time, change func(*PropertyRecord) error,
) error {
	return o.write(ctx, "update a property", func(tx Tx) error {
		known, err := o.lockProperty(tx, id)
		if err != nil {
			return err
		}
		before, err := json.Marshal(known.record)
		if err != nil {
			return fmt.Errorf("encode property %d: %w", id, err)
		}
		property := known.record
		if err := change(&property); err != nil {
			return err
		}
		property.ID = id
		after, err := json.Marshal(property)
		if err != nil {
			return fmt.Errorf("encode the changed property %d: %w", id, err)
		}
		if bytes.Equal(before, after) {
			return nil
		}
		was, is, audited, err := known.updateEntry(before, after)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(updateProperty, append(storedPropertyValues(property), audited)...); err != nil {
			return err
		}
		return Audit(tx, at, by, ActionUpdateProperty, PropertySubject(id), was, is)
	})
}

func (o Operations) DeleteProperty(
	ctx context.Context, id int64, by Actor, at time.Time, check func(PropertyRecord) error,
) error {
	return o.write(ctx, "delete a property", func(tx Tx) error {
		property, err := o.lockProperty(tx, id)
		if err != nil {
			return err
		}
		if err := check(property.record); err != nil {
			return err
		}
		if _, err := tx.Exec(`DELETE FROM properties WHERE id = $1`, id); err != nil {
			return err
		}
		return Audit(tx, at, by, ActionDeleteProperty, PropertySubject(id), property.record, nil)
	})
}

func (o Operations) ExportProperties(ctx context.Context) iter.Seq2[PropertyRecord, error] {
	return stream(ctx, o.db, "export properties", ScanProperty,
		`SELECT `+PropertyColumns+` FROM properties ORDER BY id`)
}

var partialProperties = partialKind[PropertyRecord]{
	kind: PropertyKind, table: `properties`,
	columns: slices.Concat(rowColumns, columns(Integer, "id"),
		columns(Text, "owner, title, description, address, city, postcode"),
		columns(Texts, "images"), columns(Text, "price_pw"), columns(Integer, "bedrooms, bathrooms"),
		columns(Number, "lat, lng, deposit"),
		columns(Text, "city_fold, words, price_key"), columns(Integer, "word_bits")),
	values: func(p PropertyRecord) []any {
		return slices.Concat([]any{p.Row.Line, int64(p.Row.Absent)}, storedPropertyValues(p))
	},
	missing: fmt.Sprintf(`CASE WHEN owner = '' THEN absent ELSE absent & ~%d END`, OwnerField),
	scan:    ScanProperty,
	known: Of("new", PropertyColumns) + `, ` + Of("old", PropertyColumns) + `
		FROM staged AS new CROSS JOIN properties AS old WHERE old.id = new.id AND new.absent <> 0`,
}
