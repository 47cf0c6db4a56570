package rows_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/perks/api/display"
	"example.com/perks/api/rows"
)

type record struct {
	ID    string   `json:"id"`
	Count *int     `json:"count"`
	Tags  []string `json:"tags"`
}

func TestWriter(t *testing.T) {
	three := 3
	records := []record{
		{ID: "=a&b", Count: &three, Tags: []string{"x,y", "<z>"}},
		{ID: "line\r\nbreak", Tags: []string{}},
	}
	tests := []struct {
		format rows.Format
		want   string
	}{
		{rows.CSV, "id,count,tags\n=a&b,3,\"[\"\"x,y\"\",\"\"<z>\"\"]\"\n\"line\r\nbreak\",,[]\n"},
		{rows.JSONL, `{"id":"=a&b","count":3,"tags":["x,y","<z>"]}` + "\n" +
			`{"id":"line\r\nbreak","count":null,"tags":[]}` + "\n"},
	}
	for _, test := range tests {
		t.Run(string(test.format), func(t *testing.T) {
			var out bytes.Buffer
			w, err := rows.NewWriter(&out, test.format, []string{"id", "count", "tags"}, display.JSON)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range records {
				if err := w.Write(r); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, out.String()); diff != "" {
				t.Errorf("the file differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWriterWithoutRowsWritesHeader(t *testing.T) {
	var out bytes.Buffer
	w, err := rows.NewWriter(&out, rows.CSV, []string{"id", "count"}, display.JSON)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil || out.String() != "id,count\n" {
		t.Errorf("wrote %q, %v", out.String(), err)
	}
}

func TestWriterRefusesUnknownFields(t *testing.T) {
	w, err := rows.NewWriter(&bytes.Buffer{}, rows.CSV, []string{"id", "count"}, display.JSON)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(record{}); err == nil || !strings.Contains(err.Error(), `"tags"`) {
		t.Errorf("Write = %v, want an error about tags", err)
	}
	if err := w.Write("text"); err == nil {
		t.Error("wrote a string as a record")
	}
}

func TestWriterRefusesOtherFormats(t *testing.T) {
	if _, err := rows.NewWriter(&bytes.Buffer{}, rows.JSON, nil, display.JSON); err == nil {
		t.Error("NewWriter accepts JSON now: document it")
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

func TestWriterReportsAFullDisk(t *testing.T) {
	for _, format := range []rows.Format{rows.CSV, rows.JSONL} {
		w, err := rows.NewWriter(fullDisk{}, format, []string{"id", "count", "tags"}, display.JSON)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(record{}); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err == nil {
			t.Errorf("%s: Flush returns no error on a full disk", format)
		}
	}
}
