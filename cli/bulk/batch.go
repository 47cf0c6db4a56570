package bulk

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"example.com/perks/api/rows"
	"example.com/perks/cli/command"
)

// batch identifies a run and all runs that resume it: a UUID of version 8 (RFC 9562) that holds the start of the first
// run, and a mark of the command and the server. It is in the idempotency key of every result, so a later run
// recognizes the results as its own.
type batch uuid.UUID

// newBatch creates a batch. The time is truncated to milliseconds.
func newBatch(began time.Time, mark uint32) batch {
	b := batch(uuid.New())
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(began.UnixMilli()))
	copy(b[:6], ms[2:])
	b[6] = 0x80 | b[6]&0x0f
	binary.BigEndian.PutUint32(b[12:], mark)
	return b
}

// began is when the batch began, by this computer's clock.
func (b batch) began() time.Time {
	var ms [8]byte
	copy(ms[2:], b[:6])
	return time.UnixMilli(int64(binary.BigEndian.Uint64(ms[:]))) // #nosec G115 -- it has 48 bits
}

func (b batch) mark() uint32 { return binary.BigEndian.Uint32(b[12:]) }

// checkMark refuses the results of another command or another server: their rows would count as done.
func (b batch) checkMark(mark uint32, path string) error {
	if b.mark() == mark {
		return nil
	}
	return command.Usagef("%s holds the results of another command, server, sandbox or job. %s", path, otherName)
}

func (b batch) String() string { return uuid.UUID(b).String() }

func markOf(name, server string) uint32 {
	hash := fnv.New32a()
	hash.Write([]byte(name + "\x00" + server))
	return hash.Sum32()
}

// key is the idempotency key of a row: the batch, the line, and a hash of the content. A corrected row thus is another
// request, and a changed file is noticed.
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

// contentOf hashes the content of a row, including the names of its columns.
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
