package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// importable is a file of each kind that can be imported into a database with the client acme.
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

func TestImportTakesEveryKind(t *testing.T) {
	o := withClient(t)
	for kind, file := range importable {
		equal(t, "import "+kind, "Imported 2 "+kind+".\n", o.must("import", kind, o.file(kind+".csv", file)))
		one := file[:strings.LastIndex(strings.TrimSpace(file), "\n")+1]
		singular := map[string]string{"perks": "perk", "categories": "category", "users": "user", "properties": "property"}[kind]
		equal(t, "import one of the "+kind, "Imported 1 "+singular+".\n", o.must("import", kind, o.file("one.csv", one)))
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

func TestImportNamesEveryBadRowAndTakesNone(t *testing.T) {
	tests := []struct{ name, kind, file string }{
		{"perks.csv", "perks", "id,title,description,city,lat,lng,stock,valid_from\n" +
			"tea,Tea,Hot,Bath,51.38,-2.36,,\n" +
			"users,,Hot,Bath,95,,-1,tomorrow\n" +
			"\n" +
			"cake,\"two\nlines\",\"quotes \"\"inside\"\"\",,,,,\n" +
			"short,row\n" +
			"x,\"y\"z,D,C,,,,\n" +
			"ok,Fine,Fine,Bath,,,,\n"},
		{"perks.json", "perks", "[\n  {\"title\": \"Tea\", \"description\": \"Hot\", \"city\": \"Bath\"},\n  {\n    \"title\": 1,\n    \"title\": \"Tea\",\n    \"colour\\u001b[31m\": \"red\"\n  },\n  []\n]\n"},
		{"broken.json", "perks", "[{\"title\": \"Tea\"},\n{\"title\": \"Cake\"\n"},
		{"users.jsonl", "users", "{\"id\":\"alice\"}\n{\"id\":\"a b\"}\n{\"id\":\n[\"bob\"]\n{\"id\":\"\\ud800\", \"id\":null}\n"},
		{"unknown-column.csv", "users", "id,colour\nalice,red\nbob,blue\n"},
		{"properties.csv", "properties", "propertyId,title,price_pw,owner,images,lat\n1,Flat,1e3,acme,not a url,\n0,Flat,100,nobody,,\nx,Flat,,,,200\n2,Flat,100,nobody,,\n"},
		{"categories.csv", "categories", "id,category_name\n\"\",Food\ncategories,Food\n"},
		{"empty.csv", "users", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := withClient(t)
			for kind, file := range importable {
				o.must("import", kind, o.file(kind+".csv", file))
			}
			before := o.everything()
			got := o.run("import", test.kind, o.file(test.name, test.file))
			if got.code != exitFailure || got.stdout != "" {
				t.Errorf("exit code %d, stdout %q", got.code, got.stdout)
			}
			golden(t, "import_"+test.name+".txt", strings.ReplaceAll(got.stderr, o.folder+"/", ""))
			if diff := cmp.Diff(before, o.everything()); diff != "" {
				t.Errorf("the database has changed (-before +after):\n%s", diff)
			}
		})
	}
}

// everything is what can be exported.
func (o *operator) everything() string {
	o.t.Helper()
	var all strings.Builder
	for _, kind := range []string{"perks", "categories", "users", "properties", "redemptions"} {
		all.WriteString(o.must("export", kind, "-o", "jsonl"))
	}
	return all.String()
}

func TestImportRefusesWhatItCannotRead(t *testing.T) {
	o := newOperator(t)
	const more = " (see 'perksd import users --help')"
	o.refuses(exitUsage, "reading from stdin needs --format csv, json or jsonl"+more, "import", "users", "-")
	o.refuses(exitUsage, `cannot tell the format of "users.txt" from its name: it must end in .csv, .json or .jsonl`+more, "import", "users", "users.txt")
	o.refuses(exitUsage, `"xml" is not a format that can be read: it must be csv, json or jsonl`+more, "import", "users", "--format", "xml", "-")
	o.refuses(exitUsage, "FILE is missing"+more, "import", "users")
	o.refuses(exitFailure, "open "+o.path("none.csv")+": no such file or directory", "import", "users", o.path("none.csv"))
	o.hasNoDatabase()
}

func TestTheLastOfSeveralRowsWithOneIDCounts(t *testing.T) {
	o := newOperator(t)
	o.must("import", "categories", o.file("a.csv", "id,category_name\nfood,Food\nfood,Drink\n"))
	equal(t, "the categories", "id,category_name\nfood,Drink\n", o.must("export", "categories"))
}

func TestImportingAPerkAgainUpdatesIt(t *testing.T) {
	o := newOperator(t)
	o.must("import", "perks", o.file("a.csv", "id,title,description,city,category,stock\ntea,Tea,Hot,Bath,Food,5\n"))
	o.now = o.now.AddDate(0, 0, 1)
	o.must("import", "perks", o.file("b.csv", "id,title,description,city\ntea,Green tea,Hot,Bath\n"))
	equal(t, "the perk", "id,title,description,category,merchant_name,image_url,discount_text,terms,valid_from,valid_to,city,created_at,updated_at,lat,lng,stock,approval\n"+
		"tea,Green tea,Hot,,,,,,,,Bath,2026-06-15T12:00:00Z,2026-06-16T12:00:00Z,,,,auto\n", o.must("export", "perks"))
}

func TestAPerkWithoutAnIDGetsOne(t *testing.T) {
	o := newOperator(t)
	o.must("import", "perks", o.file("a.csv", "title,description,city,category\nTea,Hot,Bath,Hot Drinks\n"))
	if perks := o.must("export", "perks", "-o", "jsonl"); !strings.HasPrefix(perks, `{"id":"id-0001","title":"Tea",`) {
		t.Errorf("the perk is %s", perks)
	}
	equal(t, "the category that the perk names", "id,category_name\nhot-drinks,Hot Drinks\n", o.must("export", "categories"))
}

func TestAPropertyBelongsToItsOwnerOrToTheOneOfTheFlag(t *testing.T) {
	o := withClient(t)
	o.must("client", "create", "--name", "Beta", "--id", "beta")
	file := o.file("a.csv", "propertyId,title,price_pw,owner\n1,Flat,100,\n2,House,200,beta\n")
	o.must("import", "properties", "--owner", "acme", file)
	exported := o.must("export", "properties", "-o", "jsonl")
	for _, want := range []string{`"propertyId":1,"title":"Flat"`, `"owner":"acme"`, `"propertyId":2,"title":"House"`, `"owner":"beta"`} {
		if !strings.Contains(exported, want) {
			t.Errorf("the properties lack %s:\n%s", want, exported)
		}
	}
	o.refuses(exitFailure, `There is no client "gamma".`, "import", "properties", "--owner", "gamma", file)
}

func TestAnInterruptedImportTakesNothing(t *testing.T) {
	o := newOperator(t)
	o.must("migrate")
	ctx, interrupt := context.WithCancel(context.Background())
	// One byte at a time, so that the interruption comes between two rows of one file.
	input := iotest.OneByteReader(&interrupting{Reader: strings.NewReader("id\nalice\nbob\ncarol\n"), after: 12, interrupt: interrupt})
	var stdout, stderr bytes.Buffer
	p := o.program("", &stdout, &stderr)
	p.stdin = input
	if code := p.run(ctx, []string{"import", "users", "--format", "csv", "-"}); code != exitFailure {
		t.Errorf("exit code %d, stdout %q", code, stdout.String())
	}
	equal(t, "the message", "perksd: stdin: interrupted; nothing was imported\n", stderr.String())
	equal(t, "the users", "id\n", o.must("export", "users"))
}

// interrupting is an input during which somebody presses ctrl-c.
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
