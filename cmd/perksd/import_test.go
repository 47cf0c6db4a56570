package main

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// importable has a file of each kind for a database with the client acme.
var importable = map[string]string{
	"perks":      "id,title,description,city\ntea,Tea,Hot,Bath\ncake,Cake,Sweet,Bath\n",
	"categories": "id,category_name\nfood,Food\nfun,Fun\n",
	"users":      "id\nalice\nbob\n",
	"properties": "propertyId,title,price_pw,owner\n1,Flat,100,acme\n2,House,200.50,acme\n",
}

func withClient(t *testing.T) *operator {
	o := newOperator(t)
	o.must("client", "create", "--name", "Acme", "--id", "acme")
	return o
}

func TestImportReadsEveryKind(t *testing.T) {
	o := withClient(t)
	for kind, file := range importable {
		equal(t, "import "+kind, "Imported 2 "+kind+": 2 created.\n", o.must("import", kind, o.file(kind+".csv", file)))
		one := file[:strings.LastIndex(strings.TrimSpace(file), "\n")+1]
		singular := map[string]string{"perks": "perk", "categories": "category", "users": "user",
			"properties": "property"}[kind]
		equal(t, "import one of the "+kind, "Imported 1 "+singular+": 1 unchanged.\n",
			o.must("import", kind, o.file("one.csv", one)))
	}
}

func TestImportReadsEveryFormat(t *testing.T) {
	o := newOperator(t)
	o.must("import", "users", o.file("a.csv", "\ufeffid\r\nfrom-csv\r\n"))
	o.must("import", "users", o.file("a.json", `[{"id":"from-json"}]`))
	o.must("import", "users", o.file("a.jsonl", `{"id":"from-jsonl"}`))
	o.must("import", "users", "--format", "jsonl", o.file("a.txt", `{"id":"from-txt"}`))
	if got := o.runWith("id\nfrom-stdin\n", "import", "users", "--format", "csv", "-"); got.code != exitDone {
		t.Errorf("importing from stdin: %+v", got)
	}
	equal(t, "the users", "id\nfrom-csv\nfrom-json\nfrom-jsonl\nfrom-stdin\nfrom-txt\n", o.must("export", "users"))
}

func TestImportReadsWhatSpreadsheetsWrite(t *testing.T) {
	o := withClient(t)
	o.must("import", "properties",
		o.file("semicolons.csv", "\ufeff\"PropertyID\";Title; PRICE-PW ;owner\r\n1;\"Flat; 2 rooms\";100;acme\r\n"))
	o.must("import", "properties", o.file("tabs.tsv", "propertyid\ttitle\tprice pw\towner\n2\tHouse, big\t200\tacme\n"))
	equal(t, "the titles", `"title":"Flat; 2 rooms","title":"House, big"`,
		strings.Join(regexp.MustCompile(`"title":"([^"]+)"`).FindAllString(o.must("export", "properties", "-o",
			"jsonl"), -1), ","))
	o.refuses(exitUsage, o.path("b.csv")+`: the header has no column "id", which names the category; nothing was `+
		`imported`,
		"import", "categories", o.file("b.csv", "category_name\n"+strings.Repeat("Food\n", 20_000)))
	o.refuses(exitUsage, o.path("b.csv")+`: the header has no column "category_name", which every new category needs; `+
		"nothing was imported", "import", "categories", o.file("b.csv", "id\nfood\narts\n"))
	o.refuses(exitUsage, o.path("b.csv")+`: the header has no column "city", which every new perk needs; `+
		"nothing was imported", "import", "perks", o.file("b.csv", "title,description\nTea,Hot\nSpa,Warm\n"))
	o.refuses(exitUsage, o.path("a.csv")+`: the column "categori_name" is not known. Did you mean "category_name"? `+
		`The columns are id, category_name; nothing was imported`, "import", "categories",
		o.file("a.csv", "id;categori_name\nfood;Food\n"))
	o.refuses(exitUsage, o.path("b.csv")+`: the columns "id" and "ID" are the same; only one of them can be there; `+
		`nothing was imported`, "import", "users", o.file("b.csv", "id,ID\na,b\n"))
}

