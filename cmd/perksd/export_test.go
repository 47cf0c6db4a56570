package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"iter"
	"os"
	"os/exec"
	"strings"
	"testing"

	"example.com/perks/api"
	"example.com/perks/api/rows"
	"example.com/perks/cmd/dev/programs"
	"example.com/perks/store"
)

func TestPropertiesExportedByPerksctlCanBeImported(t *testing.T) {
	i := programs.Install(t)
	id, _ := i.Client("Owner")
	odd, err := os.ReadFile("testdata/odd/properties.json")
	if err != nil {
		t.Fatal(err)
	}
	i.Must(strings.ReplaceAll(string(odd), "acme", id), "import", "properties", "--format", "json", "-")
	kept := i.Must("", "export", "properties", "-o", "jsonl")
	server := i.Start()
	token := i.Token(server.URL)
	for _, format := range []string{"csv", "json", "jsonl"} {
		cmd := exec.CommandContext(t.Context(), "perksctl", "property", "get", "1", "9007199254740993", "-o", format)
		cmd.Env = []string{"PERKSCTL_API_URL=" + server.URL + "/v2", "PERKSCTL_TOKEN=" +
			token, "PERKSCTL_CONFIG_DIR=" + t.TempDir()}
		exported, err := cmd.Output()
		if err != nil || !strings.Contains(string(exported), "etag") {
			t.Fatalf("%s: %v\n%s", format, err, exported)
		}
		i.Must("propertyId,city,images\n1,York,https://img.example/9\n9007199254740993,York,\n", "import", "properties",
			"--format", "csv", "-")
		equal(t, "import from "+format, "Imported 2 properties: 2 changed.\n",
			i.Must(string(exported), "import", "properties", "--format", format, "-"))
		equal(t, "the properties from "+format, kept, i.Must("", "export", "properties", "-o", "jsonl"))
	}
	// which only perksctl's exports of properties have
	i.Refuses("etag", "import", "users", newOperator(t).file("users.csv", "id,etag\nalice,x\n"))
}

// TestTextsThatLookEscapedAreKept also imports what perksctl writes for spreadsheets.
func TestTextsThatLookEscapedAreKept(t *testing.T) {
	o := withClient(t)
	for _, name := range []string{"=1+1", "'=1+1", "''=1", "x;=1", "'x;'=1", "-3.5", "'-3.5", "\t=1"} {
		text, err := json.Marshal(api.Category{ID: "odd", Name: name})
		if err != nil {
			t.Fatal(err)
		}
		o.must("import", "categories", o.file("odd.jsonl", string(text)))
		before := o.must("export", "categories", "-o", "jsonl")
		var safe bytes.Buffer
		w := rows.NewCellWriter(&safe, false)
		if err := errors.Join(w.Write([]string{"id", "category_name"}), w.Write([]string{"odd", name}),
			w.Flush()); err != nil {
			t.Fatal(err)
		}
		for _, exported := range []string{o.must("export", "categories"), safe.String()} {
			o.must("import", "categories", o.file("other.jsonl", `{"id":"odd","category_name":"other"}`))
			o.must("import", "categories", o.file("exported.csv", exported))
			equal(t, "from "+exported, before, o.must("export", "categories", "-o", "jsonl"))
		}
	}
}

func TestAnInterruptedExportFails(t *testing.T) {
	broken := errors.New("the disk is gone")
	var records iter.Seq2[store.User, error] = func(yield func(store.User, error) bool) {
		_ = yield(store.User{ID: "alice"}, nil) && yield(store.User{}, broken)
	}
	var out strings.Builder
	if err := writeRows(&out, rows.CSV, store.UserFields(), records); !errors.Is(err, broken) {
		t.Errorf("rows: %v", err)
	}
	list := table[store.User]{columns: []string{"ID"}, cells: func(u store.User) []string { return []string{u.ID} }}
	for _, format := range []string{"table", "json", "jsonl"} {
		if err := list.print(&out, format, records); !errors.Is(err, broken) {
			t.Errorf("%s: %v", format, err)
		}
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

func TestWriteErrorsOfTheOutputFail(t *testing.T) {
	list := table[store.User]{columns: []string{"ID"}, cells: func(u store.User) []string { return []string{u.ID} }}
	for _, format := range []string{"table", "json", "jsonl"} {
		if err := list.print(fullDisk{}, format, sequence([]store.User{{ID: "alice"}}, nil)); err == nil {
			t.Errorf("%s: the error was ignored", format)
		}
	}
}
