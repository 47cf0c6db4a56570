package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/perks/api"
	"example.com/perks/store"
)

const propertyColumns = `id, owner, title, description, address, city, postcode, images, price_pw, bedrooms, bathrooms,
	lat, lng, deposit`

func scanProperty(r row) (p store.PropertyRecord, err error) {
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

// propertyValues are a record's values in the order of propertyColumns.
func propertyValues(p store.PropertyRecord) []any {
	images := p.Images
	if images == nil {
		images = []string{}
	}
	return []any{p.ID, p.Owner, p.Title, p.Description, p.Address, p.City, p.Postcode, images, p.PricePW.String(),
		p.Bedrooms, p.Bathrooms, p.Lat, p.Lng, p.Deposit}
}

const (
	selectProperty = `SELECT ` + propertyColumns + ` FROM properties WHERE id = $1`
	insertProperty = `
		INSERT INTO properties (` + propertyColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`
	replaceProperty = `
		ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, title = excluded.title, description = excluded.description,
			address = excluded.address, city = excluded.city, postcode = excluded.postcode, images = excluded.images,
			price_pw = excluded.price_pw, bedrooms = excluded.bedrooms, bathrooms = excluded.bathrooms, lat = excluded.lat,
			lng = excluded.lng, deposit = excluded.deposit`
)

// Property returns one listing or PropertyNotFound.
func (db *DB) Property(ctx context.Context, id int64) (store.PropertyRecord, error) {
	return latest(ctx, db, "read a property", func(v view) (store.PropertyRecord, error) {
		return found(store.PropertyNotFound(id), v, scanProperty, selectProperty, id)
	})
}

// lockProperty reads a listing that no one else can change before the end of the transaction.
func (s *session) lockProperty(id int64) (store.PropertyRecord, error) {
	return found(store.PropertyNotFound(id), s, scanProperty, selectProperty+` FOR UPDATE`, id)
}

// UpdateProperty stores what change makes of the current record, while no one else can write it.
func (db *DB) UpdateProperty(ctx context.Context, id int64, by store.Actor, at time.Time, change func(*store.PropertyRecord) error) error {
	return db.write(ctx, "update a property", func(s *session) error {
		property, err := s.lockProperty(id)
		if err != nil {
			return err
		}
		before, err := property.Apply(change)
		if err != nil || before == nil {
			return err
		}
		if err := s.exec(insertProperty+replaceProperty, propertyValues(property)...); err != nil {
			return err
		}
		return s.audit(at, by, store.ActionUpdateProperty, store.PropertySubject(id), before, property)
	})
}

// DeleteProperty removes a listing if check returns nil for it. The audit log keeps the whole record.
func (db *DB) DeleteProperty(ctx context.Context, id int64, by store.Actor, at time.Time, check func(store.PropertyRecord) error) error {
	return db.write(ctx, "delete a property", func(s *session) error {
		property, err := s.lockProperty(id)
		if err != nil {
			return err
		}
		if err := check(property); err != nil {
			return err
		}
		if err := s.exec(`DELETE FROM properties WHERE id = $1`, id); err != nil {
			return err
		}
		return s.audit(at, by, store.ActionDeleteProperty, store.PropertySubject(id), property, nil)
	})
}

// RestoreProperty brings the last deleted record of that id back from the audit log.
func (db *DB) RestoreProperty(ctx context.Context, id int64, by store.Actor, at time.Time) (store.PropertyRecord, error) {
	return writeFor(ctx, db, "restore a property", func(s *session) (store.PropertyRecord, error) {
		var none store.PropertyRecord
		if err := s.exec(lockNewProperties); err != nil {
			return none, err
		}
		if _, err := one(s, scanProperty, selectProperty, id); err == nil {
			return none, store.PropertyExists(id)
		} else if !errors.Is(err, pgx.ErrNoRows) {
			return none, err
		}
		deleted, err := s.deletedProperty(id)
		if err != nil {
			return none, err
		}
		n, err := s.execCount(insertProperty+` ON CONFLICT (id) DO NOTHING`, propertyValues(deleted)...)
		if err != nil {
			return none, err
		}
		if n == 0 { // someone else restored or imported it meanwhile
			return none, store.PropertyExists(id)
		}
		return deleted, s.audit(at, by, store.ActionRestoreProperty, store.PropertySubject(id), nil, deleted)
	})
}

func (s *session) deletedProperty(id int64) (store.PropertyRecord, error) {
	text, err := found(store.PropertyNotFound(id), s, scanValue[string], `
		SELECT before FROM audit WHERE subject = $1 AND action = $2 ORDER BY entry DESC LIMIT 1`,
		store.PropertySubject(id), store.ActionDeleteProperty)
	if err != nil {
		return store.PropertyRecord{}, err
	}
	return store.ReadDeletedProperty(id, text)
}
