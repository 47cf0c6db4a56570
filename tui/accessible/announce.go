package accessible

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
)

// announced is what the user has heard already, so that only news is read out.
type announced struct {
	messages int // messages
	profile  string
	offline  bool
	location location
	lines    map[location][]string // the last text of each
	overlay  screen.Overlay
}

// location is a screen with its title, because one screen can show several things.
type location struct {
	screen screen.Screen
	title  string
}

// maxLocations is how many locations are remembered before all are dropped.
const maxLocations = 32

// say prints lines.
func (s *session) say(text string) {
	_, _ = fmt.Fprintln(s.out, text) // whether anybody listens shows in the input
}

// announce says what is new.
func (s *session) announce() {
	var news []string
	news, s.announced = s.news()
	s.sayLines(news)
}

// hasNews tells whether announce would say something.
func (s *session) hasNews() bool {
	news, _ := s.news()
	return len(news) > 0
}

// news returns what is new: messages, the location, and what the screen shows; and what has been announced then.
func (s *session) news() (news []string, now announced) {
	now = s.announced
	now.messages, news = s.app.MessagesSince(now.messages)
	if now.profile = s.profile(); now.profile != s.announced.profile && now.profile != "" {
		news = append(news, now.profile)
	}
	since, offline := s.app.Offline()
	if now.offline = offline; offline && !s.announced.offline {
		news = append(news, "Offline since "+since.Format("15:04:05")+": the service cannot be reached. Retrying.")
	}
	now.overlay = s.app.Overlay()
	if o := now.overlay; o != nil {
		if o != s.announced.overlay {
			news = append(news, o.Title())
			if o.Prompt() != "" {
				news = append(news, lines(o.AccessibleText())...)
			}
		}
		return news, now
	}
	top := s.app.Top()
	if top == nil || s.isFilling(top) {
		return news, now
	}
	now.location = location{top, display.Line(top.Title())}
	before, known := s.announced.lines[now.location]
	shown := textBesideForm(top)
	more := changes(shown, before)
	if now.location != s.announced.location {
		if len(more) > 0 && strings.HasSuffix(now.location.title, " "+more[0]) {
			more = more[1:] // the title says it
		}
		if len(more) == 0 || !strings.HasPrefix(more[0], now.location.title+" ") { // which says the title
			news = append(news, now.location.title+".")
		}
		if known && len(more) == 0 {
			news = append(news, "Unchanged; \"again\" repeats it.")
		}
	}
	if now.lines = maps.Clone(s.announced.lines); now.lines == nil || len(now.lines) >= maxLocations {
		now.lines = map[location][]string{}
	}
	now.lines[now.location] = shown
	return append(news, more...), now
}

// changes returns the changed lines if they are few, else all.
func changes(now, before []string) []string {
	news, gone := added(now, before), added(before, now)
	others := len(now) != len(before) && len(gone) > 0
	if len(news) > 0 && (others || len(news) > max(fewLines, len(now)/3)) {
		return now
	}
	return news
}

// fewLines is how many changed lines make sense without the rest.
const fewLines = 3

// isFilling tells whether the user is filling in a form of this screen: its changes are announced at the end.
func (s *session) isFilling(top screen.Screen) bool {
	return top == s.announced.location.screen && top.Form() != nil && top.Form() == s.formProgress.form &&
		!s.formProgress.sent
}

func (s *session) sayMessages() {
	var texts []string
	s.announced.messages, texts = s.app.MessagesSince(s.announced.messages)
	s.sayLines(texts)
}

// profile says who is logged in where.
func (s *session) profile() string {
	account := s.app.Shell().Account
	if account.Client == nil {
		return ""
	}
	kind := "Live"
	if account.Profile.Sandbox {
		kind = "Sandbox"
	}
	switch {
	case s.app.Shell().IsReadOnly():
		kind += ", read-only"
	case account.Profile.Protected:
		kind += ", protected"
	}
	return fmt.Sprintf("%s, as %s at %s.", kind, display.Line(account.Profile.ClientID),
		display.Line(account.Profile.APIURL))
}

func (s *session) sayLines(lines []string) {
	for _, line := range lines {
		s.say(line)
	}
}

// textBesideForm returns the text of a screen without the fields of an open form: they are asked one by one.
func textBesideForm(top screen.Screen) []string {
	all := lines(top.AccessibleText())
	form := top.Form()
	if form == nil {
		return all
	}
	return added(all, lines(form.AccessibleText()))
}

