package tuitest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/perks/api"
)

// TestEachListIsExportedAsPerksctlWritesIt exports every list to a file, one of them without seeing the screen, and
// compares it with what perksctl writes of that list.
func TestEachListIsExportedAsPerksctlWritesIt(t *testing.T) {
	t.Parallel()
	d := desk(t)
	d.must("perksd", "client", "update", d.id, "--scope", strings.ReplaceAll(api.AllScopes().String(), " ", ","))
	d.logIn()
	d.imports("perks", "id,title,description,city,category,created_at\n"+
		"odd,\"=1+1, \x1b[31mred\",\"two\nlines\",Bath,Zoo visits,2026-03-01T00:00:00Z\n")
	d.must("perksctl", "redeem", "tour", "--user", "zoe", "--metadata", "till=4")
	w := d.window(t, 120, 36)
	w.play("run: perksctl tui => row 1 of")
	for _, list := range []struct{ open, file string }{
		{"", "perks.csv"}, {"", "perks.json"}, {`/ "zoo" enter => row 1 of 5 | F clear filter`, "zoo.jsonl"},
		{"2 => Users | row 1 of\nesc => / filter", "users.csv"},
		{"3 => Properties | row 1 of\nesc => / filter", "properties.csv"},
		{"4 => Redemptions 1 | row 1 of", "redemptions.csv"},
		{"2 => ≠ Redemptions 1\n/ \"zoe\" enter => Redeemed 1 | row 1 of 1 | Available", "redeemed.csv"},
		{"tab => tab redemptions", "available.csv"},
	} {
		w.play(list.open)
		w.play(`E => > File
			ctrl+u "FILE" enter => /FILE. | ≠ > File`, "FILE", list.file)
	}
	w.play("q => exited with 0 | ready>")
	accessible := d.Command(t.Context(), "perksctl", "tui", "--accessible")
	accessible.Dir = w.dir
	accessible.Stdin = strings.NewReader("export\nspoken.csv\nsend\nq\n")
	text, err := accessible.CombinedOutput()
	if err != nil || !strings.Contains(string(text), "Exported 57 perks to ") {
		t.Errorf("%v\n%s", err, text)
	}
	for name, command := range map[string]string{
		"perks.csv": "perk list", "perks.json": "perk list", "zoo.jsonl": "perk list --query zoo",
		"users.csv": "user list", "properties.csv": "property list --sort propertyId",
		"redemptions.csv": "redemption list",
		"redeemed.csv":    "user perks zoe --type redeemed", "available.csv": "user perks zoe",
		"spoken.csv": "perk list",
	} {
		_, format, _ := strings.Cut(name, ".")
		want := d.must(append(append([]string{"perksctl"}, strings.Fields(command)...), "--all", "-o", format)...)
		if got, err := os.ReadFile(filepath.Join(w.dir, name)); string(got) != want {
			t.Errorf("%s has %v\n%.2000s\nwant\n%.2000s", name, err, got, want)
		}
	}
}
