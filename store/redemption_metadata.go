package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"example.com/perks/api"
)

// A redemption is found by values in its metadata. The table redemption_metadata has those of the searched keys, in the
// order in which they were redeemed. A redemption is written there with its own transaction, if the server that makes
// it searches the key. The others are found by indexing: those that were made before the key was searched, and those
// that a server makes which does not search it, such as a former perksd.
//
// The table searched_metadata says of each key how far its indexing is. It first walks through all redemptions by their
// ids. Then it follows the log of redemptions, from where that was when the walk began. Each step is one transaction,
// which moves the place only if it is still where the step began: of several servers, one makes each step.

// SearchedValue is a value in metadata by which a redemption is found.
type SearchedValue struct{ Key, Value string } // the value is folded

// SearchedValues returns the values of the keys in metadata. Values that api.SearchedText leaves out are not searched.
func SearchedValues(keys []string, metadata json.RawMessage) (values []SearchedValue) {
	var members map[string]json.RawMessage
	if len(keys) == 0 || len(metadata) <= len(`{}`) || json.Unmarshal(metadata, &members) != nil {
		return nil
	}
	for _, key := range keys {
		if text, isSearched := api.SearchedText(members[key]); isSearched {
			values = append(values, SearchedValue{key, Fold(text)})
		}
	}
	return values
}

// indexPlace is how far the indexing of a key is.
type indexPlace struct {
	Walked   bool          `json:"walked"`          // all redemptions up to the position are indexed
	After    string        `json:"after,omitempty"` // the last redemption of the walk
	Position AuditPosition `json:"position"`
}

func (p indexPlace) text() string {
	text, _ := json.Marshal(p) // texts can always be written
	return string(text)
}

// indexedAtOnce is how many redemptions one step indexes, about.
const indexedAtOnce = 500

// errPlaceMoved means that another server has made the step.
var errPlaceMoved = errors.New("another server has indexed these redemptions")

func (o Operations) IndexMetadata(ctx context.Context, keys []string) (percent int, err error) {
	ctx, percent = notBehind(ctx), 100
	var end AuditEnd // of all keys, so that they come to the same place
	places, err := inSnapshot(ctx, o, "read how far metadata is indexed", o.db.Snapshot,
		func(q Querier) (places map[string]string, err error) {
			if end, err = o.db.AuditEnd(q, "", "", AuditBound{}); err == nil {
				places, err = readPlaces(q)
			}
			return places, err
		})
	groups := map[string][]string{} // keys by their place
	for _, key := range keys {
		groups[places[key]] = append(groups[places[key]], key)
	}
	for place, keys := range groups {
		if err != nil {
			return 0, err
		}
		var step indexStep
		step, err = inSnapshot(ctx, o, "read the metadata to index", o.db.Snapshot, func(q Querier) (indexStep, error) {
			return o.readIndexStep(q, indexStep{keys: keys, place: place}, end.Position)
		})
		if err == nil && step.next != place {
			err = o.db.Write(ctx, "index the metadata of redemptions", step.write)
		}
		if errors.Is(err, errPlaceMoved) {
			step.percent, err = min(step.percent, 99), nil
		}
		percent = min(percent, step.percent)
	}
	return percent, err
}

// indexStep is redemptions to index for keys whose places are the same.
type indexStep struct {
	keys        []string
	place, next string // the first is "" if the keys have none yet
	rows        [][]any
	percent     int
}

// readIndexStep reads the next step of a walk, or what was made until an end of the log of redemptions.
func (o Operations) readIndexStep(q Querier, step indexStep, end AuditPosition) (indexStep, error) {
	place := indexPlace{Position: end}
	if step.place != "" {
		place = indexPlace{}
		if err := json.Unmarshal([]byte(step.place), &place); err != nil {
			return step, fmt.Errorf("read how far the keys %s are indexed: %w", strings.Join(step.keys, ", "), err)
		}
	}
	if place.Walked {
		return step, o.followStep(q, place, end, &step)
	}
	return step, o.walkStep(q, place, &step)
}

// readPlaces returns the places by their keys.
func readPlaces(q Querier) (map[string]string, error) {
	type of struct{ key, place string }
	read, err := All(q, func(r Scanner) (p of, err error) { return p, r.Scan(&p.key, &p.place) },
		`SELECT key, place FROM searched_metadata`)
	places := map[string]string{}
	for _, p := range read {
		places[p.key] = p.place
	}
	return places, err
}

const selectMetadata = `SELECT r.id, r.redeemed_at, r.metadata FROM redemptions AS r `

// add reads redemptions, and returns the number of them and the last id.
func (s *indexStep) add(q Querier, text string, args ...any) (read int, last string, err error) {
	var at time.Time
	var metadata string
	scan := func(r Scanner) (id string, err error) { return id, r.Scan(&id, &at, &metadata) }
	for id, err := range Each(q, scan, text, args...) {
		if err != nil {
			return read, last, err
		}
		for _, value := range SearchedValues(s.keys, json.RawMessage(metadata)) {
			s.rows = append(s.rows, []any{value.Key, value.Value, at, id})
		}
		read, last = read+1, id
	}
	return read, last, nil
}

