package pictures

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Film is what a terminal shows over time, again and again.
type Film struct{ frames []frame }

type frame struct {
	screen Screen
	stays  time.Duration
}

// Add shows a screen for a time. All screens have the same size.
func (f *Film) Add(s Screen, stays time.Duration) { f.frames = append(f.frames, frame{s, stays}) }

// Draw draws the film in a window with a title. Each row is in the file once, and is visible in the frames that have
// it. A viewer that moves nothing shows the last frame.
func (f *Film) Draw(title string, c Colours) string {
	last := len(f.frames) - 1
	first := f.frames[0].screen
	var rows, style strings.Builder
	style.WriteString(`@media(prefers-reduced-motion:reduce){g{animation:none!important}}`)
	names := map[string]string{}
	for y := range first.Height {
		for _, drawn := range f.row(y, c) {
			switch {
			case !slices.Contains(drawn.visible, false):
				rows.WriteString(drawn.text)
				continue
			case drawn.text == "":
				continue
			}
			steps := f.steps(drawn.visible)
			name, known := names[steps]
			if !known {
				name = fmt.Sprintf("s%d", len(names))
				names[steps] = name
				fmt.Fprintf(&style, "\n@keyframes %s{%s}.%s{animation:%s %gs step-end infinite", name, steps, name,
					name, f.length().Seconds())
				if !drawn.visible[last] {
					style.WriteString(";visibility:hidden")
				}
				style.WriteString("}")
			}
			fmt.Fprintf(&rows, "<g class=\"%s\">\n%s</g>\n", name, drawn.text)
		}
	}
	d := &drawing{colours: c}
	d.window(first.Width, first.Height, title, style.String())
	d.WriteString(rows.String())
	d.add(`</svg>`)
	return d.String()
}

func (f *Film) length() (all time.Duration) {
	for _, frame := range f.frames {
		all += frame.stays
	}
	return all
}

// drawnRow is what a row shows in some of the frames.
type drawnRow struct {
	text    string
	visible []bool // by frame
}

// row draws all that a row ever shows.
func (f *Film) row(y int, c Colours) (all []drawnRow) {
	for i, frame := range f.frames {
		d := &drawing{colours: c}
		d.backgrounds(y, frame.screen.rows[y])
		d.texts(y, frame.screen.rows[y])
		d.lines()
		at := slices.IndexFunc(all, func(known drawnRow) bool { return known.text == d.String() })
		if at < 0 {
			at = len(all)
			all = append(all, drawnRow{d.String(), make([]bool, len(f.frames))})
		}
		all[at].visible[i] = true
	}
	return all
}

// steps are the keyframes of what is visible in some frames.
func (f *Film) steps(visible []bool) string {
	var steps strings.Builder
	var at time.Duration
	for i, is := range visible {
		if i == 0 || is != visible[i-1] {
			word := "hidden"
			if is {
				word = "visible"
			}
			fmt.Fprintf(&steps, "%.4g%%{visibility:%s}", 100*at.Seconds()/f.length().Seconds(), word)
		}
		at += f.frames[i].stays
	}
	return steps.String()
}