func lines(text string) []string {
	all := strings.Split(display.Text(text), "\n")
	return slices.DeleteFunc(all, func(line string) bool { return strings.TrimSpace(line) == "" })
}

// underCursor ends the line of the row under the cursor.
const underCursor = " Chosen."

// added returns the lines that are new. A row that only lost the cursor is not.
func added(now, before []string) []string {
	left := map[string]int{}
	for _, line := range before {
		left[strings.TrimSuffix(line, underCursor)]++
		if strings.HasSuffix(line, underCursor) {
			left[line]++
		}
	}
	var added []string
	for _, line := range now {
		if left[line] > 0 {
			left[line]--
			continue
		}
		added = append(added, line)
	}
	return added
}

// where names the location in short.
func (s *session) where() string {
	var parts []string
	if top := s.app.Top(); top != nil {
		parts = append(parts, display.Line(top.Title())+".")
	}
	if profile := s.profile(); profile != "" {
		parts = append(parts, profile)
	}
	if since, offline := s.app.Offline(); offline {
		parts = append(parts, "Offline since "+since.Format("15:04:05")+".")
	}
	return strings.Join(parts, " ")
}

// again says all of the screen.
func (s *session) again() {
	if top := s.app.Top(); top != nil {
		s.say(display.Line(top.Title()) + ".")
		s.sayLines(lines(top.AccessibleText()))
	}
}

// sayCommands lists commands, and why some cannot be done now.
func (s *session) sayCommands(offers []actions.Offer) {
	for _, offer := range offers {
		action := s.app.Shell().Keys.Action(offer.ID)
		line := action.Name
		if key := typedKey(action.Keys, s.hasRows()); key != "" {
			line += ", key " + key
		}
		if !offer.Enabled() {
			line += ". Not now: " + strings.TrimSuffix(display.Line(offer.Why), ".")
		}
		s.say(strings.TrimSuffix(line, ".") + ".")
	}
}

// typedKey returns a key of an action that prints, or else the name of another.
func typedKey(keys []string, numbersAreRows bool) string {
	first := ""
	for _, key := range keys {
		switch {
		case numbersAreRows && key >= "0" && key <= "9":
		case actions.Prints(key) && key != " ":
			return key
		case first == "" && key == " ":
			first = "space"
		case first == "":
			first = key
		}
	}
	return first
}

// fullScreenOnly is the actions that only the full screen needs.
var fullScreenOnly = []actions.ID{actions.Help, actions.Mouse, actions.Theme, actions.Suspend, actions.Editor}

// offers returns what can be done, each once.
func (s *session) offers() []actions.Offer {
	var offers []actions.Offer
	for _, offer := range s.app.Offers() {
		known := func(o actions.Offer) bool { return o.ID == offer.ID }
		if !slices.Contains(fullScreenOnly, offer.ID) && !slices.ContainsFunc(offers, known) {
			offers = append(offers, offer)
		}
	}
	return offers
}

// find returns the offers that a text means: by key, id or name, else those whose names begin with it, else those whose
// names contain it.
func find(keys *actions.Registry, offers []actions.Offer, text string) []actions.Offer {
	for _, offer := range offers {
		called := append([]string{string(offer.ID)}, keys.Action(offer.ID).Keys...)
		if slices.Contains(called, text) || text == "space" && slices.Contains(called, " ") {
			return []actions.Offer{offer}
		}
	}
	text = strings.ToLower(text)
	for _, fits := range []func(name string) bool{
		func(name string) bool { return name == text },
		func(name string) bool { return strings.HasPrefix(name, text) },
		func(name string) bool { return len(text) > 1 && strings.Contains(name, text) },
	} {
		found := slices.DeleteFunc(slices.Clone(offers), func(o actions.Offer) bool {
			return !slices.ContainsFunc(names(keys, o.ID), fits)
		})
		if len(found) > 0 {
			return found
		}
	}
	return nil
}

// names returns what an action is called: its name, the end of its id, and its hint in the footer.
func names(keys *actions.Registry, id actions.ID) []string {
	action := keys.Action(id)
	_, tail, _ := strings.Cut(string(id), ".")
	return []string{strings.ToLower(strings.TrimSuffix(action.Name, "…")), tail, cmp.Or(action.Hint, tail)}
}
