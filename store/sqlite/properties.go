package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

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

const (
	selectProperty = `SELECT ` + propertyColumns + ` FROM properties WHERE id = ?`
	insertProperty = `INSERT INTO properties (` + propertyColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
)

var replaceProperty = ` ON CONFLICT (id) DO UPDATE SET ` + excluded(strings.TrimPrefix(propertyColumns, "id, "))

func (db *DB) Property(ctx context.Context, id int64) (store.PropertyRecord, error) {
	property, err := store.Found(store.PropertyNotFound(id), db.latest(ctx), scanProperty, selectProperty, id)
	return property, fault("read a property", err)
}

func (s *session) Property(id int64) (store.PropertyRecord, error) {
	return store.Found(store.PropertyNotFound(id), s, scanProperty, selectProperty, id)
}

func (s *session) HasProperty(id int64) (bool, error) {
	return store.One(s, store.ScanValue[bool], `SELECT EXISTS (SELECT 1 FROM properties WHERE id = ?)`, id)
}

func (s *session) AddProperty(property store.PropertyRecord) (added bool, err error) {
	n, err := s.execCount(insertProperty+` ON CONFLICT (id) DO NOTHING`, propertyValues(property)...)
	return n > 0, err
}

func (s *session) PutProperty(property store.PropertyRecord) error {
	return s.exec(insertProperty+replaceProperty, propertyValues(property)...)
}

func (s *session) DeleteProperty(id int64) error {
	return s.exec(`DELETE FROM properties WHERE id = ?`, id)
}

func (s *session) DeletedProperty(id int64) (string, error) {
	return store.Found(store.PropertyNotFound(id), s, store.ScanValue[string], `
		SELECT before FROM audit WHERE subject = ? AND action = ? ORDER BY row DESC LIMIT 1`,
		store.PropertySubject(id), store.ActionDeleteProperty)
}
