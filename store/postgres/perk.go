package postgres

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"example.com/perks/api"
	"example.com/perks/store"
)

func (db *DB) Perk(ctx context.Context, id string) (api.Perk, error) {
	if store.IsUnstorable(id) {
		return api.Perk{}, store.PerkNotFound(id)
	}
	if from := db.standbys.choose(ctx); from != nil {
		if perk, err := from.perks.perk(ctx, id); err == nil || ctx.Err() != nil {
			return perk, err
		}
	}
	return db.perkReader.perk(ctx, id)
}

const readingPerks = "read a perk"

// maxPerkReads is how many queries run at once. With more of them, fewer callers would share one.
const maxPerkReads = 2

// perkReader reads single perks in batches: requests that arrive while its queries are running share the next one. It
// starts after they have arrived, so each sees everything committed before. A query for many perks takes hardly longer
// than for one, and the round trip is half of the time.
type perkReader struct {
	db      *DB
	standby *standby // nil reads from the primary

	mu    sync.Mutex
	queue []*perkRequest
	reads int // goroutines that run queries until the queue is empty
}

// perkRequest is a perk that a caller waits for.
type perkRequest struct {
	ctx   context.Context
	id    string
	reply chan perkReply // buffered, so that the sender never blocks if the caller has gone
}

// perkReply may share pointers of its perk with other replies.
type perkReply struct {
	perk api.Perk
	err  error
}

func (r *perkReader) perk(ctx context.Context, id string) (api.Perk, error) {
	request := &perkRequest{ctx: ctx, id: id, reply: make(chan perkReply, 1)}
	r.add(request)
	select {
	case a := <-request.reply:
		return a.perk, a.err
	case <-ctx.Done():
		return api.Perk{}, fault(readingPerks, ctx.Err())
	}
}

func (r *perkReader) add(request *perkRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queue = append(r.queue, request)
	if r.reads < maxPerkReads {
		r.reads++
		go func() {
			for batch := r.next(); len(batch) > 0; batch = r.next() {
				r.read(batch)
			}
		}()
	}
}

// next takes the oldest requests. If there are none, the calling goroutine ends.
func (r *perkReader) next() []*perkRequest {
	r.mu.Lock()
	defer r.mu.Unlock()
	batch := r.queue[:min(len(r.queue), maxBatch)]
	r.queue = r.queue[len(batch):]
	if len(batch) == 0 {
		r.queue = nil
		r.reads--
	}
	return batch
}

// The SELECT hides the length of the list. PostgreSQL would otherwise plan again for every short list, which takes five
// times as long as to read a perk, because its generic plan for ten seems to cost more.
const readPerks = `SELECT ` + store.PerkColumns + ` FROM perks AS p WHERE p.id = ANY ((SELECT $1::text[])::text[])`

// read replies to every request of the batch.
func (r *perkReader) read(batch []*perkRequest) {
	ctx, cancel := r.batchContext(batch)
	defer cancel()
	ids := make([]string, len(batch))
	for i, request := range batch {
		ids[i] = request.id
	}
	perks, err := r.query(ctx, ids)
	for _, request := range batch {
		perk, found := perks[request.id]
		switch {
		case err != nil:
			request.reply <- perkReply{err: err}
		case !found:
			request.reply <- perkReply{err: store.PerkNotFound(request.id)}
		default:
			request.reply <- perkReply{perk: perk}
		}
	}
}

func (r *perkReader) query(ctx context.Context, ids []string) (perks map[string]api.Perk, err error) {
	read := func(v store.Querier) (map[string]api.Perk, error) {
		perks := make(map[string]api.Perk, len(ids))
		for perk, err := range store.Each(v, store.ScanPerk, readPerks, ids) {
			if err != nil {
				return nil, err
			}
			perks[perk.ID] = perk
		}
		return perks, nil
	}
	if r.standby == nil {
		return store.Read(ctx, r.db.database, readingPerks, read)
	}
	err = r.standby.do(ctx, func(ctx context.Context) (err error) {
		perks, err = read(view{ctx, r.standby.reads})
		return err
	})
	return perks, err
}

