package rows_test

import (
	"io"
	"testing"

	"example.com/perks/api/rows"
)

// TestRowIsReadAtTheEndOfItsLine writes a row only after the previous one was read.
func TestRowIsReadAtTheEndOfItsLine(t *testing.T) {
	in, out := io.Pipe()
	lines := make(chan string, 1)
	go func() {
		for line := range lines {
			_, _ = io.WriteString(out, line)
		}
		out.Close()
	}()
	lines <- "name\na\n"
	got := ""
	for row, err := range rows.NewReader(in, rows.CSV).Rows() {
		if err != nil {
			t.Fatal(err)
		}
		if got += row.Cells[0]; row.Cells[0] == "a" {
			lines <- "b\n"
			close(lines)
		}
	}
	if got != "ab" {
		t.Errorf("read %q", got)
	}
}
