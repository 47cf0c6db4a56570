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

// available is the perks that a user can redeem. With +expired it is all perks, and each row says why it cannot be
// redeemed.
type available struct {
	*list.Perks
	shell    *screen.Shell
	id       string // of the user
	redeemed *redeemed
	answers  *list.Lookup[api.Eligibility] // of perks for which neither dates nor redemptions say no
}

func newAvailable(shell *screen.Shell, id string, redeemed *redeemed) *available {
	a := &available{shell: shell, id: id, redeemed: redeemed}
	a.answers = list.NewLookup(shell, func(ctx context.Context, c *client.Client, perkID string) (api.Eligibility,
		error) {
		return c.Eligibility(ctx, perkID, id)
	})
	a.Perks = list.NewPerks(shell, list.PerksOf{
		UserID: id,
		WhyNot: func(p *api.Perk) string {
			if why := a.why(p); why != "" {
				return "Not for " + display.Line(id) + ": " + why + "."
			}
			return ""
		},
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
		File: id + "-perks",
		Pages: func(
			c *client.Client, ctx context.Context, filter api.PerkFilter, options client.ListOptions,
		) client.Pages[api.Perk] {
			if filter.IncludeExpired {
				return c.PerkPages(ctx, filter, options)
			}
			return c.UserPerkPages(ctx, id, filter, options)
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
		return "redeemed " + a.shell.When(r.RedeemedAt)
	}
	if code := a.answers.Known(p.ID).Code; code != nil && *code != api.CodePerkExpired &&
		*code != api.CodePerkNotStarted {
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
