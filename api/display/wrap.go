package display

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Wrap breaks a text into lines of at most the width: between words, and between characters of scripts that have no
// blanks. Only words longer than a line are broken elsewhere. Line feeds stay, blanks at the end of a line go. Each
// line repeats the styles that are in force. A character wider than the width becomes an ellipsis.
func Wrap(text string, width int) []string {
	if width <= 0 {
		return nil
	}
	var lines []string
	style := ""
	for paragraph := range strings.SplitSeq(text, "\n") {
		paragraph = clean(paragraph)
		if isASCII(paragraph) && len(paragraph) <= width && style == "" {
			lines = append(lines, strings.TrimRight(paragraph, " "))
			continue
		}
		lines, style = wrapParagraph(lines, style, pieces(paragraph, width), width)
	}
	return lines
}

// piece is a part of a line: a character, or an escape sequence that styles.
type piece struct {
	text  string
	width int
}

func (p piece) styles() bool { return p.text[0] == '\x1b' }

func pieces(line string, width int) []piece {
	all := make([]piece, 0, len(line))
	for len(line) > 0 {
		text, cells := FirstCharacter(line)
		line = line[len(text):]
		if cells > width {
			text, cells = ellipsis, 1
		}
		all = append(all, piece{text, cells})
	}
	return all
}

// wrapParagraph appends the lines of a paragraph, and returns the style in which it ends.
func wrapParagraph(lines []string, style string, all []piece, width int) ([]string, string) {
	for {
		first, end, next := fillLine(all, width)
		var line strings.Builder
		line.WriteString(style)
		for i, p := range all[:end] {
			if p.styles() {
				style = styleAfter(style, p.text)
			}
			if p.styles() || i >= first {
				line.WriteString(p.text)
			}
		}
		if style != "" {
			line.WriteString(resetStyle)
		}
		for _, p := range all[end:next] {
			style = styleAfter(style, p.text)
		}
		lines = append(lines, line.String())
		if all = all[next:]; len(all) == 0 {
			return lines, style
		}
	}
}

// styleAfter adds an escape sequence to the styles in force.
func styleAfter(style, sequence string) string {
	switch {
	case sequence == resetStyle || sequence == "\x1b[m":
		return ""
	case strings.HasPrefix(sequence, "\x1b[") && strings.HasSuffix(sequence, "m"):
		return style + sequence
	}
	return style
}

// fillLine returns which pieces form the first line, and where the next one begins.
func fillLine(all []piece, width int) (first, end, next int) {
	at := 0                       // the width so far
	before, blank := "", false    // the character before, and whether there are blanks since
	breakEnd, breakNext := -1, -1 // the last possible line break: the end of the line, and the start of the next
	for i, p := range all {
		if p.styles() {
			continue
		}
		if p.text == " " {
			at++
			blank = true
			continue
		}
		switch {
		case before == "" && at+p.width > width:
			first, at = i, 0 // blanks that leave no space for a word
		case before != "" && blank:
			breakEnd, breakNext = end, i
		case before != "" && BreaksBetween(before, p.text):
			breakEnd, breakNext = i, i
		}
		if at+p.width > width {
			if breakEnd > first {
				return first, breakEnd, breakNext
			}
			return first, i, i
		}
		at += p.width
		before, blank = p.text, false
		end = i + 1
	}
	return first, end, len(all)
}

const (
	// Characters that begin no line: what closes, what ends a sentence, and what lengthens the sound before it.
	beginsNoLine = "、。，．！？：；）」』】〉》〕］｝ー・…,.!?:;)]}%"
	// Characters that end no line.
	endsNoLine = "（「『【〈《〔［｛([{"
)

// BreaksBetween tells whether a line can end between two adjacent characters.
func BreaksBetween(before, after string) bool {
	if strings.Contains(beginsNoLine, after) || strings.Contains(endsNoLine, before) {
		return false
	}
	letter, _ := utf8.DecodeRuneInString(after)
	return isIdeographic(before) || isIdeographic(after) || before == "-" && unicode.IsLetter(letter)
}

func isIdeographic(character string) bool {
	r, _ := utf8.DecodeRuneInString(character)
	return r >= 0x2e80 && (unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) ||
		strings.ContainsRune(beginsNoLine+endsNoLine, r))
}