func TestImportNamesEveryBadRowAndImportsNone(t *testing.T) {
	tests := []struct {
		name, kind, file string
		whole            bool // the whole file is invalid
	}{
		{"perks.csv", "perks", "id,title,description,city,lat,lng,stock,valid_from\n" +
			"tea,Tea,Hot,Bath,51.38,-2.36,,\n" +
			"users,,Hot,Bath,95,,-1,tomorrow\n" +
			"\n" +
			"cake,\"two\nlines\",\"quotes \"\"inside\"\"\",,,,,\n" +
			"short,row\n" +
			"x,\"y\"z,D,C,,,,\n" +
			"ok,Fine,Fine,Bath,,,,\n", false},
		{"perks.json", "perks", "[\n  {\"title\": \"Tea\", \"description\": \"Hot\", \"city\": \"Bath\"},\n  {\n    " +
			"\"title\": 1,\n    \"title\": \"Tea\",\n    \"colour\\u001b[31m\": \"red\"\n  },\n  []\n]\n", false},
		{"broken.json", "perks", "[{\"title\": \"Tea\"},\n{\"title\": \"Cake\"\n", true},
		{"users.jsonl", "users", "{\"id\":\"alice\"}\n{\"id\":\"a b\"}\n{\"id\":\n[\"bob\"]\n{\"id\":\"bob\", " +
			"\"id\":null}\n{\"id\":\"\\ud800\"}\n", false},
		{"unknown-column.csv", "users", "id,colour\nalice,red\nbob,blue\n", true},
		{"properties.csv", "properties",
			"propertyId,title,price_pw,owner,images,lat\n1,Flat,1e3,acme,not a " +
				"url,\n0,Flat,100,nobody,,\nx,Flat,,,,200\n2,Flat,100,nobody,,\n", false},
		{"categories.csv", "categories", "id,category_name\n\"\",Food\ncategories,Food\n", false},
		{"empty.csv", "users", "", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := withClient(t)
			for kind, file := range importable {
				o.must("import", kind, o.file(kind+".csv", file))
			}
			before := o.everything()
			got := o.run("import", test.kind, o.file(test.name, test.file))
			if want := map[bool]int{false: exitFailure, true: exitUsage}[test.whole]; got.code != want ||
				got.stdout != "" {
				t.Errorf("exit code %d, stdout %q", got.code, got.stdout)
			}
			golden(t, "import_"+test.name+".txt", strings.ReplaceAll(got.stderr, o.directory+"/", ""))
			if diff := cmp.Diff(before, o.everything()); diff != "" {
				t.Errorf("the database has changed (-before +after):\n%s", diff)
			}
		})
	}
}

// everything exports all records.
func (o *operator) everything() string {
	o.t.Helper()
	var all strings.Builder
	for _, kind := range []string{"perks", "categories", "users", "properties", "redemptions"} {
		all.WriteString(o.must("export", kind, "-o", "jsonl"))
	}
	return all.String()
}

func TestImportRefusesUnreadableFiles(t *testing.T) {
	o := newOperator(t)
	const more = " (see 'perksd import users --help')"
	o.refuses(exitUsage, "reading from stdin needs --format csv, tsv, json or jsonl"+more, "import", "users", "-")
	o.refuses(exitUsage,
		`cannot tell the format of "users.txt" from its name: it must end in .csv, .tsv, .json or .jsonl`+more,
		"import", "users", "users.txt")
	o.refuses(exitUsage, `"xml" is not a format that can be read: it must be csv, tsv, json or jsonl`+more, "import",
		"users", "--format", "xml", "-")
	o.refuses(exitUsage, "FILE is missing"+more, "import", "users")
	o.refuses(exitUsage, o.path("none.csv")+" does not exist", "import", "users", o.path("none.csv"))
	o.hasNoDatabase()
}

