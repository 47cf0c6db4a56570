package record

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/api/operation"
	"example.com/perks/api/rows"
	"example.com/perks/cli/bulk"
	"example.com/perks/cli/command"
)

// A plan is a CSV file of records to change or to delete, as they were when it was made: a row has the id and the
// ETag of one, fields that show which it is, and each field that is changed before and after. The header of the last
// column ends in a hash of the file, in which the hash itself counts as zeros. The cells there name the command and the
// server that it is for.
const (
	beforePrefix = "before_"
	hashPrefix   = "plan_sha256_"
	hashLength   = 2 * sha256.Size
	planSuffix   = ".plan.csv"
)

var zeros = strings.Repeat("0", hashLength)

// planColumns are the columns of a plan. An empty cell is the empty text, as others are what the field will be.
func (k *Kind[I, R, P]) planColumns() *bulk.KnownColumns {
	known := &bulk.KnownColumns{Columns: k.targetColumns(), Prefix: hashPrefix}
	for _, field := range k.names() {
		known.Columns = append(known.Columns, bulk.Column{Name: field, Empty: true})
		known.Ignored = append(known.Ignored, beforePrefix+field)
	}
	return known
}

// isPlanned tells whether a row is from a plan, or from the failed rows of one.
func isPlanned(row rows.Row) bool {
	return slices.ContainsFunc(row.Header, func(name string) bool { return strings.HasPrefix(name, hashPrefix) })
}

// planWriter writes a plan to a temporary file in the directory of its path.
type planWriter[I ~string, R any, P operation.Patch[R, P]] struct {
	kind    *Kind[I, R, P]
	purpose string
	shows   []string // fields that stay as they are
	changes []string // fields

	rows     int64
	hasETags bool

	file   *os.File
	hash   hash.Hash
	cells  *rows.CellWriter
	hashAt int64
}

func (w *planWriter[I, R, P]) open(dir string) (err error) {
	if w.file, err = os.CreateTemp(dir, "."+w.kind.Name+"-*"+planSuffix); err != nil { // made with mode 0600
		return command.BadFile("The plan cannot be written", err)
	}
	w.hash = sha256.New()
	w.cells = rows.NewCellWriter(io.MultiWriter(w.file, w.hash), false)
	return nil
}

// writeHeader writes the first line. Without ETags, nothing guards the rows.
func (w *planWriter[I, R, P]) writeHeader(hasETags bool) (err error) {
	names := []string{w.kind.IDColumn.Name}
	if hasETags {
		names = append(names, etagColumn)
	}
	for _, field := range w.shows {
		names = append(names, beforePrefix+field)
	}
	for _, field := range w.changes {
		names = append(names, beforePrefix+field, field)
	}
	if err = w.cells.Write(append(names, hashPrefix+zeros)); err == nil {
		err = w.cells.Flush()
	}
	if err == nil {
		w.hashAt, err = w.file.Seek(0, io.SeekCurrent)
	}
	w.hashAt -= int64(len(zeros) + len("\n"))
	return err
}

// add writes the row of a record, as it is and as it will be.
func (w *planWriter[I, R, P]) add(id I, now client.Version[R], after R) error {
	hasETag := now.ETag != ""
	switch w.rows++; {
	case w.rows == 1:
		if err := w.writeHeader(hasETag); err != nil {
			return err
		}
		w.hasETags = hasETag
	case w.hasETags != hasETag:
		return fmt.Errorf("this server gives ETags of some %s, but not of %s; nothing was sent", w.kind.Plural, id)
	}
	cells := []string{string(id)}
	if hasETag {
		cells = append(cells, now.ETag)
	}
	for _, field := range w.shows {
		cells = append(cells, w.kind.planCell(now.Record, field))
	}
	for _, field := range w.changes {
		cells = append(cells, w.kind.planCell(now.Record, field), w.kind.planCell(after, field))
	}
	return w.cells.Write(append(cells, w.purpose))
}

func (k *Kind[I, R, P]) planCell(of R, name string) string {
	texts := k.Texts(of, name)
	if field, _ := k.Field(name); field.Kind == api.ListField {
		array, _ := api.EncodeJSON(texts) // texts always encode
		return string(array)
	}
	return strings.Join(texts, "")
}

// finish completes the temporary file, and returns its path.
func (w *planWriter[I, R, P]) finish() (path string, err error) {
	if err = w.cells.Flush(); err == nil {
		_, err = w.file.WriteAt(fmt.Appendf(nil, "%x", w.hash.Sum(nil)), w.hashAt)
	}
	if err == nil {
		err = w.file.Sync()
	}
	if err = errors.Join(err, w.file.Close()); err != nil {
		return "", fmt.Errorf("the plan cannot be written: %w", err)
	}
	return w.file.Name(), nil
}

