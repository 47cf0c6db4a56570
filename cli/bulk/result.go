package bulk

import (
	"encoding/json"
	"errors"
	"fmt"

	"example.com/perks/cli/command"
)

// Result is a line of the results: what became of one row.
type Result struct {
	Row     int    `json:"row"` // the line of the input on which the row begins
	Key     string `json:"key"` // the idempotency key of the row's request
	Outcome string `json:"outcome"`
	Status  int    `json:"status"`  // of the HTTP response; 0 if there was none
	Code    string `json:"code"`    // of the error; "" if the row is done
	Message string `json:"message"` // for people; "" if the row is done
	ID      string `json:"id"`      // of the redemption or the property; "" if the row is not done
}

// The outcomes of a row.
const (
	OK      = "ok"
	Failed  = "failed"  // nothing was done
	Unknown = "unknown" // it may have been done; another run finds out
)

// The codes of rows that the service did not decide about.
const (
	invalidRow = "invalid_row" // it cannot be read
	heldBack   = "held_back"   // the outcome of a row before it, about the same, is unknown
	ambiguous  = "ambiguous"   // its reply was lost, and what was found may be somebody else's
)

// failure describes an error as the result of a row.
func failure(outcome string, err error) Result {
	report := command.NewReport(err)
	return Result{Outcome: outcome, Status: report.Status, Code: report.Code, Message: report.Sentence()}
}

// line is the result as the file has it.
func (r Result) line() ([]byte, error) {
	text, err := json.Marshal(r)
	return append(text, '\n'), err
}

var errNoResult = errors.New("is not a result of perksctl")

// parseResult reads a line of the results, and the batch and the row's content that its key names.
func parseResult(line []byte) (r Result, b batch, content uint32, err error) {
	if err := json.Unmarshal(line, &r); err != nil {
		return r, b, 0, errNoResult
	}
	b, row, content, ok := parseKey(r.Key)
	if !ok || row != r.Row {
		return r, b, 0, errNoResult
	}
	switch r.Outcome {
	case OK, Failed, Unknown:
		return r, b, content, nil
	}
	return r, b, 0, fmt.Errorf("%w: %q is not an outcome", errNoResult, r.Outcome)
}

// state is what the ledger keeps of the result.
func (l *ledger) state(r Result) uint64 {
	switch r.Outcome {
	case OK:
		return l.sum(r.ID)
	case Failed:
		return failed
	}
	return unknown
}