// An invalid file is wrong usage, and found before any change. Invalid rows are a failure.
func TestTheExitCodeOfAnImport(t *testing.T) {
	o := newOperator(t)
	for name, test := range map[string]struct {
		file string
		args []string
		code int
	}{
		"a header named twice":    {file: "id,id\na,b\n", code: 2},
		"a column without a name": {file: "id,\na,b\n", code: 2},
		"UTF-16":                  {file: "\xff\xfei\x00d\x00", code: 2},
		"nothing":                 {file: "", code: 2},
		"blank lines":             {file: "\n\n", code: 2},
		"a header alone":          {file: "id\n", code: 2},
		"a row without a header":  {file: "alice", code: 2},
		"NUL bytes":               {file: strings.Repeat("\x00", 1000), code: 2},
		"an unknown column":       {file: "id,colour\na,red\n", code: 2},
		"an unterminated quote":   {file: "\"id\na\n", code: 2},
		"a row that is not valid": {file: "id\na b\n", code: 1},
		"a ragged row":            {file: "id\na,b\n", code: 1},
		"a row":                   {file: "id\na\n", code: 0},
		"a header, allowed":       {file: "id\n", args: []string{"--allow-empty"}, code: 0},
		"nothing, allowed":        {file: "", args: []string{"--allow-empty"}, code: 0},
	} {
		got := o.run(append([]string{"import", "users", o.file("users.csv", test.file)}, test.args...)...)
		if got.code != test.code {
			t.Errorf("%s: %+v, want code %d", name, got, test.code)
		}
	}
	for _, path := range []string{o.directory, o.path("none.csv")} {
		if got := o.run("import", "users", "--format", "csv", path); got.code != exitUsage {
			t.Errorf("%s: %+v", path, got)
		}
	}
}

func TestAnImportWithoutAColumnKeepsThatField(t *testing.T) {
	o := withClient(t)
	o.must("import", "perks", o.file("a.csv", "id,title,description,city,stock,approval,valid_to,terms\n"+
		"tea,Tea,Hot,Bath,2,manual,2027-01-01T00:00:00Z,One each\ncake,Cake,Sweet,Bath,3,,,\nbun,Bun,Soft,Bath,4,,,\n"))
	const header = "id,title,description,category,merchant_name,image_url,discount_text,terms,valid_from,valid_to," +
		"city,created_at,updated_at,lat,lng,stock,approval\n"
	o.now = o.now.AddDate(0, 0, 1)
	equal(t, "the first answer", "Imported 3 perks: 1 created, 1 changed, 1 unchanged.\n",
		o.must("import", "perks", o.file("b.csv",
			"id,title,description,city\ntea,Green tea,Hot,Bath\ncake,Cake,Sweet,Bath\npie,Pie,Hot,Bath\n")))
	equal(t, "the second", "{\n  \"count\": 3,\n  \"created\": 0,\n  \"changed\": 2,\n  \"unchanged\": 1\n}\n",
		o.must("import", "perks", "-o", "json",
			o.file("c.jsonl",
				`{"id":"cake","stock":null}`+"\n"+`{"id":"tea","terms":null,"valid_to":null}`+"\n"+`{"id":"bun"}`)))
	equal(t, "the third", "Imported 1 perk: 1 changed.\n",
		o.must("import", "perks", o.file("d.csv", "id,stock,terms\nbun,,\n")))
	equal(t, "the perks", header+
		"bun,Bun,Soft,,,,,,,,Bath,2026-06-15T12:00:00.000Z,2026-06-16T12:00:00.000Z,,,,auto\n"+
		"cake,Cake,Sweet,,,,,,,,Bath,2026-06-15T12:00:00.000Z,2026-06-16T12:00:00.000Z,,,,auto\n"+
		"pie,Pie,Hot,,,,,,,,Bath,2026-06-16T12:00:00.000Z,2026-06-16T12:00:00.000Z,,,,auto\n"+
		"tea,Green tea,Hot,,,,,,,,Bath,2026-06-15T12:00:00.000Z,2026-06-16T12:00:00.000Z,,,2,manual\n",
		o.must("export", "perks"))
	equal(t, "what became of the stock",
		`{"at":"2026-06-16T12:00:00Z","actor":"operator","action":"perk.update","subject":"perk/cake",`+
			`"before":{"stock":3,"approval":"auto"},"after":{"stock":null,"approval":"auto"}}`+"\n", o.must("audit",
			"--subject", "perk/cake", "-o", "jsonl"))

	o.must("import", "properties",
		o.file("e.csv",
			"propertyId,title,price_pw,owner,city,bedrooms,images\n1,Flat,100,acme,Bath,2,https://img.example/1.png\n"))
	equal(t, "the answer for a property", "Imported 1 property: 1 changed.\n",
		o.must("import", "properties", o.file("f.csv", "propertyId,price_pw,images\n1,120,\n")))
	exported := o.must("export", "properties", "-o", "jsonl")
	for _, want := range []string{`"title":"Flat"`, `"city":"Bath"`, `"images":[]`, `"price_pw":"120"`, `"bedrooms":2`,
		`"owner":"acme"`} {
		if !strings.Contains(exported, want) {
			t.Errorf("the property lacks %s: %s", want, exported)
		}
	}
}