// discard removes the temporary file, unless it has been placed.
func (w *planWriter[I, R, P]) discard() {
	if w.file != nil {
		_ = w.file.Close()
		_ = os.Remove(w.file.Name())
	}
}

func planExists(path string) error {
	return command.Usagef("%s exists already. Name another file, or remove it.", filepath.ToSlash(path))
}

// plan is what a plan says, in short.
type plan struct {
	path     string
	purpose  string
	rows     int64
	examples []string // of the first rows
	totals   []total
}

// total is what a field adds up to in all rows.
type total struct {
	field         string
	before, after api.Decimal
}

const maxExamples = 5

// readPlan reads a plan. It refuses other files, and a plan that was edited.
func (k *Kind[I, R, P]) readPlan(path string) (p plan, err error) {
	p.path = path
	file, err := os.Open(path)
	if err != nil {
		return p, command.FlagFile("plan", err)
	}
	defer file.Close()
	in, sum := bufio.NewReaderSize(file, 64<<10), sha256.New()
	header, err := in.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return p, command.FlagFile("plan", err)
	}
	names, found, _ := strings.Cut(strings.TrimRight(header, "\r\n\""), hashPrefix)
	if !strings.Contains(header, hashPrefix) {
		return p, command.Usagef("%s is not a plan: the last column of its first line is not %s and a hash. "+
			"To make one: --query TEXT --save-plan FILE", path, hashPrefix)
	}
	_, _ = io.WriteString(sum, names+hashPrefix+zeros+"\n")
	if _, err := io.Copy(sum, in); err != nil {
		return p, command.FlagFile("plan", err)
	}
	if fmt.Sprintf("%x", sum.Sum(nil)) != found || header != names+hashPrefix+found+"\n" {
		return p, command.Usagef("%s was edited or saved by a spreadsheet since it was made: its hash is not that of "+
			"its rows. Nothing was sent. Make it again, and edit only copies of it.", path)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return p, command.FlagFile("plan", err)
	}
	for row, err := range rows.NewReader(file, rows.CSV).Rows() {
		if err != nil {
			return p, command.FlagFile("plan", err)
		}
		p.note(row, k.IDColumn.Name, k.Fields(), k.Amounts.IsAmount)
	}
	return p, nil
}

// note adds a row to the examples and the totals.
func (p *plan) note(row rows.Row, idName string, fields []api.Field, isAmount func(string) bool) {
	cell := func(name string) (string, bool) {
		if at := slices.Index(row.Header, name); at >= 0 {
			return row.Cells[at], true
		}
		return "", false
	}
	p.rows++
	p.purpose = row.Cells[len(row.Cells)-1]
	id, _ := cell(idName)
	var shown []string
	for _, f := range fields {
		field := f.Name
		before, isShown := cell(beforePrefix + field)
		after, isChanged := cell(field)
		switch {
		case !isShown:
		case !isChanged:
			shown = append(shown, briefly(before))
		case before != after:
			shown = append(shown, fmt.Sprintf("%s from %s to %s", field, briefly(before), briefly(after)))
		}
		if isChanged && isAmount(field) {
			p.add(field, before, after)
		}
	}
	if len(p.examples) < maxExamples {
		p.examples = append(p.examples, fmt.Sprintf("  %s: %s", id, strings.Join(shown, ", ")))
	}
}

func (p *plan) add(field, before, after string) {
	at := slices.IndexFunc(p.totals, func(t total) bool { return t.field == field })
	if at < 0 {
		at, p.totals = len(p.totals), append(p.totals, total{field: field})
	}
	old, _ := api.ParseDecimal(before) // 0 for an odd value
	changed, _ := api.ParseDecimal(after)
	p.totals[at].before, p.totals[at].after = p.totals[at].before.Plus(old), p.totals[at].after.Plus(changed)
}

func briefly(cell string) string {
	if cell = display.Cut(display.Line(cell), widestInMessage); cell == "" {
		return "(empty)"
	}
	return cell
}

// firstRows shows the first rows as examples.
func (p *plan) firstRows() []string {
	lines := slices.Clone(p.examples)
	if more := p.rows - int64(len(lines)); more > 0 {
		lines = append(lines, "  and "+display.Count(more)+" more")
	}
	return lines
}

// sums says how each amount changes in total.
func (p *plan) sums() (lines []string) {
	for _, t := range p.totals {
		difference, sign := t.after.Minus(t.before).Like(t.before), "+"
		if difference.Sign() < 0 {
			sign = "" // it has one
		}
		lines = append(lines, fmt.Sprintf("%s in total: from %s to %s (%s%s)",
			t.field, t.before, t.after.Like(t.before), sign, difference))
	}
	return lines
}
