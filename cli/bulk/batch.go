package bulk

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/perks/api"
	"example.com/perks/api/rows"
	"example.com/perks/cli/command"
)

// batch names a run and all that resume it: a UUID of version 8 (RFC 9562) that holds when the first of them began and a
// mark of what they do and where. It stands in the idempotency key of every result, so that the results alone say whose
// they are.
type batch uuid.UUID

// newBatch names a new batch. The time is cut to milliseconds.
func newBatch(began time.Time, mark uint32) batch {
	b := batch(uuid.New())
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(began.UnixMilli()))
	copy(b[:6], ms[2:])
	b[6] = 0x80 | b[6]&0x0f
	binary.BigEndian.PutUint32(b[12:], mark)
	return b
}

// began is when the batch was begun, by this computer's clock.
func (b batch) began() time.Time {
	var ms [8]byte
	copy(ms[2:], b[:6])
	return time.UnixMilli(int64(binary.BigEndian.Uint64(ms[:]))) // #nosec G115 -- it has 48 bits
}

func (b batch) mark() uint32 { return binary.BigEndian.Uint32(b[12:]) }

// checkMark refuses results of other work, or of the same work elsewhere: their rows would pass for done.
func (b batch) checkMark(mark uint32, path string) error {
	if b.mark() == mark {
		return nil
	}
	return command.Usagef("%s holds the results of another command, or of another server or sandbox: this job has to have a file of its own. "+
		"Name one: --results FILE", path)
}

func (b batch) String() string { return uuid.UUID(b).String() }

func markOf(work, place string) uint32 {
	hash := fnv.New32a()
	hash.Write([]byte(work + "\x00" + place))
	return hash.Sum32()
}

// key is the idempotency key of a row: the batch, the row, and what the row says. A row that was corrected is another
// request, and a file that was changed beneath its results is noticed.
func (b batch) key(row int, content uint32) string {
	return fmt.Sprintf("%s-%d-%08x", b, row, content)
}

const uuidLength = 36

func parseKey(key string) (b batch, row int, content uint32, ok bool) {
	if len(key) <= uuidLength || key[uuidLength] != '-' {
		return b, 0, 0, false
	}
	id, err := uuid.Parse(key[:uuidLength])
	line, hash, _ := strings.Cut(key[uuidLength+1:], "-")
	row, rowErr := strconv.Atoi(line)
	sum, hashErr := strconv.ParseUint(hash, 16, 32)
	return batch(id), row, uint32(sum), err == nil && rowErr == nil && hashErr == nil && row > 0 && len(hash) == 8
}

// contentOf sums up what a row says, its columns' names included.
func contentOf(row rows.Row) uint32 {
	hash := fnv.New32a()
	hash.Write(row.Object)
	for i, cell := range row.Cells {
		hash.Write([]byte(row.Header[i]))
		hash.Write([]byte{0})
		hash.Write([]byte(cell))
		hash.Write([]byte{0})
	}
	return hash.Sum32()
}

const (
	defaultConcurrency = 8
	maxConcurrency     = 256
)

// Flags are the flags of a command that can work through a file.
type Flags struct {
	File        string // "" if the command is not to work through a file; "-" is standard input
	Format      string
	Results     string
	Failed      string
	Concurrency int
	Rate        float64
	MaxErrors   int
	AllowEmpty  bool
	DryRun      bool // check every row and send nothing

	cmd   *cobra.Command
	flags *pflag.FlagSet
}

// Bind declares the flags, and --dry-run.
func (f *Flags) Bind(cmd *cobra.Command) {
	f.cmd, f.flags = cmd, pflag.NewFlagSet("", pflag.ContinueOnError)
	f.flags.StringVar(&f.Format, "format", "", "what --file is: csv or jsonl (default by its name, or by how it begins)")
	f.flags.StringVar(&f.Results, "results", "", "write the result of each row to this `file`, - for standard output (default FILE.results.jsonl; for standard input, -)")
	f.flags.StringVar(&f.Failed, "failed", "", "write the rows that failed, each with the reason, to this `file`, as input for another run")
	f.flags.IntVar(&f.Concurrency, "concurrency", defaultConcurrency, "how many rows are under way at once, 1 to "+strconv.Itoa(maxConcurrency))
	f.flags.Float64Var(&f.Rate, "rate", 0, "begin at most this many rows per `second` (default as many as can be)")
	f.flags.BoolVar(&f.AllowEmpty, "allow-empty", false, "accept a file without rows")
	f.flags.IntVar(&f.MaxErrors, "max-errors", 0, "take no further rows when this `many` have failed (default go on)")
	f.flags.StringVar(&f.File, "file", "", "work through the rows of this `file`, - for standard input")
	cmd.Flags().AddFlagSet(f.flags)
	cmd.Flags().BoolVar(&f.DryRun, "dry-run", false, "show the request and what it would do, or with --file what each row would do; change nothing")
}

