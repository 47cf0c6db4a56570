package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"iter"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/perks/api"
	"example.com/perks/api/rows"
	"example.com/perks/cmd/dev/programs"
	"example.com/perks/store"
)

// odd has records of each kind with texts that are easily corrupted.
var odd = map[string]string{
	"perks": `{"id":"odd","title":"=SUM(A1)","description":"two\r\nlines, \"quotes\" and a \\ \u0007",
		"category":"Café & Bar","merchant_name":" x ","image_url":"https://img.example/a,b.png",
		"discount_text":"-10%","terms":"<b>\u2028</b>","valid_from":"2026-01-01T00:00:00.000001Z",
		"valid_to":"2026-12-31T23:59:59.999999Z","city":"Zürich","created_at":"2025-01-01T00:00:00.5Z",
		"updated_at":"2025-01-02T00:00:00Z",		"lat":-0.000001,"lng":179.99999999,"stock":0,"approval":"manual"},
		{"id":"plain","title":"T","description":"D","city":"C",
		"created_at":"2025-01-01T00:00:00Z","updated_at":"2025-01-02T00:00:00Z"}`,
	"categories": `{"id":"odd","category_name":"\"Bar, \r\n Grill\""},{"id":"cafe-bar","category_name":"Café & Bar"}`,
	"users":      `{"id":"=1+1"},{"id":"O\"Neill,Jr"},{"id":"日本"}`,
	"properties": `{"propertyId":9007199254740993,"title":"+1","description":"a\r\nb",
		"address":"","city":"","postcode":"007",
		"images":["https://img.example/1,2.png","https://img.example/a?b=c&d"],"price_pw":"120.50",
		"bedrooms":2,"bathrooms":0,"lat":1.5,"lng":null,"deposit":0.1,
		"owner":"acme"},{"propertyId":1,"title":"T","price_pw":120.50,"owner":"acme"}`,
}

func TestExportsCanBeImported(t *testing.T) {
	for kind, objects := range odd {
		for _, format := range []string{"csv", "jsonl"} {
			t.Run(kind+" in "+format, func(t *testing.T) {
				from := withClient(t)
				from.must("import", kind, from.file("odd.json", "["+objects+"]"))
				exported := from.must("export", kind, "-o", format)

				to := withClient(t)
				to.must("import", kind, to.file("exported."+format, exported))
				equal(t, "the copy", from.must("export", kind, "-o", "jsonl"), to.must("export", kind, "-o", "jsonl"))
				equal(t, "the export of the copy", exported, to.must("export", kind, "-o", format))
			})
		}
	}
}

func TestPropertiesExportedByPerksctlCanBeImported(t *testing.T) {
	i := programs.Install(t)
	id, _ := i.Client("Owner")
	i.Must(strings.ReplaceAll("["+odd["properties"]+"]", "acme", id), "import", "properties", "--format", "json", "-")
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

func TestExportWritesTheRecordsUnchanged(t *testing.T) {
	o := withClient(t)
	for kind, objects := range odd {
		o.must("import", kind, o.file("odd.json", "["+objects+"]"))
	}
	for kind := range odd {
		golden(t, "export_"+kind+".csv", o.must("export", kind))
		golden(t, "export_"+kind+".jsonl", o.must("export", kind, "-o", "jsonl"))
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

func TestAnEmptyJSONListIsAnArray(t *testing.T) {
	var out strings.Builder
	if err := printJSONArray(&out, sequence[store.User](nil, nil)); err != nil || out.String() != "[]\n" {
		t.Errorf("an empty list is %q, %v", out.String(), err)
	}
	out.Reset()
	if err := printJSONArray(&out, sequence([]store.User{{ID: "a"}, {ID: "b"}}, nil)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("[\n  {\"id\":\"a\"},\n  {\"id\":\"b\"}\n]\n", out.String()); diff != "" {
		t.Errorf("the list differs (-want +got):\n%s", diff)
	}
}