// batchContext returns a context that ends with the latest deadline of the batch, or with the database.
func (r *perkReader) batchContext(batch []*perkRequest) (context.Context, context.CancelFunc) {
	ctx, end := r.db.detach(context.Background())
	var last time.Time
	for _, request := range batch {
		deadline, ends := request.ctx.Deadline()
		if !ends {
			return ctx, end
		}
		if deadline.After(last) {
			last = deadline
		}
	}
	ctx, cancel := context.WithDeadline(ctx, last)
	return ctx, func() { cancel(); end() }
}

// foldedTexts are the columns of perk_folds after the perk's id.
const foldedTexts = "description, image_url, discount_text, terms"

// foldedText is the SQL of a folded text.
func foldedText(field string) string {
	return `coalesce((SELECT f.` + field + ` FROM perk_folds AS f WHERE f.perk_id = p.id), lower(p.` + field +
		` COLLATE "C"))`
}

// folds returns the values for foldedTexts.
func folds(p api.Perk) []any {
	return []any{foldBeyondASCII(&p.Description), foldBeyondASCII(p.ImageURL), foldBeyondASCII(p.DiscountText),
		foldBeyondASCII(p.Terms)}
}

// foldBeyondASCII returns nil for a text that PostgreSQL can fold.
func foldBeyondASCII(text *string) *string {
	if text == nil || !strings.ContainsFunc(*text, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return nil
	}
	folded := store.Fold(*text)
	return &folded
}

// putPerk writes a new or changed perk with its words and folds.
func putPerk(tx store.Tx, perk store.PerkRecord) error {
	return store.Run(tx.Exec,
		store.Step{Text: putOnePerk, Args: append(store.StoredPerkValues(perk), store.KeysOf(perk).Words)},
		store.Step{Text: `DELETE FROM perk_folds WHERE perk_id = $1`, Args: []any{perk.ID}},
		store.Step{Text: `
			INSERT INTO perk_folds (perk_id, ` + foldedTexts + `)
			SELECT $1, f.* FROM (VALUES ($2::text, $3::text, $4::text, $5::text)) AS f WHERE coalesce($2, $3, $4, $5)
				IS NOT NULL`, Args: append([]any{perk.ID}, folds(perk.Perk)...)},
	)
}

var putOnePerk = func() string {
	fields := strings.Split(store.StoredPerkFields, ", ")
	var values []string
	for i := range fields {
		values = append(values, fmt.Sprintf("$%d", i+1))
	}
	replaced := strings.Join(fields[1:], ", ") + ", words"
	return `
		INSERT INTO perks (` + store.StoredPerkFields + `, words)
		VALUES (` + strings.Join(values, ", ") + fmt.Sprintf(`, array_to_tsvector($%d::text[])`, len(fields)+1) + `)
		ON CONFLICT (id) DO UPDATE SET (` + replaced + `) = ROW (` + store.Of("excluded", replaced) + `)`
}()

// deleteFolds and insertFolds update perk_folds for the staged perks, and write only differences.
var (
	deleteFolds = `
		DELETE FROM perk_folds AS old USING staged AS new
		WHERE old.perk_id = new.id AND (` + store.Of("old", foldedTexts) + `) IS DISTINCT FROM (` + stagedFolds + `)`
	insertFolds = `
		INSERT INTO perk_folds (perk_id, ` + foldedTexts + `)
		SELECT new.id, ` + stagedFolds + ` FROM staged AS new
		WHERE coalesce(` + stagedFolds + `) IS NOT NULL ON CONFLICT (perk_id) DO NOTHING`
	stagedFolds = "new.description_fold, new.image_url_fold, new.discount_text_fold, new.terms_fold"
)
