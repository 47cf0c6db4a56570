package screen

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/theme"
	"example.com/perks/tui/widget"
)

// Fetch calls the service. It runs outside of Update, and must not touch the screen.
type Fetch[T any] func(ctx context.Context, c *client.Client) (T, error)

func (f Fetch[T]) with(ctx context.Context, c *client.Client) (value T, err error) {
	if c == nil {
		return value, &NotLoggedIn{Message: "Not logged in."}
	}
	return f(ctx, c)
}

// Loader loads something for a screen. The last value stays until there is another. A new load cancels the one before,
// and a late reply is dropped.
type Loader[T any] struct {
	Value T
	Has   bool      // Value was loaded
	At    time.Time // when
	Err   error     // of the last load; nil if it went well

	shell   *Shell
	fetch   Fetch[T]
	number  int // of the last load
	busy    bool
	cancel  context.CancelFunc
	request *request // under way; nil for one in the background
	unseen  bool
}

func NewLoader[T any](shell *Shell) *Loader[T] { return &Loader[T]{shell: shell} }

// NewBackgroundLoader makes a loader for what nobody waits for.
func NewBackgroundLoader[T any](shell *Shell) *Loader[T] {
	return &Loader[T]{shell: shell, unseen: true}
}

// Load starts to load, and cancels the load before.
func (l *Loader[T]) Load(fetch Fetch[T]) tea.Cmd {
	l.Cancel()
	l.fetch, l.busy = fetch, true
	return l.run()
}

// LoadAfter loads after a pause in which nothing else was asked for, such as while text is typed.
func (l *Loader[T]) LoadAfter(d time.Duration, fetch Fetch[T]) tea.Cmd {
	l.Cancel()
	l.fetch, l.busy = fetch, true
	return l.shell.After(d, pauseEnded{l, l.number})
}

// Again repeats the last load, if there was one.
func (l *Loader[T]) Again() tea.Cmd {
	if l.fetch == nil {
		return nil
	}
	return l.Load(l.fetch)
}

func (l *Loader[T]) Busy() bool { return l.busy }

func (l *Loader[T]) Cancel() {
	l.number++
	l.busy = false
	l.shell.ends(l.request)
	if l.cancel != nil {
		l.cancel()
		l.cancel = nil
	}
}

// Reset cancels the load, and forgets the value.
func (l *Loader[T]) Reset() {
	l.Cancel()
	*l = Loader[T]{shell: l.shell, number: l.number, unseen: l.unseen}
}

// Put sets the value as if it had been loaded now.
func (l *Loader[T]) Put(value T) { l.Value, l.Has, l.At, l.Err = value, true, l.shell.Now(), nil }

// Handle handles a message if it is of this loader. It returns the load that a pause delayed, and whether Value, Err or
// Busy changed.
func (l *Loader[T]) Handle(msg tea.Msg) (next tea.Cmd, changed bool) {
	switch msg := msg.(type) {
	case pauseEnded:
		if msg.loader == any(l) && msg.number == l.number {
			return l.run(), false
		}
	case loaded[T]:
		if msg.loader != l || msg.number != l.number {
			return nil, false
		}
		l.cancel()
		l.busy, l.Err = false, msg.err
		if msg.err == nil {
			l.Put(msg.value)
		}
		return nil, true
	}
	return nil, false
}

func (l *Loader[T]) run() tea.Cmd {
	ctx, cancel := context.WithCancel(context.Background()) // #nosec G118 -- Cancel calls it
	l.cancel = cancel
	if l.request = nil; !l.unseen {
		l.request = l.shell.begins()
	}
	number, fetch, c, request := l.number, l.fetch, l.shell.Account.Client, l.request
	return func() tea.Msg {
		value, err := fetch.with(ctx, c)
		return loaded[T]{l, number, value, err, ctx.Err() != nil, request}
	}
}

// pauseEnded says that the pause before a load has passed.
type pauseEnded struct {
	loader any
	number int
}

