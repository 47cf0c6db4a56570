package tuitest

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api/display"
)

// Play plays a scenario, a step on each line:
//
//	/ "tea\n" settle => / tea | row 1 of 40 | ≠ loading
//
// presses keys by their names, types what is quoted, and waits until the screen shows all texts. A text after ≠ has
// to disappear. The key settle waits until no command runs. Without keys, a step only waits.
//
//	got: PATCH {"title":"Mine"}
//
// runs a command: one of this package, or one that the test has added to Commands. Texts can follow it, too. The
// replacements are pairs, as for strings.NewReplacer: for ids and addresses, which differ from run to run.
func (d *Driver) Play(scenario string, replacements ...string) {
	d.t.Helper()
	scenario = strings.NewReplacer(replacements...).Replace(scenario)
	for line := range strings.Lines(scenario) {
		if d.step = strings.TrimSpace(line); d.step != "" {
			d.play(d.step)
		}
	}
	d.step = ""
}

var commandInStep = regexp.MustCompile(`^([a-z][a-z ]*[a-z]):(?: (.*))?$`)

func (d *Driver) play(step string) {
	d.t.Helper()
	command := func(name string) func(string) {
		if run := d.Commands[name]; run != nil {
			return run
		}
		return d.commands()[name]
	}
	stage{d.t, d.Press, d.Type, d.See, d.Gone, command}.play(step)
}

// stage is where a scenario is played: a Driver, or a program in a terminal.
type stage struct {
	testing.TB
	press   func(keys ...string)
	write   func(text string)
	see     func(texts ...string)
	gone    func(text string)
	command func(name string) func(argument string) // nil if there is none of that name
}

func (s stage) play(step string) {
	s.Helper()
	does, texts, sees := strings.Cut(step, "=>")
	if command := commandInStep.FindStringSubmatch(strings.TrimSpace(does)); command != nil {
		run := s.command(command[1])
		if run == nil {
			s.Fatalf("no command %q in %s", command[1], step)
		}
		run(command[2])
	} else {
		s.pressOrType(does)
	}
	if !sees {
		return
	}
	var shown, gone []string
	for text := range strings.SplitSeq(texts, " | ") {
		text = strings.TrimSpace(text)
		if left, isGone := strings.CutPrefix(text, "≠"); isGone {
			gone = append(gone, strings.TrimSpace(left))
		} else {
			shown = append(shown, text)
		}
	}
	s.see(shown...)
	for _, text := range gone {
		s.gone(text)
	}
}

// pressOrType presses keys by their names, and types what is quoted.
func (s stage) pressOrType(keys string) {
	s.Helper()
	for keys = strings.TrimSpace(keys); keys != ""; keys = strings.TrimSpace(keys) {
		quoted, err := strconv.QuotedPrefix(keys)
		if err != nil {
			var key string
			key, keys, _ = strings.Cut(keys, " ")
			switch {
			case key == "settle":
				s.command(key)("")
			case key == "space":
				s.press(" ")
			case len(Key(key).Runes) > 1:
				s.Fatalf("no key %q", key)
			default:
				s.press(key)
			}
			continue
		}
		keys = strings.TrimPrefix(keys, quoted)
		text, _ := strconv.Unquote(quoted)
		s.write(text)
	}
}

// commands are the commands of every scenario.
func (d *Driver) commands() map[string]func(argument string) {
	equal := func(got, want string) {
		d.t.Helper()
		if got != want {
			d.t.Errorf("%s\ngot %s. The screen:\n%s", d.step, got, d.Screen())
		}
	}
	return map[string]func(string){
		"wait": func(duration string) {
			by, err := time.ParseDuration(duration)
			if err != nil {
				d.t.Fatal(err)
			}
			d.Elapse(by)
		},
		"size": func(size string) {
			width, height, _ := strings.Cut(size, "x")
			columns, _ := strconv.Atoi(width)
			lines, _ := strconv.Atoi(height)
			d.Resize(columns, lines)
		},
		"settle": func(string) { d.Settle() },
		"paste":  d.Paste,
		"click":  d.click,
		"copied": func(want string) { equal(d.Desktop.Copied(), want) },
		"opened": func(want string) { equal(d.Desktop.Opened(), want) },
		"title":  func(want string) { d.Until("the title", func() bool { return d.App.Top().Title() == want }) },
		"screens": func(want string) { // how many are open
			d.Until(want+" screens", func() bool { return strconv.Itoa(d.Depth()) == want })
		},
		"dialog": func(want string) { // the whole text of the dialog
			d.Until(want, func() bool { return d.App.Overlay() != nil && d.App.Overlay().AccessibleText() == want })
		},
		"unsaved": func(want string) { // a part of what closing the screen would lose, or nothing
			if got := d.App.Top().Unsaved(); !strings.Contains(got, want) || want == "" && got != "" {
				equal(got, want)
			}
		},
		"form": func(want string) { // the values of some fields, quoted if they have more lines; or no form
			form := d.App.Top().Form()
			if form == nil || want == "" {
				equal(strconv.FormatBool(form == nil), strconv.FormatBool(want == ""))
				return
			}
			for field := range strings.SplitSeq(want, " | ") {
				name, value, _ := strings.Cut(field, "=")
				if text, err := strconv.Unquote(value); err == nil {
					value = text
				}
				equal(form.Value(name), value)
			}
		},
		"focus": func(want string) { equal(d.App.Top().Form().Focus(), want) },
		"got": func(want string) { // what the service has got since the last such step
			d.Settle()
			all := d.Received()
			equal(strings.Join(all[d.seen:], " | "), want)
			d.seen = len(all)
		},
	}
}

// click clicks on the first line that has the text.
func (d *Driver) click(text string) {
	d.t.Helper()
	for y, line := range strings.Split(d.Screen(), "\n") {
		if before, _, found := strings.Cut(line, text); found {
			x := display.Width(before)
			d.Send(tea.MouseMsg{X: x, Y: y, Button: tea.MouseButtonLeft, Action: tea.MouseActionPress})
			return
		}
	}
	d.t.Errorf("there is no %q to click on:\n%s", text, d.Screen())
}