func TestRowsThatConflictWithTheDatabaseAreNamedByLine(t *testing.T) {
	o := newOperator(t)
	o.must("import", "perks", o.file("perks.csv", importable["perks"]))
	before := o.everything()
	got := o.run("import", "perks", o.file("stock.csv", "id,stock\ntea,1\n\ncoffee,2\ncake,3\nmilk,4\n"))
	equal(t, "the message",
		"stock.csv:4: there is no perk \"coffee\" yet, and a new one needs title, description, city\nstock.csv:6: "+
			"there is no perk \"milk\" yet, and a new one needs title, description, city\nperksd: 2 of 4 rows are "+
			"not valid; nothing was imported\n", strings.ReplaceAll(got.stderr, o.directory+"/", ""))
	if got.code != exitFailure || got.stdout != "" {
		t.Errorf("exit code %d, stdout %q", got.code, got.stdout)
	}
	got = o.run("import", "properties", o.file("prices.csv", "propertyId,price_pw\n\n7,100\n"))
	equal(t, "the message about a property",
		"prices.csv:3: there is no property \"7\" yet, and a new one needs title, owner\nperksd: 1 of 1 row is not "+
			"valid; nothing was imported\n", strings.ReplaceAll(got.stderr, o.directory+"/", ""))
	var many strings.Builder
	many.WriteString("id,stock\n")
	for i := range 150 {
		fmt.Fprintf(&many, "unknown-%d,1\n", i)
	}
	got = o.run("import", "perks", o.file("many.csv", many.String()))
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(got.stderr, o.directory+"/", "")), "\n")
	if len(lines) != 102 || !strings.HasPrefix(lines[99], "many.csv:101: ") {
		t.Fatalf("the message has %d lines:\n%s", len(lines), got.stderr)
	}
	equal(t, "the end", "many.csv: and 50 more rows like these\nperksd: 150 of 150 rows are not valid; nothing was "+
		"imported", strings.Join(lines[100:], "\n"))
	equal(t, "the database", before, o.everything())
}

func TestTheOwnerComesFromTheRowOrTheFlag(t *testing.T) {
	o := withClient(t)
	o.must("client", "create", "--name", "Beta", "--id", "beta")
	file := o.file("a.csv", "propertyId,title,price_pw,owner\n1,Flat,100,\n2,House,200,beta\n")
	o.must("import", "properties", "--owner", "acme", file)
	// the owner stays beta
	o.must("import", "properties", "--owner", "acme", o.file("b.csv", "propertyId,city\n2,Bath\n"))
	o.must("import", "properties", "--owner", "acme", o.file("c.csv", "propertyId,title,price_pw\n3,Barn,300\n"))
	exported := o.must("export", "properties", "-o", "jsonl")
	for _, want := range []string{`"propertyId":1,"title":"Flat"`, `"owner":"acme"`, `"propertyId":2,"title":"House"`,
		`"city":"Bath"`, `"owner":"beta"`, `"propertyId":3,"title":"Barn"`} {
		if !strings.Contains(exported, want) {
			t.Errorf("the properties lack %s:\n%s", want, exported)
		}
	}
	o.refuses(exitFailure, `There is no client "gamma".`, "import", "properties", "--owner", "gamma", file)
}

func TestAnInterruptedImportChangesNothing(t *testing.T) {
	o := newOperator(t)
	o.must("migrate")
	ctx, interrupt := context.WithCancel(context.Background())
	// One byte at a time, so that the interrupt comes between two rows.
	input := iotest.OneByteReader(&interrupting{Reader: strings.NewReader("id\nalice\nbob\ncarol\n"), after: 12,
		interrupt: interrupt})
	var stdout, stderr bytes.Buffer
	p := o.program("", &stdout, &stderr)
	p.stdin = input
	if code := p.run(ctx, []string{"import", "users", "--format", "csv", "-"}); code != exitFailure {
		t.Errorf("exit code %d, stdout %q", code, stdout.String())
	}
	equal(t, "the message", "perksd: stdin: interrupted; nothing was imported\n", stderr.String())
	equal(t, "the users", "id\n", o.must("export", "users"))
}

// interrupting is an input that interrupts the command while it reads.
type interrupting struct {
	*strings.Reader
	after     int
	interrupt func()
}

func (r *interrupting) Read(p []byte) (int, error) {
	if r.after -= len(p); r.after <= 0 {
		r.interrupt()
	}
	return r.Reader.Read(p)
}
