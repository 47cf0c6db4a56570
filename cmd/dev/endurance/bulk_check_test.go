package endurance

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
)

// check holds the rows against what the server has and what the results say, when everything is done: one redemption for
// each row and none beside, one result for each row that names that redemption, and nothing left to do.
func (j *job) check() {
	j.Helper()
	j.proxy.awaitIdle()
	kept := j.redemptions()
	j.checkKept(kept)
	j.checkResults(kept)
	if _, err := os.Stat(j.journal()); !os.IsNotExist(err) {
		j.Errorf("the journal is still there: %v", err)
	}
	j.checkNothingIsLeft()
}

// checkKept counts for each content how many rows ask for it and how many redemptions there are.
func (j *job) checkKept(kept map[string]wanted) {
	j.Helper()
	balance := map[wanted]int{}
	for _, w := range j.wanted {
		balance[w]--
	}
	for _, w := range kept {
		balance[w]++
	}
	lost, doubled, example := 0, 0, wanted{}
	for w, n := range balance {
		lost += max(0, -n)
		doubled += max(0, n)
		if n != 0 {
			example = w
		}
	}
	if lost+doubled > 0 {
		j.Errorf("of %d rows %d were not done and %d redemptions are too many, such as %+v", len(j.wanted), lost, doubled, example)
	}
}

func (j *job) checkResults(kept map[string]wanted) {
	j.Helper()
	file, err := os.Open(j.results())
	if err != nil {
		j.Fatal(err)
	}
	defer file.Close()
	missing := map[int]wanted{}
	for n, line := range j.lines {
		missing[line] = j.wanted[n]
	}
	claimed := map[string]int{}
	for scanner := bufio.NewScanner(file); scanner.Scan(); {
		var r struct {
			Row         int
			Outcome, ID string
		}
		if err := json.Unmarshal(scanner.Bytes(), &r); err != nil {
			j.Fatalf("%v: %s", err, scanner.Text())
		}
		want, isMissing := missing[r.Row]
		delete(missing, r.Row)
		switch got, isKept := kept[r.ID]; {
		case !isMissing:
			j.Errorf("there is no such row, or it has another result: %s", scanner.Text())
		case r.Outcome != "ok":
			j.Errorf("a row is not done: %s", scanner.Text())
		case !isKept:
			j.Errorf("a row is done by a redemption that is not kept: %s", scanner.Text())
		case got != want:
			j.Errorf("row %d asks for %+v and is done by %+v", r.Row, want, got)
		case claimed[r.ID] != 0:
			j.Errorf("redemption %s counts for the rows %d and %d", r.ID, claimed[r.ID], r.Row)
		}
		claimed[r.ID] = r.Row
	}
	if len(missing) > 0 {
		j.Errorf("%d rows are without a result", len(missing))
	}
}

// checkNothingIsLeft runs once more.
func (j *job) checkNothingIsLeft() {
	j.Helper()
	_, before, _ := j.proxy.counts()
	j.start().must(0)
	if _, after, _ := j.proxy.counts(); after != before {
		j.Errorf("a run over rows that are all done made %d requests", after-before)
	}
}

// checkSoFar is check while not everything is done: nothing is there twice or without a row.
func (j *job) checkSoFar() {
	j.Helper()
	left := map[wanted]int{}
	for _, w := range j.wanted {
		left[w]++
	}
	for id, w := range j.redemptions() {
		if left[w]--; left[w] < 0 {
			j.Errorf("redemption %s of %+v is one too many", id, w)
		}
	}
}

// canonical makes texts of JSON comparable.
func canonical(text json.RawMessage) string {
	if len(text) == 0 {
		return "{}"
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return err.Error()
	}
	again, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(again))
}
