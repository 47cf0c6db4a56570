package bulk

import "hash/maphash"

// ledger is what is known of the rows, in 12 bytes for each: whether a row is done, with which outcome, and what the row
// said then. It grows by chunks, because a doubling slice would need three times as much for a moment.
type ledger struct {
	chunks []*chunk
	seed   maphash.Seed
}

const chunkSize = 4096

type chunk struct {
	state   [chunkSize]uint64 // untried, failed, unknown, or a sum of the outcome's id
	content [chunkSize]uint32
}

const (
	untried uint64 = iota
	failed
	unknown
	firstDone // this and all above mean that the row is done
)

func newLedger() *ledger { return &ledger{seed: maphash.MakeSeed()} }

// sum is what the ledger keeps of an outcome's id.
func (l *ledger) sum(id string) uint64 {
	return max(maphash.String(l.seed, id), firstDone)
}

func (l *ledger) set(row int, state uint64, content uint32) {
	at := row / chunkSize
	for len(l.chunks) <= at {
		l.chunks = append(l.chunks, nil)
	}
	if l.chunks[at] == nil {
		l.chunks[at] = &chunk{}
	}
	l.chunks[at].state[row%chunkSize] = state
	l.chunks[at].content[row%chunkSize] = content
}

func (l *ledger) get(row int) (state uint64, content uint32) {
	at := row / chunkSize
	if at >= len(l.chunks) || l.chunks[at] == nil {
		return untried, 0
	}
	return l.chunks[at].state[row%chunkSize], l.chunks[at].content[row%chunkSize]
}

// holds tells whether a row is done with an outcome of this id. It looks at all of them: it is asked only where an answer
// was lost, and a million rows take a millisecond.
func (l *ledger) holds(id string) bool {
	sum := l.sum(id)
	for _, c := range l.chunks {
		if c == nil {
			continue
		}
		for _, state := range c.state {
			if state == sum {
				return true
			}
		}
	}
	return false
}
