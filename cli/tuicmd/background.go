package tuicmd

import (
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/muesli/cancelreader"
	"golang.org/x/term"
)

// answerTime is how long a terminal may take to say what its background is. Every one that answers at all answers the second
// question, so that only those that are silent are waited for.
const answerTime = time.Second

// The questions: which colour is the background (OSC 11), and what are you (DA1).
const (
	askBackground = "\x1b]11;?\x1b\\"
	askKind       = "\x1b[c"
)

// isDark asks the terminal, and otherwise the environment. One of which nothing is known is taken for dark, as most are.
func (o *options) isDark() bool {
	s := o.session
	in, isFile := s.Streams.In.(*os.File)
	if out, ok := s.Streams.Out.(*os.File); ok && isFile {
		if dark, known := darkness(ask(in, out, answerTime)); known {
			return dark
		}
	}
	_, background, _ := strings.Cut(s.Env("COLORFGBG"), ";")
	colour, err := strconv.Atoi(background[strings.LastIndex(background, ";")+1:])
	return err != nil || colour < 7 || colour == 8
}

// ask returns what the terminal answers within the time, as far as it has come.
func ask(in, out *os.File, within time.Duration) string {
	before, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return ""
	}
	defer func() { _ = term.Restore(int(in.Fd()), before) }()
	reader, err := cancelreader.NewReader(in)
	if err != nil {
		return ""
	}
	defer reader.Close()
	timer := time.AfterFunc(within, func() { reader.Cancel() })
	defer timer.Stop()
	if _, err := out.WriteString(askBackground + askKind); err != nil {
		return ""
	}
	var answer strings.Builder
	part := make([]byte, 256)
	for answer.Len() < 4096 {
		n, err := reader.Read(part)
		answer.Write(part[:n])
		if err != nil || toldKind(answer.String()) {
			break
		}
	}
	return answer.String()
}

// toldKind tells whether the answer to the second question is complete: ESC [ ? numbers c.
func toldKind(answer string) bool {
	_, kind, began := strings.Cut(answer, "\x1b[?")
	return began && strings.HasPrefix(strings.TrimLeft(kind, "0123456789;"), "c")
}

// darkness reads an answer such as ESC ] 11 ; rgb:ffff/ffff/ffff ESC \.
func darkness(answer string) (dark, known bool) {
	_, colour, ok := strings.Cut(answer, "\x1b]11;rgb")
	if !ok {
		return false, false
	}
	colour = strings.TrimPrefix(strings.TrimPrefix(colour, "a"), ":")
	colour = colour[:len(colour)-len(strings.TrimLeft(colour, "0123456789abcdefABCDEF/"))]
	parts := strings.Split(colour, "/")
	if len(parts) < 3 {
		return false, false
	}
	brightness := 0.0
	for i, weight := range []float64{0.299, 0.587, 0.114} {
		value, err := strconv.ParseUint(parts[i], 16, 16)
		if err != nil {
			return false, false
		}
		brightness += weight * float64(value) / float64(uint64(1)<<(4*len(parts[i]))-1)
	}
	return brightness < 0.5, true
}
