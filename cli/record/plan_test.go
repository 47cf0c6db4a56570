package record

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/rows"
	"example.com/perks/cli/command"
)

// written is a plan that sets fields of listings to these texts.
func written(t *testing.T, field string, texts ...string) (path string) {
	t.Helper()
	w := &planWriter[api.PropertyID, api.Property, api.PropertyPatch]{
		kind: listings, purpose: "property update at http://x: --set 'a, \"b\"'", changes: []string{field, "lat"},
	}
	if err := w.open(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		now := client.Version[api.Property]{ETag: `W/"a,b"`, Record: api.Property{ID: int64(i + 1), Title: "=1+1"}}
		changes, err := api.PropertyAmounts.Parse([]api.Member{{Name: field, Value: api.TextValue(text)}}, "")
		if err != nil {
			t.Fatal(err)
		}
		patch, err := changes.Of(now.Record)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.add(now.Record.PropertyID(), now, now.Record.With(patch)); err != nil {
			t.Fatal(err)
		}
	}
	path, err := w.finish()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// tasksOf reads the rows of a plan as a run does.
func tasksOf(t *testing.T, path string) (tasks []*listingTask) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	work := listings.workOf("property update", nil, listings.parseUpdateRow)
	for row, err := range rows.NewReader(file, rows.CSV).Rows() {
		if err != nil {
			t.Fatal(err)
		}
		made, err := work.Parse(row)
		if err != nil {
			t.Fatal(err)
		}
		tasks = append(tasks, made.(*listingTask))
	}
	return tasks
}

func TestAPlanKeepsEveryText(t *testing.T) {
	texts := []string{"", "null", " blanks ", "two\r\nlines\n", `"quoted", and; more` + "\t", "=SUM(A1)", "'=1", "'",
		"-1", "\ufeffmark", `\.`, "plan_sha256_0", "ümlaut", "+5%", strings.Repeat("long ", 2000)}
	path := written(t, "description", texts...)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others can read the plan: %v, %v", info.Mode(), err)
	}
	p, err := listings.readPlan(path)
	if err != nil || p.rows != int64(len(texts)) || p.purpose != "property update at http://x: --set 'a, \"b\"'" {
		t.Fatalf("%+v, %v", p, err)
	}
	for i, made := range tasksOf(t, path) {
		after := api.Property{Title: "=1+1"}.With(made.Patch)
		if made.ETag != `W/"a,b"` || made.ID != api.PropertyID([]byte{'1' + byte(i)}) && i < 9 ||
			after.Description != texts[i] || after.Title != "=1+1" || after.Lat != nil {
			t.Errorf("%.60q is read as %q of %s with %s", texts[i], after.Description, made.ID, made.ETag)
		}
	}
	images := `["https://x/a,b.jpg","https://x/2.jpg"]`
	if made := tasksOf(t, written(t, "images", images)); !slices.Equal(made[0].Patch.Images.Value,
		[]string{"https://x/a,b.jpg", "https://x/2.jpg"}) {
		t.Errorf("images are read as %q", made[0].Patch.Images.Value)
	}
}

func TestAnyEditOfAPlanIsNoticed(t *testing.T) {
	path := written(t, "price_pw", "120.50", "99")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	edits := [][]byte{{}, text[:len(text)-1], append(slices.Clone(text), '\n'), append([]byte("\ufeff"), text...),
		bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")), bytes.Repeat([]byte("x"), 1<<20)}
	for i := range text {
		edited := slices.Clone(text)
		edited[i] ^= 1
		edits = append(edits, edited)
	}
	for _, edited := range edits {
		if err := os.WriteFile(path, edited, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := listings.readPlan(path); !errors.As(err, new(*command.UsageError)) {
			t.Errorf("%.200q is read: %v", edited, err)
		}
	}
	if _, err := listings.readPlan(t.TempDir()); !errors.As(err, new(*command.UsageError)) {
		t.Errorf("a directory is read: %v", err)
	}
}

func TestAPlanReplacesNoFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rise.csv")
	if err := rows.PlaceFile(written(t, "title", "a"), path); err != nil {
		t.Fatal(err)
	}
	if err := rows.PlaceFile(written(t, "title", "b"), path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("the plan of another run was replaced: %v", err)
	}
	if made := tasksOf(t, path); made[0].Patch.Title.Value != "a" {
		t.Errorf("the plan sets %q", made[0].Patch.Title.Value)
	}
}

func TestAPlanAddsUpItsAmounts(t *testing.T) {
	p, err := listings.readPlan(written(t, "price_pw", "120.50", "0.125"))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"price_pw in total: from 0 to 120.625 (+120.625)"}; !slices.Equal(p.sums(), want) {
		t.Errorf("%q", p.sums())
	}
	if want := []string{"  1: price_pw from 0 to 120.50", "  2: price_pw from 0 to 0.125"}; !slices.Equal(p.firstRows(),
		want) {
		t.Errorf("%q", p.firstRows())
	}
}
