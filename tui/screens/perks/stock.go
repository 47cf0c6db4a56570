package perks

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/api/operation"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/record"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// stockChange is a change of the stock of the perk that is shown. Each answer to its question has an idempotency key of
// its own. While it is unknown what became of one, nothing but that is sent.
type stockChange struct {
	operation.ChangingStock
	before api.PerkStock
	sender *screen.Sender[operation.ChangingStock]
}

func (s *stockChange) isInDoubt() bool {
	return s.State.IsDoubtful() && s.State != operation.Abandoned
}

// units is a number of units in words.
func units(n *int64) string {
	if n == nil {
		return "unlimited"
	}
	return display.Count(*n)
}

// stockText is the stock in words: "100, 37 held, 63 left".
func stockText(stock api.PerkStock) string {
	if stock.Left == nil {
		return fmt.Sprintf("unlimited, %s held", display.Count(stock.Held))
	}
	return fmt.Sprintf("%s, %s held, %s left", units(stock.Stock), display.Count(stock.Held), units(stock.Left))
}

// parseStock reads a change of the stock: "50" or "+50" adds, "-5" takes away, "=120" sets, as does "unlimited".
func parseStock(text string) (change api.StockChange, ok bool) {
	text = strings.TrimSpace(text)
	if strings.EqualFold(text, "unlimited") {
		return api.StockChange{Set: api.Some[*int64](nil)}, true
	}
	digits, sets := strings.CutPrefix(text, "=")
	n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
	switch {
	case err != nil, sets && n < 0, !sets && n == 0:
		return change, false
	case sets:
		return api.StockChange{Set: api.Some(&n)}, true
	}
	return api.StockChange{Add: api.Some(n)}, true
}

// stockAfter returns what a change would leave, or what is wrong with its text.
func stockAfter(stock api.PerkStock, text string) (change api.StockChange, after api.PerkStock, problem string) {
	change, ok := parseStock(text)
	if !ok {
		return change, after, "must be +50, -5, =120 or unlimited"
	}
	total, err := change.Apply(stock.Stock)
	if refused, is := errors.AsType[*api.Error](err); is && len(refused.Fields["add"]) > 0 {
		return change, after, strings.Join(refused.Fields["add"], ", ")
	}
	switch {
	case err != nil:
		return change, after, "The stock is unlimited: =120 sets it."
	case total != nil && *total < stock.Held:
		return change, after, display.Count(stock.Held) + " are held: the stock cannot be less."
	}
	return change, api.PerkRecord{Stock: total}.StockWith(stock.Held), ""
}

// askStock asks how the stock is to change, and then whether that is meant.
func (s *Detail) askStock() tea.Cmd {
	name, before := display.Line(s.perkTitle()), s.stock.Value
	return s.Shell.Post(screen.Prompt{
		Title: "Change the stock of " + name, Text: "Stock: " + stockText(before), Yes: "review",
		Field: widget.Field{Name: "stock", Label: "Change", Hint: "+50, -5, =120 or unlimited",
			Check: func(text string) string {
				_, _, problem := stockAfter(before, text)
				return problem
			}},
		Then: func(text string) tea.Cmd {
			change, after, _ := stockAfter(before, text)
			return s.Shell.Post(screen.Confirm{
				Title: "Change the stock of " + name + "?", Yes: "change it",
				Text: fmt.Sprintf("Stock: %s → %s\nLeft: %s → %s\nHeld: %s\nAt %s", units(before.Stock),
					units(after.Stock), units(before.Left), units(after.Left), display.Count(before.Held),
					s.Shell.Account.Profile.APIURL),
				Then: func() tea.Cmd {
					if s.change.isInDoubt() || s.change.sender.Busy() {
						return nil
					}
					s.change.before = before
					s.change.ChangingStock = operation.NewChangingStock(s.perkID(), change, s.Shell.NewID())
					return s.sendStock()
				},
			})
		},
	})
}

// sendStock changes the stock, or retries under the same idempotency key.
func (s *Detail) sendStock() tea.Cmd {
	s.Notes = nil
	changing := s.change.ChangingStock
	return s.change.sender.Send(func(ctx context.Context, c *client.Client) (operation.ChangingStock, error) {
		done := changing.Send(ctx, c)
		return done, done.Err
	})
}

func (s *Detail) handleStock(sent screen.Sent[operation.ChangingStock]) tea.Cmd {
	s.change.ChangingStock = sent.Value
	what, next := s.Shell.Explain(sent.Err)
	switch {
	case s.change.State == operation.Made:
		now := s.change.Result
		s.stock.Put(now)
		s.reads++
		was := units(s.change.before.Stock)
		text := fmt.Sprintf("Stock of %s: %s → %s. %s left.", display.Line(s.perkTitle()), was,
			units(now.Stock), display.Capital(units(now.Left)))
		if s.change.Earlier || s.change.Replayed {
			text += " A reply was lost; the service confirmed it."
		}
		return tea.Batch(screen.Tell(screen.Done, "%s", text), s.reload())
	case s.change.isInDoubt():
		s.Notes = record.Doubt(s.Shell, sent.Err, "it can't be changed twice", "may change it twice")
		return nil
	}
	s.Notes = []string{"The stock was not changed. " + what, next}
	return s.reload()
}

// stockOffers is what can be done about the stock.
func (s *Detail) stockOffers() []actions.Offer {
	if s.change.isInDoubt() && !s.change.sender.Busy() {
		return s.Offer(actions.Offer{ID: actions.Retry, Do: s.sendStock}, actions.Offer{ID: actions.StopChecking,
			Do: func() tea.Cmd {
				s.change.Attempt = s.change.GiveUp()
				s.Notes = []string{"The stock may have been changed. See what it is before you change it again."}
				return s.reload()
			}})
	}
	return s.Offer(actions.Offer{ID: actions.Stock, Why: s.whyNoStock(), Hint: "stock", Do: s.askStock})
}