// walkStep reads the next redemptions of the walk.
func (o Operations) walkStep(q Querier, place indexPlace, step *indexStep) error {
	read, last, err := step.add(q, selectMetadata+`WHERE r.id > $1 ORDER BY r.id LIMIT $2`, place.After, indexedAtOnce)
	if err != nil {
		return err
	}
	if read < indexedAtOnce {
		step.next = indexPlace{Walked: true, Position: place.Position}.text()
		step.percent = 99
		return nil
	}
	step.next = indexPlace{After: last, Position: place.Position}.text()
	step.percent, err = walkedPercent(q, last)
	return err
}

// walkedPercent is how far an id is between the first and the last one. Ids begin with the time.
func walkedPercent(q Querier, id string) (percent int, err error) {
	var first, end *string
	_, err = One(q, func(r Scanner) (any, error) { return nil, r.Scan(&first, &end) },
		`SELECT (SELECT min(id) FROM redemptions), (SELECT max(id) FROM redemptions)`)
	if err != nil || first == nil || end == nil {
		return 0, err
	}
	number := func(text string) *big.Int { return new(big.Int).SetBytes([]byte(fmt.Sprintf("%-36.36s", text))) }
	from := number(*first)
	all, done := number(*end), number(id)
	if all.Sub(all, from).Sign() <= 0 {
		return 99, nil
	}
	done.Sub(done, from).Mul(done, big.NewInt(100)).Div(done, all)
	return int(min(99, max(0, done.Int64()))), nil
}

// followStep reads the redemptions that were made after the place. If the log does not tell, it walks again.
func (o Operations) followStep(q Querier, place indexPlace, now AuditPosition, step *indexStep) error {
	end, err := o.db.AuditEnd(q, place.Position, now, AuditBound{Entries: indexedAtOnce, Bytes: 1 << 20})
	if errors.Is(err, ErrPosition) || errors.Is(err, ErrOlderCopy) || errors.Is(err, ErrArchived) {
		step.next = indexPlace{Position: now}.text()
		return nil
	}
	if err != nil {
		return err
	}
	made, _, err := o.db.AuditRange(q, place.Position, end.Position)
	if err != nil {
		return err
	}
	where := strings.Join(made.Conditions, ` AND `)
	for i := range made.Args {
		where = strings.Replace(where, "?", fmt.Sprintf("$%d", i+1), 1)
	}
	step.next = indexPlace{Walked: true, Position: end.Position}.text()
	if step.percent = 99; end.IsLast {
		step.percent = 100
	}
	_, _, err = step.add(q, selectMetadata+`WHERE `+where, made.Args...)
	return err
}

// rowsAtOnce is how many rows one statement writes.
const rowsAtOnce = 500

func (s *indexStep) write(tx Tx) error {
	for _, key := range s.keys {
		text, args := `UPDATE searched_metadata SET place = $2 WHERE key = $1 AND place = $3`, []any{key, s.next, s.place}
		if s.place == "" {
			text, args = `INSERT INTO searched_metadata (key, place) VALUES ($1, $2) ON CONFLICT DO NOTHING`, args[:2]
		}
		if n, err := tx.Exec(text, args...); err != nil || n == 0 {
			return errors.Join(err, errPlaceMoved)
		}
	}
	for rows := range slices.Chunk(s.rows, rowsAtOnce) {
		if err := insertRows(tx, `redemption_metadata (key, value, redeemed_at, redemption_id)`, rows); err != nil {
			return err
		}
	}
	return nil
}

// metadataConditions are on redemptions AS r, and on redemption_metadata AS m if leads is true: then a list is read in
// the order of m, which has the redemptions of one value. Otherwise each redemption is looked up there.
func metadataConditions(filter api.MetadataFilter, leads bool, args Named) (conditions []string) {
	for i, key := range filter.Keys() {
		name, value := fmt.Sprintf(`key_%d`, i), fmt.Sprintf(`value_%d`, i)
		args[name], args[value] = key, Fold(filter.Value(key))
		is := fmt.Sprintf(`m.key = @%s AND m.value = @%s AND m.redemption_id = r.id`, name, value)
		if i > 0 || !leads {
			is = `EXISTS (SELECT 1 FROM redemption_metadata AS m WHERE ` + is + ` AND m.redeemed_at = r.redeemed_at)`
		}
		conditions = append(conditions, is)
	}
	return conditions
}

// byMetadata tells whether redemption_metadata leads the query. A user has few redemptions, which are looked up there.
func (q RedemptionQuery) byMetadata() bool { return q.Metadata != "" && q.UserID == "" }

// from adds redemption_metadata to what follows FROM, if it leads the query.
func (q RedemptionQuery) from(redemptions string) string {
	if q.byMetadata() {
		return `redemption_metadata AS m CROSS JOIN ` + redemptions
	}
	return redemptions
}
