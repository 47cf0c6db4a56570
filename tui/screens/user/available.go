package user

import (
	"context"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/list"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/theme"
)

// available is the perks that a user can redeem. With +expired it is all perks, and each row says why it cannot be redeemed.
type available struct {
	*list.Perks
	shell    *screen.Shell
	id       string // of the user
	redeemed *redeemed
	answers  *list.Few[api.Eligibility] // of perks for which neither dates nor redemptions say no
}

func newAvailable(shell *screen.Shell, id string, redeemed *redeemed) *available {
	a := &available{shell: shell, id: id, redeemed: redeemed, answers: list.NewFew(shell, func(ctx context.Context, c *client.Client, perkID string) (api.Eligibility, error) {
		return c.Eligibility(ctx, perkID, id)
	})}
	a.Perks = list.NewPerks(shell, list.PerksOf{
		Called: func(f api.PerkFilter) string {
			if f.IncludeExpired {
				return "All perks"
			}
			return "Available"
		},
		None: display.Line(id) + " can redeem nothing now.",
		Elsewhere: func(typing bool) string {
			key := shell.Key(actions.Expired)
			switch {
			case a.all():
				return ""
			case typing:
				key = "+expired"
			}
			return key + " shows all perks, and why not."
		},
		Fetch: func(ctx context.Context, c *client.Client, options client.PerkListOptions) (api.Page[api.Perk], error) {
			if options.IncludeExpired {
				return c.Perks(ctx, options)
			}
			return c.UserPerks(ctx, id, options)
		},
		Valid: func(p *api.Perk) (string, theme.Tone) {
			if why := a.why(p); why != "" {
				return why, theme.Warning
			}
			return screen.Valid(p, shell.Now()), screen.ValidTone(p, shell.Now())
		},
	})
	return a
}

// all tells whether perks that the user cannot redeem are shown too.
func (a *available) all() bool { return a.Filter().IncludeExpired }

// why says what keeps the user from redeeming a perk, besides its dates; "" if nothing is known to.
func (a *available) why(p *api.Perk) string {
	if !a.all() {
		return ""
	}
	if r := a.redeemed.of(p.ID); r != nil {
		if r.Status == api.StatusPending {
			return "pending approval"
		}
		return "redeemed " + a.redeemed.when(r)
	}
	if code := a.answers.Known(p.ID).Code; code != nil && *code != api.CodePerkExpired && *code != api.CodePerkNotStarted {
		return strings.ReplaceAll(string(*code), "_", " ")
	}
	return ""
}

// askWhy asks about the visible perks of which it is not known whether the user can redeem them.
func (a *available) askWhy() tea.Cmd {
	if !a.all() || a.shell.Account.Client == nil {
		return nil
	}
	var ids []string
	for _, p := range a.Visible() {
		if screen.PhaseOf(&p, a.shell.Now()) == screen.Running && a.redeemed.of(p.ID) == nil {
			ids = append(ids, p.ID)
		}
	}
	return a.answers.Read(ids...)
}

// forget asks again what keeps the user from redeeming.
func (a *available) forget() { a.answers.Forget() }

func (a *available) Update(msg tea.Msg) tea.Cmd {
	if a.answers.Take(msg) {
		a.Redraw()
	}
	return a.Perks.Update(msg)
}

func (a *available) Close() {
	a.Perks.Close()
	a.answers.Cancel()
}

// offers are the actions, but for those that concern both lists.
func (a *available) offers() []actions.Offer {
	why, all := a.WhyNoRow(), "all perks"
	if current := a.Current(); current != nil {
		if why = screen.NotRedeemableReason(current, a.shell.Now()); why == "" {
			if why = a.why(current); why != "" {
				why = "Not for " + display.Line(a.id) + ": " + why + "."
			}
		}
	}
	if a.all() {
		all = "available"
	}
	return a.Perks.Offers(screen.Marks(a.Marked()).Offer(why), actions.EnabledUnless(actions.Expired, "").WithHint(all))
}

func (a *available) Do(id actions.ID) tea.Cmd {
	switch current := a.Current(); {
	case id == actions.Redeem:
		if current != nil && (screen.NotRedeemableReason(current, a.shell.Now()) != "" || a.why(current) != "") {
			current = nil
		}
		return screen.Marks(a.Marked()).Redeem(a.shell, a.Shown(), current, a.id)
	case id == actions.Open && a.TypedID() != "":
		return a.shell.Open(screen.ToPerk{ID: a.TypedID(), UserID: a.id})
	case id == actions.Submit && a.TypedID() != "":
		to := screen.ToPerk{ID: a.TypedID(), UserID: a.id}
		return tea.Batch(a.Perks.Do(id), a.shell.Open(to))
	case id == actions.Open && current != nil:
		return a.shell.Open(screen.ToPerk{ID: current.ID, Known: current, UserID: a.id})
	}
	return a.Perks.Do(id)
}
