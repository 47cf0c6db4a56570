package redeem

import (
	"context"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/tui/screen"
)

// lookUpTime is how long it may take to find out since when a user has a perk.
const lookUpTime = 10 * time.Second

// lookUpHolder reads which redemption stands in the way of an item.
func (s *Screen) lookUpHolder(i *item) tea.Cmd {
	if i.holder == nil {
		i.holder = screen.NewLoader[redemption](s.shell)
	}
	perkID, userID := i.PerkID, i.Request.UserID
	return i.holder.Load(func(ctx context.Context, c *client.Client) (redemption, error) {
		ctx, cancel := context.WithTimeout(ctx, lookUpTime)
		defer cancel()
		for page, err := range c.UserRedemptionPages(ctx, userID, client.ListOptions{PerPage: api.MaxPerPage}) {
			if err != nil {
				return redemption{}, err
			}
			for _, r := range page.Data {
				if r.PerkID == perkID && r.Status != api.StatusRejected {
					return redemption{r, true}, nil
				}
			}
		}
		return redemption{}, nil
	})
}

// takeHolders takes the end of such a reading.
func (s *Screen) takeHolders(msg tea.Msg) tea.Cmd {
	var cmds []tea.Cmd
	for _, i := range s.items() {
		if i.holder == nil {
			continue
		}
		next, changed := i.holder.Take(msg)
		if changed && i.holder.Has && i.holder.Value.found {
			s.seen[i.holder.Value.ID] = true
		}
		cmds = append(cmds, next)
	}
	return tea.Batch(cmds...)
}

// readAgain repeats what a screen that is loaded again should: it looks where the outcome is unknown, and never sends.
func (s *Screen) readAgain() tea.Cmd {
	if s.elsewhere() != "" || s.sender.Busy() {
		return nil
	}
	cmds := []tea.Cmd{s.settle()}
	for _, i := range s.items() {
		if i.holder != nil {
			cmds = append(cmds, i.holder.Again())
		}
	}
	return tea.Batch(cmds...)
}

func (s *Screen) remember(userID string) tea.Cmd {
	memory, profile := s.shell.Memory, s.home
	return func() tea.Msg {
		if err := memory.Remember(profile, "user", userID); err != nil {
			return screen.Toast{Kind: screen.Warning, Text: screen.Sentence("The user will not be among the recent ones: ", err)}
		}
		return nil
	}
}

// recentUsers is who was served last.
type recentUsers struct {
	of  *Screen
	ids []string
}

func (s *Screen) recall() tea.Cmd {
	memory, profile := s.shell.Memory, s.home
	return func() tea.Msg { return recentUsers{s, memory.Recent(profile, "user")} }
}

// pickUser lets one of the recent users be chosen into the form.
func (s *Screen) pickUser(recent recentUsers) tea.Cmd {
	if recent.of != s || s.Form() == nil {
		return nil
	}
	if len(recent.ids) == 0 {
		return screen.Tell(screen.Note, "No user was seen here yet.")
	}
	return s.shell.Post(screen.Pick{Title: "Recent users", Options: recent.ids, Then: func(index int) tea.Cmd {
		if s.Form() != nil {
			s.fields.Set(userField, recent.ids[index])
		}
		return nil
	}})
}

// copyID copies the id of a redemption, which is chosen where there are several.
func (s *Screen) copyID() tea.Cmd {
	var ids, options []string
	for _, i := range s.redemptions() {
		ids = append(ids, i.Redemption.ID)
		options = append(options, i.perk.Title+": "+i.Redemption.ID)
	}
	copied := func(index int) tea.Cmd {
		desktop, id := s.shell.Desktop, ids[index]
		return func() tea.Msg {
			if err := desktop.Copy(id); err != nil {
				return screen.Toast{Kind: screen.Failure, Text: screen.Sentence("The id was not copied: ", err)}
			}
			return screen.Toast{Kind: screen.Done, Text: "Copied the redemption's id " + id + "."}
		}
	}
	return s.choose("Copy the id of", options, copied)
}

// redemptions is the items that have come to a redemption.
func (s *Screen) redemptions() []*item {
	var known []*item
	for _, i := range s.items() {
		if i.Redemption.ID != "" {
			known = append(known, i)
		}
	}
	return known
}

func (s *Screen) openPerk() tea.Cmd {
	titles := make([]string, len(s.perks))
	for i, perk := range s.perks {
		titles[i] = perk.Title
	}
	return s.choose("Go to the perk", titles, func(index int) tea.Cmd {
		return s.shell.Open(screen.ToPerk{ID: s.perks[index].ID, Known: &s.perks[index]})
	})
}

// choose does with the only one, or asks which.
func (s *Screen) choose(title string, options []string, then func(index int) tea.Cmd) tea.Cmd {
	switch len(options) {
	case 0:
		return nil
	case 1:
		return then(0)
	}
	return s.shell.Post(screen.Pick{Title: title, Options: options, Then: then})
}
