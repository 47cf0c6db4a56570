package postgres

import (
	"context"
	"fmt"

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

func (db *DB) Property(ctx context.Context, id int64) (store.PropertyRecord, error) {
	return latest(ctx, db, "read a property", func(v view) (store.PropertyRecord, error) {
		return store.Found(store.PropertyNotFound(id), v, scanProperty, selectProperty, id)
	})
}

func (s *session) Property(id int64) (store.PropertyRecord, error) {
	return store.Found(store.PropertyNotFound(id), s, scanProperty, selectProperty+` FOR UPDATE`, id)
}

// lockNewProperties lets one at a time add properties. Those that are there can be changed and deleted meanwhile.
const lockNewProperties = `LOCK TABLE properties IN SHARE UPDATE EXCLUSIVE MODE`

func (s *session) HasProperty(id int64) (bool, error) {
	if err := s.exec(lockNewProperties); err != nil {
		return false, err
	}
	return store.One(s, store.ScanValue[bool], `SELECT EXISTS (SELECT 1 FROM properties WHERE id = $1)`, id)
}

func (s *session) AddProperty(property store.PropertyRecord) (added bool, err error) {
	n, err := s.execCount(insertProperty+` ON CONFLICT (id) DO NOTHING`, propertyValues(property)...)
	return n > 0, err
}

func (s *session) PutProperty(property store.PropertyRecord) error {
	return s.exec(insertProperty+replaceProperty, propertyValues(property)...)
}

func (s *session) DeleteProperty(id int64) error {
	return s.exec(`DELETE FROM properties WHERE id = $1`, id)
}

func (s *session) DeletedProperty(id int64) (string, error) {
	return store.Found(store.PropertyNotFound(id), s, store.ScanValue[string], `
		SELECT before FROM audit WHERE subject = $1 AND action = $2 ORDER BY entry DESC LIMIT 1`,
		store.PropertySubject(id), store.ActionDeleteProperty)
}
