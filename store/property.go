package store

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Apply lets change alter the record, all but its id. It returns the record as it was, as JSON, or nil when change left
// it equal. An error of change is returned as it is.
func (p *PropertyRecord) Apply(change func(*PropertyRecord) error) (before json.RawMessage, err error) {
	id := p.ID
	if before, err = json.Marshal(p); err != nil {
		return nil, fmt.Errorf("write down property %d: %w", id, err)
	}
	if err := change(p); err != nil {
		return nil, err
	}
	p.ID = id
	after, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("write down what property %d is to be: %w", id, err)
	}
	if bytes.Equal(before, after) {
		return nil, nil
	}
	return before, nil
}

// ReadDeletedProperty reads the record that the audit log kept of a property when it was deleted.
func ReadDeletedProperty(id int64, kept string) (property PropertyRecord, err error) {
	if err := json.Unmarshal([]byte(kept), &property); err != nil {
		return PropertyRecord{}, fmt.Errorf("read the deleted property %d: %w", id, err)
	}
	return property, nil
}
