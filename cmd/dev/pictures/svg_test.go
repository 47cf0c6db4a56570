package pictures

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// update is the flag that tuitest defines.
var update = flag.Lookup("update")

const (
	red     = "\x1b[1;38;2;255;0;0m"
	row     = "\x1b[48;5;24;38;5;15m"
	flipped = "\x1b[7m"
	off     = "\x1b[0m"
)

func TestDraw(t *testing.T) {
	for _, test := range []struct {
		name    string
		colours Colours
		lines   []string
	}{
		{"dark", Dark, []string{
			"plain " + red + "bold red" + off + "  after two blanks",
			row + " selected   row " + off,
			flipped + "other way round" + off,
			"东京 tower… next",
			"caf\u0065\u0301 ☕ 👩‍👩‍👧 end",
			"عربي end",
			"╭──┬──╮┌┐",
			"│a │██▐└┘",
			"├──┼▀▄┤",
			"╰──┴──╯",
		}},
		{"light", Light, []string{
			"\x1b[2mfaint\x1b[22m \x1b[3mitalic\x1b[23m \x1b[4munder lined\x1b[24m " +
				"\x1b[31mred\x1b[39m \x1b[92mbright\x1b[m plain",
			`<b>"5" & 'six'</b>`,
			strings.Repeat("long ", 20), "", "", "", "", "", "", "", "below",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			svg := Read(strings.Join(test.lines, "\n"), 44, 10).Draw("perks: "+test.name, test.colours)
			wellFormed(t, svg)
			golden(t, filepath.Join("testdata", test.name+".svg"), svg)
		})
	}
}

func wellFormed(t *testing.T, svg string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("the picture is not XML: %v", err)
		}
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if update.Value.String() == "true" {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s has changed; compare the pictures, and run go test -update if the new one is right:\n%s", path,
			got)
	}
}

func TestAFullScreenStaysSmall(t *testing.T) {
	line := strings.Repeat("\x1b[38;5;9mword \x1b[38;5;12mother  "+off, 10)
	svg := Read(strings.Repeat(line+"\n", 32), 110, 32).Draw("full", Dark)
	if len(svg) > 60_000 {
		t.Errorf("the picture has %d bytes", len(svg))
	}
}

func TestAFilmHasEachRowOnceAndEndsWithTheLastFrame(t *testing.T) {
	t.Parallel()
	var film Film
	film.Add(Read("a title\nfirst", 8, 2), time.Second)
	film.Add(Read("a title\nsecond", 8, 2), 2*time.Second)
	film.Add(Read("a title\nfirst", 8, 2), time.Second)
	film.Add(Read("a title\n"+red+"last"+off, 8, 2), 4*time.Second)
	svg := film.Draw("perks: film", Light)
	wellFormed(t, svg)
	for text, times := range map[string]int{
		">a title<": 1, ">first<": 1, ">second<": 1, ">last<": 1, " 8s step-end infinite": 3,
		"0%{visibility:visible}12.5%{visibility:hidden}37.5%{visibility:visible}50%{visibility:hidden}": 1,
		"0%{visibility:hidden}50%{visibility:visible}":                                                  1,
		"infinite;visibility:hidden}":                                                                   2,
	} {
		if got := strings.Count(svg, text); got != times {
			t.Errorf("the film has %q %d times, want %d:\n%s", text, got, times, svg)
		}
	}
}
