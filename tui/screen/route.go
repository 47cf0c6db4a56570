package screen

import (
	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
)

// Route is a way to a screen. Screens name routes, not each other.
type Route interface{ route() }

// The routes.
type (
	// ToPerks shows the list of perks.
	ToPerks struct{}
	// ToPerk shows a perk. Known may hold it as a list has shown it; it is read again anyway. UserID is for whom it is looked
	// at, if for somebody.
	ToPerk struct {
		ID     string
		Known  *api.Perk
		UserID string
	}
	// ToRedeem redeems perks for one user. UserID may be empty.
	ToRedeem struct {
		Perks  []api.Perk
		UserID string
	}
	// ToUser shows what a user can redeem and has redeemed, the latter first if it is asked for.
	ToUser struct {
		ID       string
		Redeemed bool
	}
	// ToProperty shows a property; with ID 0 it asks which.
	ToProperty struct{ ID int64 }
	// ToLogin logs in, or switches the profile.
	ToLogin struct{}
)

func (ToPerks) route()    {}
func (ToPerk) route()     {}
func (ToRedeem) route()   {}
func (ToUser) route()     {}
func (ToProperty) route() {}
func (ToLogin) route()    {}

// Go opens a screen on top of the present one; with Instead it takes its place.
type Go struct {
	To      Route
	Instead bool
}

// Back closes the present screen without asking. With From it does so only while that is the screen on top: for those that
// close by themselves, by when a person may have gone on to another.
type Back struct{ From Screen }

// Send is the command that sends a message.
func Send(msg tea.Msg) tea.Cmd { return func() tea.Msg { return msg } }
