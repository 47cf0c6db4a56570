package store

import (
	"context"
	"errors"
	"testing"
)

var errBroken = errors.New("the connection broke")

// brokenRows has one row of two, and then fails.
type brokenRows struct{ read bool }

func (r *brokenRows) Next() bool   { return !r.read }
func (r *brokenRows) Err() error   { return errBroken }
func (r *brokenRows) Close() error { return nil }
func (r *brokenRows) Scan(to ...any) error {
	r.read = true
	*to[0].(*int) = 2
	for _, value := range to {
		if text, is := value.(**string); is {
			*text = new("{}")
		}
	}
	return nil
}

type brokenQuerier struct{}

func (brokenQuerier) Query(string, ...any) (Rows, error) { return &brokenRows{}, nil }

// TestAPartOfTheAuditLogFailsWithItsConnection reads a batch of two entries from a connection that breaks after the
// first.
func TestAPartOfTheAuditLogFailsWithItsConnection(t *testing.T) {
	o := NewOperations(Database{
		Dialect: &Dialect{},
		AuditEnd: func(Querier, AuditPosition, AuditPosition, AuditBound) (AuditEnd, error) {
			return AuditEnd{Position: "2", IsLast: true}, nil
		},
		AuditRange: func(Querier, AuditPosition, AuditPosition) (redemptions, entries AuditFilter, err error) {
			return AuditFilter{}, AuditFilter{}, nil
		},
		Snapshot: func(_ context.Context, work func(Querier) error) error { return work(brokenQuerier{}) },
		Retry:    func(error) bool { return false },
		Fault:    func(_ string, err error) error { return err },
	})
	batch, err := o.NextAudit(t.Context(), AuditPlace{Since: "1"}, "", AuditBound{Entries: 10, Bytes: 1 << 20})
	if !errors.Is(err, errBroken) {
		t.Errorf("it returned %d entries and %v", len(batch.Entries), err)
	}
}