type loaded[T any] struct {
	loader  *Loader[T]
	number  int
	value   T
	err     error
	givenUp bool
	request *request
}

func (l loaded[T]) answers() *request { return l.request }

// Outcome tells the shell the result of the load. A cancelled load has none.
func (l loaded[T]) Outcome() (known bool, err error) {
	return !l.givenUp && !errors.Is(l.err, context.Canceled), l.err
}

// MayAskForLogin tells whether a login may cover the screen because of the reply: not if nobody waits for it, nor
// while a form is filled in, because it would get what is typed.
func (l loaded[T]) MayAskForLogin(typing bool) bool { return l.request != nil && !typing }

// Sender sends a change. It is never cancelled, and a second change is ignored while the first is under way.
type Sender[T any] struct {
	shell *Shell
	busy  bool
}

func NewSender[T any](shell *Shell) *Sender[T] { return &Sender[T]{shell: shell} }

func (s *Sender[T]) Send(change Fetch[T]) tea.Cmd {
	if s.busy {
		return nil
	}
	s.busy = true
	c, request := s.shell.Account.Client, s.shell.begins()
	return func() tea.Msg {
		value, err := change.with(context.Background(), c)
		return Sent[T]{value, err, s, request}
	}
}

func (s *Sender[T]) Busy() bool { return s.busy }

// Handle returns the result of the change if the message has it.
func (s *Sender[T]) Handle(msg tea.Msg) (Sent[T], bool) {
	sent, ok := msg.(Sent[T])
	if !ok || sent.sender != s || !s.busy {
		return Sent[T]{}, false
	}
	s.busy = false
	return sent, true
}

// Sent is the result of a change.
type Sent[T any] struct {
	Value T
	Err   error

	sender  *Sender[T]
	request *request
}

func (s Sent[T]) answers() *request { return s.request }

// Outcome tells the shell the result of the change.
func (s Sent[T]) Outcome() (known bool, err error) { return true, s.Err }

// MayAskForLogin tells whether a login may cover the screen because of the reply: the user has asked for the change.
func (s Sent[T]) MayAskForLogin(bool) bool { return true }

// Redeemed tells screens that a user redeemed a perk, which clears its mark.
type Redeemed struct{ PerkID, UserID string }

// Phase is whether a perk can be redeemed yet or still. As in the service, a perk is running from valid_from on, and
// expired from valid_to on.
type Phase int

// The phases.
const (
	Running Phase = iota
	NotStarted
	Expired
)

func PhaseOf(perk *api.Perk, now time.Time) Phase {
	switch {
	case perk.ValidTo != nil && !now.Before(*perk.ValidTo):
		return Expired
	case perk.ValidFrom != nil && now.Before(*perk.ValidFrom):
		return NotStarted
	}
	return Running
}

// clocksDiffer is how far the clocks of a service and a desk may be apart.
const clocksDiffer = 15 * time.Minute

// NotRedeemableReason says why the service would refuse to redeem a perk now; "" if it would not, or if its clock may
// decide otherwise.
func NotRedeemableReason(perk *api.Perk, now time.Time) string {
	switch PhaseOf(perk, now) {
	case Expired:
		if now.Sub(*perk.ValidTo) >= clocksDiffer {
			return "It " + display.Until(*perk.ValidTo, now) + "."
		}
	case NotStarted:
		if perk.ValidFrom.Sub(now) >= clocksDiffer {
			return "It starts " + display.In(*perk.ValidFrom, now) + "."
		}
	}
	return ""
}

// Valid says until when a perk can be redeemed, or from when: "129 days left", "ends in 2 days", "starts 8 Dec".
func Valid(perk *api.Perk, now time.Time) string {
	switch {
	case PhaseOf(perk, now) == NotStarted:
		return "starts " + display.SoonDay(*perk.ValidFrom, now)
	case perk.ValidTo == nil:
		return "no end"
	case EndsSoon(perk, now):
		return "ends " + display.In(*perk.ValidTo, now)
	}
	return display.Until(*perk.ValidTo, now)
}

