package rows_test

import (
	"io"
	"runtime"
	"strings"
	"testing"

	"example.com/perks/api/rows"
)

// repeated reads a text again and again.
type repeated struct {
	text string
	left int // bytes
	at   int // in the text
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), r.left)], r.text[r.at:])
	r.at = (r.at + n) % len(r.text)
	r.left -= n
	return n, nil
}

// allocated returns how many bytes f allocates, freed or not.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestFileMayBeLongerThanARecord(t *testing.T) {
	const n = 3 << 20
	for format, parts := range map[rows.Format][3]string{
		rows.CSV:   {"a,b\n", "1,\"2\"\n", ""},
		rows.JSON:  {"[", `{"a":1},`, "{}]"},
		rows.JSONL: {"", `{"a":1}` + "\n", ""},
	} {
		file := io.MultiReader(strings.NewReader(parts[0]), &repeated{text: parts[1], left: n * len(parts[1])},
			strings.NewReader(parts[2]))
		read := 0
		for _, err := range rows.NewReader(file, format).Rows() {
			if err != nil {
				t.Fatalf("%s: %v", format, err)
			}
			read++
		}
		if read < n {
			t.Errorf("%s: read %d rows, want %d", format, read, n)
		}
	}
}

func TestEndlessRecordUsesLittleMemory(t *testing.T) {
	for format, start := range map[rows.Format]string{rows.CSV: "a\n\"", rows.JSON: `[{"a":"`, rows.JSONL: ""} {
		file := io.MultiReader(strings.NewReader(start), &repeated{text: strings.Repeat("x", 4096),
			left: 32 * rows.MaxRecord})
		used := allocated(func() {
			for _, err := range rows.NewReader(file, format).Rows() {
				if err == nil || !strings.Contains(err.Error(), "longer than 16 MiB") {
					t.Errorf("%s: %v", format, err)
				}
			}
		})
		if used > 16*rows.MaxRecord {
			t.Errorf("%s: allocated %d MiB for a record of %d MiB", format, used>>20, 32*rows.MaxRecord>>20)
		}
	}
}
