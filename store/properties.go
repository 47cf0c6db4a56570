package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"example.com/perks/api"
)

// PropertyColumns are the columns of properties, the id first.
const PropertyColumns = `id, owner, title, description, address, city, postcode, images, price_pw, bedrooms, bathrooms, lat, lng, deposit`

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

// PropertyValues are a record's values in the order of PropertyColumns.
func PropertyValues(p PropertyRecord) []any {
	return []any{p.ID, p.Owner, p.Title, p.Description, p.Address, p.City, p.Postcode, append([]string{}, p.Images...), p.PricePW.String(),
		p.Bedrooms, p.Bathrooms, p.Lat, p.Lng, p.Deposit}
}

const (
	selectProperty = `SELECT ` + PropertyColumns + ` FROM properties WHERE id = $1`
	insertProperty = `INSERT INTO properties (` + PropertyColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`
)

// Of qualifies columns with the name of a table.
func Of(table, columns string) string {
	return table + "." + strings.ReplaceAll(columns, ", ", ", "+table+".")
}

func (o Operations) Property(ctx context.Context, id int64) (PropertyRecord, error) {
	return Read(ctx, o.db, "read a property", func(q Querier) (PropertyRecord, error) {
		return OneOr(PropertyNotFound(id), q, ScanProperty, selectProperty, id)
	})
}

func (o Operations) lockProperty(tx Tx, id int64) (PropertyRecord, error) {
	return OneOr(PropertyNotFound(id), tx, ScanProperty, selectProperty+o.db.LockProperty, id)
}

func (o Operations) UpdateProperty(ctx context.Context, id int64, by Actor, at time.Time, change func(*PropertyRecord) error) error {
	return o.db.Write(ctx, "update a property", func(tx Tx) error {
		property, err := o.lockProperty(tx, id)
		if err != nil {
			return err
		}
		before, err := json.Marshal(property)
		if err != nil {
			return fmt.Errorf("encode property %d: %w", id, err)
		}
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
		if _, err := tx.Exec(`UPDATE properties SET (`+PropertyColumns+`) = ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
			WHERE id = $1`, PropertyValues(property)...); err != nil {
			return err
		}
		return Audit(tx, at, by, ActionUpdateProperty, PropertySubject(id), json.RawMessage(before), json.RawMessage(after))
	})
}

func (o Operations) DeleteProperty(ctx context.Context, id int64, by Actor, at time.Time, check func(PropertyRecord) error) error {
	return o.db.Write(ctx, "delete a property", func(tx Tx) error {
		property, err := o.lockProperty(tx, id)
		if err != nil {
			return err
		}
		if err := check(property); err != nil {
			return err
		}
		if _, err := tx.Exec(`DELETE FROM properties WHERE id = $1`, id); err != nil {
			return err
		}
		return Audit(tx, at, by, ActionDeleteProperty, PropertySubject(id), property, nil)
	})
}

func (o Operations) RestoreProperty(ctx context.Context, id int64, by Actor, at time.Time) (PropertyRecord, error) {
	return writeFor(ctx, o, "restore a property", func(tx Tx) (deleted PropertyRecord, err error) {
		if err := lock(tx, o.db.LockNewProperties); err != nil {
			return deleted, err
		}
		exists, err := One(tx, ScanValue[bool], `SELECT EXISTS (SELECT 1 FROM properties WHERE id = $1)`, id)
		if err != nil {
			return deleted, err
		}
		if exists {
			return deleted, PropertyExists(id)
		}
		encoded, err := OneOr(PropertyNotFound(id), tx, ScanValue[string], `
			SELECT before FROM audit WHERE subject = $1 AND action = $2 ORDER BY `+o.db.AuditID+` DESC LIMIT 1`,
			PropertySubject(id), ActionDeleteProperty)
		if err != nil {
			return deleted, err
		}
		if err := json.Unmarshal([]byte(encoded), &deleted); err != nil {
			return deleted, fmt.Errorf("read the deleted property %d: %w", id, err)
		}
		added, err := tx.Exec(insertProperty+` ON CONFLICT (id) DO NOTHING`, PropertyValues(deleted)...)
		if err != nil {
			return deleted, err
		}
		if added == 0 { // another transaction restored or imported it meanwhile
			return deleted, PropertyExists(id)
		}
		return deleted, Audit(tx, at, by, ActionRestoreProperty, PropertySubject(id), nil, deleted)
	})
}

func (o Operations) ExportProperties(ctx context.Context) iter.Seq2[PropertyRecord, error] {
	return stream(ctx, o.db, "export properties", ScanProperty, `SELECT `+PropertyColumns+` FROM properties ORDER BY id`)
}

var partialProperties = partialKind[PropertyRecord]{
	kind: PropertyKind, table: `properties`,
	columns: slices.Concat(rowColumns, columns(Integer, "id"), columns(Text, "owner, title, description, address, city, postcode"),
		columns(Texts, "images"), columns(Text, "price_pw"), columns(Integer, "bedrooms, bathrooms"), columns(Number, "lat, lng, deposit")),
	values: func(p PropertyRecord) []any {
		return slices.Concat([]any{p.Row.Line, int64(p.Row.Absent)}, PropertyValues(p))
	},
	missing: fmt.Sprintf(`CASE WHEN owner = '' THEN absent ELSE absent & ~%d END`, OwnerField),
	scan:    ScanProperty,
	known: Of("new", PropertyColumns) + `, ` + Of("old", PropertyColumns) + `
		FROM staged AS new CROSS JOIN properties AS old WHERE old.id = new.id AND new.absent <> 0`,
}