// EndsSoon tells whether a running perk ends so soon that it stands out.
func EndsSoon(perk *api.Perk, now time.Time) bool {
	return PhaseOf(perk, now) == Running && perk.ValidTo != nil && perk.ValidTo.Sub(now) < 7*24*time.Hour
}

// ValidTone is how Valid is meant.
func ValidTone(perk *api.Perk, now time.Time) theme.Tone {
	switch phase := PhaseOf(perk, now); {
	case phase == Expired:
		return theme.Quiet
	case phase == NotStarted:
		return theme.Info
	case EndsSoon(perk, now):
		return theme.Warning
	case perk.ValidTo == nil:
		return theme.Quiet
	}
	return theme.Plain
}

// ShortenValid shortens a text of Valid for a narrow column.
func ShortenValid(text string) string {
	for _, word := range []string{"expired", "redeemed"} {
		if strings.HasPrefix(text, word+" ") {
			return word
		}
	}
	return strings.NewReplacer(" days", " d", " hours", " h", " minutes", " min").Replace(text)
}

// Column is a column of a list: how to draw it, the field to sort by, and the text of its cells.
type Column[T any] struct {
	widget.Column
	Sort string
	Cell func(T) string
	Tone func(T) theme.Tone // nil where all cells are alike
}

type Columns[T any] []Column[T]

// Drawn returns the columns for a table.
func (c Columns[T]) Drawn() []widget.Column {
	drawn := make([]widget.Column, len(c))
	for i := range c {
		drawn[i] = c[i].Column
	}
	return drawn
}

// Cells returns the cells of a row.
func (c Columns[T]) Cells(row T) []string {
	cells := make([]string, len(c))
	for i := range c {
		cells[i] = c[i].Cell(row)
	}
	return cells
}

// Tones returns the tones of the cells of a row; nil if all are plain.
func (c Columns[T]) Tones(row T) (tones []theme.Tone) {
	for i := range c {
		if c[i].Tone == nil {
			continue
		}
		if tones == nil {
			tones = make([]theme.Tone, len(c))
		}
		tones[i] = c[i].Tone(row)
	}
	return tones
}

// Sorted returns the column that a list is sorted by; -1 if none shows that.
func (c Columns[T]) Sorted(field string) int {
	return slices.IndexFunc(c, func(c Column[T]) bool { return c.Sort != "" && c.Sort == field })
}

// Optional returns an optional text of the service in one line; "" if there is none.
func Optional(text *string) string {
	if text == nil {
		return ""
	}
	return display.Line(*text)
}

// DefaultOrder is how a list of perks is sorted by default.
func DefaultOrder() api.SortKey { return api.SortKey{Field: "created_at", Desc: true} }

// order is a field that perks can be sorted by.
type order struct {
	field, name string // name is what it is called when one is chosen
	desc        bool   // people mean it at first
	up, down    string // the orders in words, of a text "" for "by title, A to Z"
}

// orders are the fields in the order in which they are offered, last those that need something.
var orders = []order{
	{field: "title", name: "Title"},
	{field: "category", name: "Category"},
	{field: "merchant_name", name: "Merchant"},
	{field: "city", name: "City"},
	{"valid_from", "When it begins", false, "beginning soonest first", "beginning last first"},
	{"valid_to", "When it ends", false, "ending soonest first", "ending last first"},
	{"created_at", "When it was added", true, "oldest first", "newest first"},
	{"updated_at", "When it was changed", true, "changed longest ago first", "changed last first"},
	{"redeemed_at", "When it was redeemed", true, "oldest first", "newest first"},
	{"price_pw", "Price per week", false, "cheapest first", "dearest first"},
	{"bedrooms", "Bedrooms", true, "fewest bedrooms first", "most bedrooms first"},
	{"propertyId", "Id", true, "by id, lowest first", "by id, highest first"},
	{api.SortDistance, "Distance", false, "nearest first", "farthest first"},
	{api.SortRelevance, "Relevance", false, "best matches first", "best matches last"},
}

