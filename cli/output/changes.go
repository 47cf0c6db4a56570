package output

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"example.com/perks/api/rows"
)

// Changes remembers the records that were written, and marks those that are new or changed when they are written again.
type Changes struct {
	at      time.Time
	begun   bool            // there are records to compare with
	before  map[string]seen // by id
	now     map[string]seen
	lastAt  time.Time // of the last change
	summary string    // of the last change
	tally
}

type tally struct{ added, changed, gone int }

// seen is a record and its last change.
type seen struct {
	raw  string
	at   time.Time // when it appeared or changed; zero if it was there at first
	was  string    // the record before that; "" if it is new
	last string    // its mark then
}

// The marks of a record.
const (
	markNew     = "+"
	markChanged = "*"
)

// markedFor is how long a mark stays, so that people see it.
const markedFor = 10 * time.Second

// Begin starts another round.
func (c *Changes) Begin(at time.Time) { c.at, c.now, c.tally = at, map[string]seen{}, tally{} }

// End says that the round is complete. After one that is not, the next compares with the same records again.
func (c *Changes) End() {
	for id := range c.before {
		if _, still := c.now[id]; !still {
			c.gone++
		}
	}
	if c.begun && c.tally != (tally{}) {
		var parts []string
		for _, part := range []struct {
			count int
			what  string
		}{{c.added, "new (" + markNew + ")"}, {c.changed, "changed (" + markChanged + ")"}, {c.gone, "gone"}} {
			if part.count > 0 {
				parts = append(parts, fmt.Sprint(part.count, " ", part.what))
			}
		}
		c.lastAt, c.summary = c.at, strings.Join(parts, ", ")
	}
	c.before, c.begun = c.now, true
}

// Summary says behind a time what the last change was, "" if there was none.
func (c *Changes) Summary() string {
	if c.summary == "" {
		return ""
	}
	when := ""
	if !c.lastAt.Equal(c.at) {
		when = " at " + c.lastAt.Local().Format(time.TimeOnly)
	}
	return ", last change" + when + ": " + c.summary
}

// see returns the record with its mark.
func (c *Changes) see(id json.RawMessage, r record) record {
	key := keyOf(id, r)
	before, known := c.before[key]
	this := seen{raw: string(r.raw)}
	switch {
	case !known && c.begun:
		this.at, this.last = c.at, markNew
		c.added++
	case known && before.raw != this.raw:
		this.at, this.last, this.was = c.at, markChanged, before.raw
		c.changed++
	case known && c.at.Sub(before.at) < markedFor:
		this = before
	}
	c.now[key] = this
	if r.mark = this.last; this.was != "" {
		r.was = &record{raw: json.RawMessage(this.was)}
	}
	r.same = known && before.raw == this.raw
	return r
}

// keyOf tells records apart. One without an id is another record when it changes.
func keyOf(id json.RawMessage, r record) string {
	if string(id) == "null" {
		return string(r.raw)
	}
	return string(id)
}

// sent remembers a record that was written, even if the round does not become complete.
func (c *Changes) sent(id json.RawMessage, r record) {
	if c.before == nil {
		c.before = map[string]seen{}
	}
	c.before[keyOf(id, r)] = seen{raw: string(r.raw)}
}

// markOf returns the mark of one field.
func (r record) markOf(f rows.Field) string {
	if r.was == nil || string(r.was.fields().Get(f.Name)) == string(f.Value) {
		return ""
	}
	return r.mark
}

// markSpace is a mark as wide as any.
func markSpace(mark string) string { return fmt.Sprintf("%-2s", mark) }
