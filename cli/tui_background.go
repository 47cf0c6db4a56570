package cli

import (
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/muesli/cancelreader"
	"github.com/muesli/termenv"
	"golang.org/x/term"

	"example.com/perks/tui/widget"
)

// colours decides on theme and colours: first --theme, then --no-color, the configuration, NO_COLOR and the like. The terminal is
// asked whether it is light or dark only if none of them decides.
func (o *tuiOptions) colours(chosen widget.ThemeName) (widget.ThemeName, termenv.Profile) {
	s := o.session
	open := chosen == "" || chosen == widget.AutoTheme && o.theme == ""
	switch {
	case o.theme == "" && s.Flags.NoColour, open && !s.Streams.ColourOut, chosen == widget.NoTheme:
		return widget.NoTheme, termenv.Ascii
	case open || chosen == widget.AutoTheme:
		chosen = widget.LightTheme
		if o.isDark() {
			chosen = widget.DarkTheme
		}
	}
	return chosen, termenv.NewOutput(s.Streams.Out).ColorProfile()
}

// isDark asks the terminal, then the environment. Most terminals are dark, so an unknown one counts as dark.
func (o *tuiOptions) isDark() bool {
	s := o.session
	in, isFile := s.Streams.In.(*os.File)
	if out, ok := s.Streams.Out.(*os.File); ok && isFile {
		if dark, known := parseDarkness(queryTerminal(in, out, queryTime)); known {
			return dark
		}
	}
	_, background, _ := strings.Cut(s.Env("COLORFGBG"), ";")
	colour, err := strconv.Atoi(background[strings.LastIndex(background, ";")+1:])
	return err != nil || colour < 7 || colour == 8
}

// queryTime is how long a terminal may take to reply. Every terminal that replies at all replies to the second query, so only the
// silent ones cost this time.
const queryTime = time.Second

// The queries: the colour of the background (OSC 11), and what the terminal is (DA1).
const (
	queryBackground = "\x1b]11;?\x1b\\"
	queryKind       = "\x1b[c"
)

// queryTerminal returns what the terminal has replied within the time.
func queryTerminal(in, out *os.File, within time.Duration) string {
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
	if _, err := out.WriteString(queryBackground + queryKind); err != nil {
		return ""
	}
	reply, part := "", make([]byte, 256)
	for len(reply) < 4096 {
		n, err := reader.Read(part)
		reply += string(part[:n])
		// The reply to the second query is ESC [ ? numbers c.
		_, kind, begun := strings.Cut(reply, "\x1b[?")
		if err != nil || begun && strings.HasPrefix(strings.TrimLeft(kind, "0123456789;"), "c") {
			break
		}
	}
	return reply
}

// parseDarkness reads a reply such as ESC ] 11 ; rgb:ffff/ffff/ffff ESC \.
func parseDarkness(reply string) (dark, known bool) {
	_, colour, ok := strings.Cut(reply, "\x1b]11;rgb")
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
