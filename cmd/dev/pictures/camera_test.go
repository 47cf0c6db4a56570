package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAPictureIsKeptUnlessMoreThanTimeHasPassed(t *testing.T) {
	const before = `<text x="10" textLength="84">until 6 Dec 2026 00:00</text><text x="1">Id 01a20084-729d-7d76-b648-25d14cbbd87c</text>`
	for picture, kept := range map[string]bool{
		`<text x="10" textLength="92">until 16 Jan 2027 00:00</text><text x="1">Id 91b20084-829d-7d76-b648-25d14cbbd87d</text>`:          true,
		`<text x="10" textLength="84">ended 6 Dec 2026 00:00</text><text x="1">Id 01a20084-729d-7d76-b648-25d14cbbd87c</text>`:           false,
		`<text x="10" textLength="84" class="b">until 6 Dec 2026 00:00</text><text x="1">Id 01a20084-729d-7d76-b648-25d14cbbd87c</text>`: false,
	} {
		path := filepath.Join(t.TempDir(), "album", "picture.svg")
		for _, text := range []string{before, picture} {
			if err := keep(path, text); err != nil {
				t.Fatal(err)
			}
		}
		now, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if (string(now) == before) != kept {
			t.Errorf("after %s there is %s", picture, now)
		}
	}
}
