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
