package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

const propertyColumns = `id, owner, title, description, address, city, postcode, images, price_pw, bedrooms, bathrooms,
	lat, lng, deposit`

func scanProperty(r row) (p store.PropertyRecord, err error) {
	var images, price string
	err = r.Scan(&p.ID, &p.Owner, &p.Title, &p.Description, &p.Address, &p.City, &p.Postcode, &images, &price,
		&p.Bedrooms, &p.Bathrooms, &p.Lat, &p.Lng, &p.Deposit)
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal([]byte(images), &p.Images); err != nil {
		return p, fmt.Errorf("read the images of property %d: %w", p.ID, err)
	}
	if p.PricePW, err = api.ParsePrice(price); err != nil {
		return p, fmt.Errorf("read the price of property %d: %w", p.ID, err)
	}
	return p, nil
}

// propertyValues are a record's values in the order of propertyColumns.
func propertyValues(p store.PropertyRecord) []any {
	images := p.Images
	if images == nil {
		images = []string{}
	}
	return []any{p.ID, p.Owner, p.Title, p.Description, p.Address, p.City, p.Postcode, asJSON(images), p.PricePW.String(),
		p.Bedrooms, p.Bathrooms, p.Lat, p.Lng, p.Deposit}
}

func propertyByID(q queryer, id int64) (store.PropertyRecord, error) {
	return found(store.PropertyNotFound(id), q, scanProperty, `SELECT `+propertyColumns+` FROM properties WHERE id = ?`, id)
}

const putProperty = `
	INSERT INTO properties (` + propertyColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
	` + replaceProperty

const replaceProperty = `
	ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, title = excluded.title, description = excluded.description,
		address = excluded.address, city = excluded.city, postcode = excluded.postcode, images = excluded.images,
		price_pw = excluded.price_pw, bedrooms = excluded.bedrooms, bathrooms = excluded.bathrooms, lat = excluded.lat,
		lng = excluded.lng, deposit = excluded.deposit`

// Property returns one listing or PropertyNotFound.
func (db *DB) Property(ctx context.Context, id int64) (store.PropertyRecord, error) {
	property, err := propertyByID(db.latest(ctx), id)
	return property, fault("read a property", err)
}

// UpdateProperty stores what change makes of the current record, while no one else can write it.
func (db *DB) UpdateProperty(ctx context.Context, id int64, by store.Actor, at time.Time, change func(*store.PropertyRecord) error) error {
	return db.write(ctx, "update a property", func(s *session) error {
		property, err := propertyByID(s, id)
		if err != nil {
			return err
		}
		before, err := property.Apply(change)
		if err != nil || before == nil {
			return err
		}
		if err := s.exec(putProperty, propertyValues(property)...); err != nil {
			return err
		}
		return s.audit(at, by, store.ActionUpdateProperty, store.PropertySubject(id), before, property)
	})
}

// DeleteProperty removes a listing if check returns nil for it. The audit log keeps the whole record.
func (db *DB) DeleteProperty(ctx context.Context, id int64, by store.Actor, at time.Time, check func(store.PropertyRecord) error) error {
	return db.write(ctx, "delete a property", func(s *session) error {
		property, err := propertyByID(s, id)
		if err != nil {
			return err
		}
		if err := check(property); err != nil {
			return err
		}
		if err := s.exec(`DELETE FROM properties WHERE id = ?`, id); err != nil {
			return err
		}
		return s.audit(at, by, store.ActionDeleteProperty, store.PropertySubject(id), property, nil)
	})
}

// RestoreProperty brings the last deleted record of that id back from the audit log.
func (db *DB) RestoreProperty(ctx context.Context, id int64, by store.Actor, at time.Time) (store.PropertyRecord, error) {
	return writeFor(ctx, db, "restore a property", func(s *session) (store.PropertyRecord, error) {
		var none store.PropertyRecord
		if _, err := one(s, scanProperty, `SELECT `+propertyColumns+` FROM properties WHERE id = ?`, id); err == nil {
			return none, store.PropertyExists(id)
		} else if !errors.Is(err, sql.ErrNoRows) {
			return none, err
		}
		deleted, err := s.deletedProperty(id)
		if err != nil {
			return none, err
		}
		if err := s.exec(putProperty, propertyValues(deleted)...); err != nil {
			return none, err
		}
		return deleted, s.audit(at, by, store.ActionRestoreProperty, store.PropertySubject(id), nil, deleted)
	})
}

func (s *session) deletedProperty(id int64) (store.PropertyRecord, error) {
	text, err := found(store.PropertyNotFound(id), s, scanValue[string], `
		SELECT before FROM audit WHERE subject = ? AND action = ? ORDER BY row DESC LIMIT 1`,
		store.PropertySubject(id), store.ActionDeleteProperty)
	if err != nil {
		return store.PropertyRecord{}, err
	}
	return store.ReadDeletedProperty(id, text)
}
