package bulk_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"example.com/perks/api"
	"example.com/perks/api/rows"
	"example.com/perks/cli/bulk"
	"example.com/perks/cli/command"
)

func known() *bulk.KnownColumns {
	return &bulk.KnownColumns{
		Columns: []bulk.Column{{Name: "perk_id", Aliases: []string{"perk"}, Required: true}, {Name: "note"}},
		Prefix:  "tag.",
		Ignored: []string{"status"},
	}
}

func TestRead(t *testing.T) {
	for name, test := range map[string]struct {
		file string
		want string // column=name in the file, sorted
	}{
		"the main name":           {"perk_id,note\np,n\n", "note=note perk_id=perk_id"},
		"an alias":                {"perk\np\n", "perk_id=perk"},
		"an empty cell":           {"perk,note\np,\n", "perk_id=perk"},
		"columns with the prefix": {"perk,tag.a,tag.b\np,1,\n", "perk_id=perk tag.a=tag.a"},
		"other spellings": {" Perk-ID ;NOTE;Tag.A B;Failed Because\np;n;1;no\n",
			"note=NOTE perk_id=Perk-ID tag.A B=Tag.A B"},
		"an ignored column": {"perk,status\np,approved\n", "perk_id=perk"},
		"an object":         {`{"perk":"p","status":1,"note":null}`, "note=note perk_id=perk"},
		"an ignored field":  {`{"perk":"p","status":1,"status":2}`, "perk_id=perk"},
	} {
		row, err := read(t, test.file)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, column := range slices.Sorted(maps.Keys(row)) {
			got = append(got, column+"="+row[column].Name)
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

func TestErrorsNameTheirColumns(t *testing.T) {
	for name, test := range map[string]struct {
		file   string
		want   string // the error of each column
		header bool   // the error is about the header
	}{
		"an unknown column":      {"perk,colour\np,red\n", "colour is not a known column. The columns are perk_id, note, tag.KEY", true},
		"a column and its alias": {"perk_id,perk\np,\n", "perk means the same as perk_id; only one of them can be there", true},
		"a misspelt column": {"perkid\np\n",
			"perk_id is missing; every row needs it; perkid is not a known column. Did you mean \"perk_id\"? The columns are perk_id, note, tag.KEY", true},
		"a misspelt alias": {"Prek,perk\np,\n",
			"Prek is not a known column. Did you mean \"perk\"? The columns are perk_id, note, tag.KEY", true},
		"a misspelt prefix": {"perk,Tga.Price PW\np,\n",
			"Tga.Price PW is not a known column. Did you mean \"tag.Price PW\"? The columns are perk_id, note, tag.KEY",
			true},
		"two spellings": {"perk-id,Perk ID\np,\n", "Perk ID means the same as perk-id; only one of them can be there", true},
		"a field's spelling": {`{"Perk_ID":"p"}`,
			"Perk_ID is not a known field. Did you mean \"perk_id\"? The fields are perk_id, note; perk_id is required", false},
		"a missing column":       {"note\nn\n", "perk_id is missing; every row needs it", true},
		"a prefix without a key": {"perk,tag.\np,1\n", "tag. is not a known column. The columns are perk_id, note, tag.KEY", true},
		"an invalid name":        {"perk,tag.\xff\np,1\n", "tag.\uFFFD must be valid UTF-8", true},
		"an empty required cell": {"perk,note\n,n\n", "perk is required", false},
		"an invalid cell":        {"perk,status\np,\xff\n", "status must be valid UTF-8", false},
		"an unknown field": {`{"perk":"p","tag.a":1}`, "tag.a is not a known field. The fields are perk_id, note",
			false},
		"a missing field":   {`{"colour":1}`, "colour is not a known field. The fields are perk_id, note; perk_id is required", false},
		"a duplicate field": {`{"perk":"p","perk":"q"}`, "perk is given more than once", false},
		"a field and its alias": {`{"perk":"p","perk_id":"p"}`,
			"perk_id means the same as perk; only one of them can be there", false},
	} {
		_, err := read(t, test.file)
		var usage *command.UsageError
		var invalid *api.Error
		var fields api.FieldErrors
		switch {
		case errors.As(err, &usage):
			fields = usage.Fields
		case errors.As(err, &invalid):
			fields = invalid.Fields
		}
		if fields.String() != test.want || (usage != nil) != test.header {
			t.Errorf("%s:\n got %v\nwant %s", name, err, test.want)
		}
	}
	if _, err := read(t, "{\"perk\":\"\xff\"}"); api.CodeOf(err) != api.CodeInvalidJSON {
		t.Errorf("an object that is not UTF-8: %v", err)
	}
}

func TestHeadersAreResolvedPerFile(t *testing.T) {
	k := known()
	for range 2 {
		for _, test := range []struct {
			header []string
			want   string // the name of the column perk_id
		}{{[]string{"perk", "note"}, "perk"}, {[]string{"note", "perk_id"}, "perk_id"}, {[]string{"perk"}, "perk"},
			{[]string{"note"}, ""}} {
			row, err := k.Read(rows.Row{Header: test.header, Cells: slices.Repeat([]string{"x"}, len(test.header))})
			if row["perk_id"].Name != test.want || (err == nil) != (test.want != "") {
				t.Errorf("%s: %v, %v", test.header, row, err)
			}
		}
	}
}

// read reads the first row of a file.
func read(t *testing.T, file string) (bulk.Row, error) {
	t.Helper()
	format := rows.CSV
	if file[0] == '{' {
		format = rows.JSONL
	}
	for row, err := range rows.NewReader(strings.NewReader(file), format).Rows() {
		if err != nil {
			t.Fatal(err)
		}
		return known().Read(row)
	}
	t.Fatal("no row")
	return nil, nil
}