// Check refuses values that no run can have, the flags of a run where there is no file, and those about one record where there is.
func (f *Flags) Check(cmd *cobra.Command, aboutOne ...string) (err error) {
	if f.File == "" {
		f.flags.VisitAll(func(flag *pflag.Flag) {
			if flag.Changed {
				err = command.Usagef("--%s is for a run over many rows; name them with --file.", flag.Name)
			}
		})
		return err
	}
	changed := f.flags.Changed
	switch {
	case f.Concurrency < 1 || f.Concurrency > maxConcurrency:
		return command.Usagef("--concurrency must be between 1 and %d.", maxConcurrency)
	case changed("rate") && !(f.Rate > 0):
		return command.Usagef("--rate must be above 0.")
	case changed("max-errors") && f.MaxErrors < 1:
		return command.Usagef("--max-errors must be at least 1.")
	}
	return command.NotWithFile(cmd, f.File, aboutOne...)
}

// rejects is the file of the rows that failed, as input for another run, each with the reason, which that run passes over. It
// appears whole, when the run ends. A row that cannot be read as one is written so that it cannot be read there either, until
// somebody has mended it.
type rejects struct {
	path string

	mu     sync.Mutex
	file   *os.File
	out    *bufio.Writer
	cells  *rows.CellWriter
	format rows.Format
	begun  bool // the header is written
}

func openRejects(path string, format rows.Format) (*rejects, error) {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return nil, fmt.Errorf("open the file for the rows that fail: %w", err)
	}
	out := bufio.NewWriter(file)
	return &rejects{path: path, file: file, out: out, cells: rows.NewCellWriter(out, true), format: format}, nil
}

// add writes a row as it was read, or the text of one that could not be read.
func (r *rejects) add(j *job, reason string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	write := r.row
	if r.format == rows.JSONL {
		write = r.object
	}
	if err := write(j, reason); err != nil {
		return fmt.Errorf("write the rows that failed: %w", err)
	}
	return nil
}

// object writes the object, or one with the line that is none, with the reason as its last member.
func (r *rejects) object(j *job, reason string) error {
	r.begun = true
	r.out.WriteByte('{')
	member := func(name string, value json.RawMessage) {
		r.out.Write(quoted(name))
		r.out.WriteByte(':')
		r.out.Write(value)
	}
	dec := json.NewDecoder(bytes.NewReader(j.raw.Object))
	_, _ = dec.Token() // the brace
	for dec.More() {
		name, err := dec.Token()
		var value json.RawMessage
		if err != nil || dec.Decode(&value) != nil {
			break // not reached: it was read once already
		}
		if name != ReasonColumn {
			member(name.(string), value)
			r.out.WriteByte(',')
		}
	}
	if j.broken != nil {
		member(Unreadable, quoted(textOr(j.broken)))
		r.out.WriteByte(',')
	}
	member(ReasonColumn, quoted(reason))
	_, err := r.out.WriteString("}\n") // an earlier failure stays
	return err
}

func quoted(text string) json.RawMessage {
	quoted, _ := api.EncodeJSON(text) // a string always marshals
	return quoted
}

func textOr(broken *rows.RowError) string {
	if broken.Text == nil {
		return fmt.Sprintf("(line %d, which is too long to be kept)", broken.Line)
	}
	return string(broken.Text)
}

// row writes the cells, and the reason behind them. Of a row that could not be read it writes the text as it stands, with the
// reason as one more cell in quotes: cells that were too few or too many stay so, and a quote that was wrong before is wrong
// still, or ends at the reason's own, behind which text may not follow.
func (r *rejects) row(j *job, reason string) error {
	header := j.raw.Header
	if j.broken != nil {
		header = j.broken.Header
	}
	if !r.begun {
		r.begun = true
		names := slices.DeleteFunc(slices.Clone(header), func(name string) bool { return name == ReasonColumn })
		if err := r.cells.Write(append(names, ReasonColumn)); err != nil {
			return err
		}
	}
	if j.broken == nil {
		cells := slices.Clone(j.raw.Cells)
		if at := slices.Index(header, ReasonColumn); at >= 0 {
			cells = slices.Delete(cells, at, at+1)
		}
		return r.cells.Write(append(cells, reason))
	}
	if err := r.cells.Flush(); err != nil {
		return err
	}
	text := textOr(j.broken)
	last := len(header) - 1
	if at := strings.LastIndex(text, `,"`); at >= 0 && last >= 0 && header[last] == ReasonColumn {
		text = text[:at] // the reason of the run before
	}
	_, err := fmt.Fprintf(r.out, "%s,\"%s\"\n", text, strings.ReplaceAll(reason, `"`, `""`))
	return err
}

// finish puts the file in its place. A run that was cut off before a row failed leaves the file of the run before it.
func (r *rejects) finish(partial bool) error {
	if partial && !r.begun {
		return errors.Join(r.file.Close(), os.Remove(r.file.Name()))
	}
	err := errors.Join(r.cells.Flush(), r.out.Flush(), r.file.Sync(), r.file.Close())
	if err == nil {
		err = os.Rename(r.file.Name(), r.path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write the rows that failed: %w", err), os.Remove(r.file.Name()))
	}
	return syncFolder(r.path)
}
