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
		lines, style = wrapParagraph(lines, style, narrow(paragraph, width), width)
	}
	return lines
}

// narrow replaces characters that are wider than a line.
func narrow(line string, width int) string {
	if width >= 4 || isASCII(line) { // none is wider
		return line
	}
	var out strings.Builder
	for len(line) > 0 {
		character, cells := FirstCharacter(line)
		if line = line[len(character):]; cells > width {
			character = ellipsis
		}
		out.WriteString(character)
	}
	return out.String()
}

// wrapParagraph appends the lines of a paragraph, and returns the style in which it ends.
func wrapParagraph(lines []string, style, text string, width int) ([]string, string) {
	for {
		first, end, next := fillLine(text, width)
		line := style + strings.Join(stylesIn(text[:first]), "") + text[first:end]
		if style = styleAfter(style, stylesIn(text[:end])...); style != "" {
			line += resetStyle
		}
		lines = append(lines, line)
		style = styleAfter(style, stylesIn(text[end:next])...)
		if text = text[next:]; text == "" {
			return lines, style
		}
	}
}

// stylesIn returns the escape sequences of a line.
func stylesIn(line string) (sequences []string) {
	for {
		i := strings.IndexByte(line, '\x1b')
		if i < 0 {
			return sequences
		}
		sequence, _ := FirstCharacter(line[i:])
		sequences = append(sequences, sequence)
		line = line[i+len(sequence):]
	}
}

// styleAfter adds escape sequences to the styles in force.
func styleAfter(style string, sequences ...string) string {
	for _, sequence := range sequences {
		switch {
		case sequence == resetStyle || sequence == "\x1b[m":
			style = ""
		case strings.HasPrefix(sequence, "\x1b[") && strings.HasSuffix(sequence, "m"):
			style += sequence
		}
	}
	return style
}

// fillLine returns where the first line begins and ends in a text, and where the next one begins.
func fillLine(text string, width int) (first, end, next int) {
	at := 0                       // the width so far
	before, blank := "", false    // the character before, and whether there are blanks since
	breakEnd, breakNext := -1, -1 // the last possible line break: the end of the line, and the start of the next
	for i := 0; i < len(text); {
		start := i
		character, cells := FirstCharacter(text[start:])
		i += len(character)
		switch {
		case character[0] == '\x1b':
			continue
		case character == " ":
			at++
			blank = true
			continue
		case before == "" && at+cells > width:
			first, at = start, 0 // blanks that leave no space for a word
		case before != "" && blank:
			breakEnd, breakNext = end, start
		case before != "" && BreaksBetween(before, character):
			breakEnd, breakNext = start, start
		}
		if at+cells > width {
			if breakEnd > first {
				return first, breakEnd, breakNext
			}
			return first, start, start
		}
		at += cells
		before, blank, end = character, false, i
	}
	return first, end, len(text)
}

const (
	// Characters that begin no line: what closes, what ends a sentence, and what lengthens the sound before it.
	beginsNoLine = "、。，．！？：；）」』】〉》〕］｝ー・…,.!?:;)]}%"
	// Characters that end no line.
	endsNoLine = "（「『【〈《〔［｛([{"
)

// BreaksBetween tells whether a line can end between two adjacent characters.
func BreaksBetween(before, after string) bool {
	letter, _ := utf8.DecodeRuneInString(after)
	return (isIdeographic(before) || isIdeographic(after) || before == "-" && unicode.IsLetter(letter)) &&
		!strings.Contains(beginsNoLine, after) && !strings.Contains(endsNoLine, before)
}

func isIdeographic(character string) bool {
	r, _ := utf8.DecodeRuneInString(character)
	return r >= 0x2e80 && (unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) ||
		strings.ContainsRune(beginsNoLine+endsNoLine, r))
}
