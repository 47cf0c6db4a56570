package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/perks/cli/session"
	"example.com/perks/cmd/dev/specserver"
	"example.com/perks/server/servertest"
)

// atListings returns a terminal of the owner of the properties 42 and 43, and a directory for files.
func atListings(t *testing.T) (x *terminal, dir string) {
	t.Helper()
	server := servertest.Start(t)
	facts := seed(server)
	return newTerminal(t, map[string]string{session.EnvAPIURL: server.URL, session.EnvClientID: facts["CLIENT"],
		session.EnvClientSecret: facts["SECRET"]}), t.TempDir()
}

// forget makes the files of a run those of one that was killed: it has sent all rows, and has no result of these.
func forget(t *testing.T, results string, rows ...int) {
	t.Helper()
	text, err := os.ReadFile(results)
	if err != nil {
		t.Fatal(err)
	}
	batch := regexp.MustCompile(`"key":"(.{36})-`).FindSubmatch(text)[1]
	for _, row := range rows {
		text = regexp.MustCompile(fmt.Sprintf(`(?m)^\{"row":%d,.*\n`, row)).ReplaceAll(text, nil)
	}
	write(t, results, string(text))
	write(t, results+".journal", fmt.Sprintf("{\"batch\":%q}\n{\"up_to\":512}\n", batch))
}

// A killed run and a killed undo find out what they have done, and so does the undo of each.
func TestAKilledRunAndItsKilledUndoAreUndone(t *testing.T) {
	for command, rows := range map[string]string{
		"property update": "id,price_pw,title\n42,110,\n43,250.00,House\n", "property delete": "id\n42\n43\n",
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			x, dir := atListings(t)
			all := func() string { return x.run("property", "list", "--own", "--all", "-o", "csv").out }
			x.must("property", "update", "42", "--title", "Loft") // so that the history knows it
			x.must("property", "update", "43", "--city", "York")
			before := all()
			file := write(t, filepath.Join(dir, "rows.csv"), rows)
			run := append(strings.Fields(command), "--file", file)
			if command == "property delete" {
				run = append(run, "--yes")
			}
			x.must(run...)
			after := all()
			forget(t, file+".results.jsonl", 2, 3)
			x.must(run...)
			for undo, want := range []string{before, after, before} {
				name := file + strings.Repeat(".undo", undo)
				x.must("bulk", "undo", name, "--yes")
				forget(t, name+".undo.results.jsonl", 3)
				x.must("bulk", "undo", name, "--yes")
				if got := all(); got != want {
					t.Fatalf("undo %d leaves\n%s\nwant\n%s", undo, got, want)
				}
			}
		})
	}
}

// Another run of the same client has made the change before: a row that finds it made has nothing to undo.
func TestARowThatChangedNothingUndoesNothing(t *testing.T) {
	x, dir := atListings(t)
	first := write(t, filepath.Join(dir, "first.csv"), "id,price_pw\n42,110\n")
	second := write(t, filepath.Join(dir, "second.csv"), "id,price_pw\n42,110\n")
	x.must("property", "update", "--file", first)
	x.must("property", "update", "--file", second)
	x.must("bulk", "undo", second, "--yes")
	if got := x.must("property", "get", "42", "--jq", ".price_pw").out; got != "110\n" {
		t.Errorf("the undo of a run that changed nothing leaves %s", got)
	}
	x.must("bulk", "undo", first, "--yes")
	if got := x.must("property", "get", "42", "--jq", ".price_pw").out; got != "250.00\n" {
		t.Errorf("the undo of the other leaves %s", got)
	}
}

// ETags repeat: what the run replaced is neither the newest nor the oldest version beside that with its ETag.
func TestAnETagThatRepeatsIsUndoneToWhatTheRunReplaced(t *testing.T) {
	x, dir := atListings(t)
	file := write(t, filepath.Join(dir, "prices.csv"), "id,price_pw\n42,110\n")
	for _, price := range []string{"110", "90"} {
		x.must("property", "update", "42", "--price-pw", price)
	}
	x.must("property", "update", "--file", file)
	for _, price := range []string{"70", "110"} {
		x.must("property", "update", "42", "--price-pw", price)
	}
	x.must("bulk", "undo", file, "--yes")
	if got := x.must("property", "get", "42", "--jq", ".price_pw").out; got != "90\n" {
		t.Errorf("the undo leaves %s", got)
	}
}

// The results of earlier versions do not say what was done.
func TestUndoOfOlderResults(t *testing.T) {
	x, dir := atListings(t)
	file := write(t, filepath.Join(dir, "prices.csv"), "id,price_pw\n42,110\n")
	x.must("property", "update", "--file", file)
	text, err := os.ReadFile(file + ".results.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	older := regexp.MustCompile(`,"action":[^}]*`).ReplaceAllString(string(text), "")
	write(t, file+".results.jsonl", older)
	r := x.run("bulk", "undo", file, "--yes")
	if r.code != 2 || !strings.Contains(r.err, "because an earlier version of perksctl wrote them.") {
		t.Errorf("%+v", r)
	}
}

// TestUndoAtAServerWithoutHistory has a run that notes what each property was, since nothing else tells.
func TestUndoAtAServerWithoutHistory(t *testing.T) {
	for _, etags := range []specserver.ETags{
		specserver.ETagsNone, specserver.ETagsStrong, specserver.ETagsWeak, specserver.ETagsWeakMatching,
	} {
		t.Run(string(etags), func(t *testing.T) {
			t.Parallel()
			x := atSpecification(t, specserver.Options{Freedoms: specserver.Freedoms{ETags: etags}})
			get := func() string { return x.must("property", "get", "1", "2", "3", "--fields", "title,price_pw").out }
			before := get()
			rows := "id,title,price_pw\n1,Loft,1.50\n2,Barn,2\n1,Loft,3\n3,Hut,4\n"
			file := write(t, filepath.Join(t.TempDir(), "rows.csv"), rows)
			x.must("property", "update", "--file", file)
			after := get()
			for undo, want := range []string{before, after, before} {
				x.must("bulk", "undo", file+strings.Repeat(".undo", undo), "--yes")
				if got := get(); got != want {
					t.Fatalf("undo %d leaves\n%s\nwant\n%s", undo, got, want)
				}
			}
			x.must("property", "update", "--file", file, "--job", "again")
			x.must("property", "update", "2", "--title", "Sold")
			r := x.run("bulk", "undo", file, "--job", "again", "--yes")
			const stays = `Property 2 was changed after the run, and stays as it is: title was left as "Barn" and ` +
				`is "Sold" now.`
			if r.code != 7 || !strings.Contains(r.err, stays) || !strings.Contains(r.err, "4 rows: 3 done, 1 failed.") {
				t.Errorf("%+v", r)
			}
			closed := write(t, filepath.Join(t.TempDir(), "closed.csv"), "id\n3\n")
			x.must("property", "delete", "--file", closed, "--yes")
			r = x.run("bulk", "undo", closed, "--yes")
			if r.code != 7 || !strings.Contains(r.err, "This service keeps no history of listings, so it cannot") {
				t.Errorf("%+v", r)
			}
		})
	}
}