// orderOf finds a field. One that is not offered, such as the text of a discount, is called by its name.
func orderOf(field string) order {
	if i := slices.IndexFunc(orders, func(o order) bool { return o.field == field }); i >= 0 {
		return orders[i]
	}
	name := strings.ReplaceAll(field, "_", " ")
	return order{field: field, name: strings.ToUpper(name[:min(1, len(name))]) + name[min(1, len(name)):]}
}

// OrderWords names an order: "newest first", "by title, Z to A".
func OrderWords(key api.SortKey) string {
	o := orderOf(key.Field)
	by := "by " + strings.ToLower(o.name)
	if key.Desc {
		return cmp.Or(o.down, by+", Z to A")
	}
	return cmp.Or(o.up, by+", A to Z")
}

// OrderMark is OrderWords with an arrow for the direction: "newest ↓", "title ↑".
func OrderMark(key api.SortKey) string {
	o, arrow := orderOf(key.Field), " ↑"
	words := o.up
	if key.Desc {
		words, arrow = o.down, " ↓"
	}
	if words = cmp.Or(words, strings.ToLower(o.name)); key.Field == api.SortRelevance {
		return words // no column has it
	}
	words, _, _ = strings.Cut(strings.TrimPrefix(words, "by "), ", ")
	return strings.TrimSuffix(words, " first") + arrow
}

// PerkOrders returns the fields to sort perks by, without those that need a position or words.
func PerkOrders() []string {
	return []string{"title", "category", "merchant_name", "city", "valid_from", "valid_to", "created_at", "updated_at"}
}

// FirstOrder returns the order that people mean at first by a field.
func FirstOrder(field string) api.SortKey {
	return api.SortKey{Field: field, Desc: orderOf(field).desc}
}

// PickOrder asks which field to sort perks by. The note, which may be nil, is added to the name of a field.
func PickOrder(fields []string, now api.SortKey, note func(field string) string, then func(api.SortKey) tea.Cmd) Pick {
	pick := Pick{Title: "Sort by", Then: func(index int) tea.Cmd {
		return then(FirstOrder(fields[index]))
	}}
	for i, field := range fields {
		name := orderOf(field).name
		if note != nil {
			name += note(field)
		}
		if field == now.Field {
			pick.Current = i
			name += " (now)"
		}
		pick.Options = append(pick.Options, name)
	}
	return pick
}

// IsLacking tells whether the service has no such address, or does not let the client use it: asking again would not
// help.
func IsLacking(err error) bool {
	refused, is := errors.AsType[*client.Error](err)
	return is && (refused.Unsupported || refused.Status == http.StatusForbidden)
}

// Explain says why a request failed, and what to do next.
func (s *Shell) Explain(err error) (what, next string) {
	retry := s.Key(actions.Refresh) + " retries."
	var missing *NotLoggedIn
	var unreachable *client.Unreachable
	var refused *client.Error
	switch {
	case errors.As(err, &missing):
		return display.Line(missing.Message), s.Key(actions.Login) + " logs in."
	case errors.As(err, &unreachable):
		return Sentence("", unreachable), retry + " It also reloads by itself."
	case !errors.As(err, &refused):
		return Sentence("", err), retry
	}
	what = Sentence("", refused)
	if refused.RequestID != "" && refused.Status >= http.StatusInternalServerError {
		what += " Request id: " + display.Line(refused.RequestID) + "."
	}
	switch {
	case refused.NotFromService:
		return what, "The reply may not be from the service. Check its address. " + retry
	case refused.LoginNeeded():
		return what, s.Key(actions.Login) + " logs in."
	case refused.Status == http.StatusForbidden:
		return what, s.Key(actions.Login) + " switches the profile."
	}
	return what, retry
}

// Age says when something was loaded that could not be loaded again: "Last loaded 5 min ago."
func (s *Shell) Age(loaded time.Time) string {
	return "Last loaded " + display.Age(s.Now().Sub(loaded)) + "."
}
