package bulk

import (
	"sync"

	"example.com/perks/cli/command"
)

// tally counts what becomes of the rows and shows it.
type tally struct {
	streams  *command.Streams
	progress *command.Progress
	total    int64 // rows of the input, 0 if that is not known

	mu     sync.Mutex
	counts command.Counts
	codes  map[string]int64 // of the rows that are not done
	shown  []Result         // the first of them
}

// maxShown is how many rows that are not done a summary shows.
const maxShown = 5

// skip counts a row that an earlier run has done.
func (t *tally) skip() {
	t.mu.Lock()
	t.counts.Done++
	t.counts.Skipped++
	counts := t.counts
	t.mu.Unlock()
	t.progress.Update(counts)
}

// count counts a row, and returns how many are not done so far.
func (t *tally) count(r Result) (failures int64) {
	t.mu.Lock()
	t.counts.Done++
	switch r.Outcome {
	case OK:
		t.counts.OK++
	case Failed:
		t.counts.Failed++
	default:
		t.counts.Unknown++
	}
	if r.Outcome != OK {
		if t.codes == nil {
			t.codes = map[string]int64{}
		}
		t.codes[r.Code]++
		if len(t.shown) < maxShown {
			t.shown = append(t.shown, r)
		}
	}
	counts := t.counts
	t.mu.Unlock()
	t.progress.Update(counts)
	return counts.Failed + counts.Unknown
}
