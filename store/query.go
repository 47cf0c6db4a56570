package store

import (
	"math"
	"time"

	"example.com/perks/api"
)

// Window is the part of a list that one page shows.
type Window struct {
	Page    int64 // from 1
	PerPage int   // 1 to api.MaxPerPage
}

// Offset is how many items lie before the window. It does not overflow: a page beyond every list stays beyond.
func (w Window) Offset() int64 {
	per := int64(w.PerPage)
	if w.Page-1 > math.MaxInt64/per {
		return math.MaxInt64
	}
	return (w.Page - 1) * per
}

// Reach is a way to the items of a window: skip some, take some. From the end of the list they come in reverse.
type Reach struct {
	FromEnd    bool
	Skip, Take int64
}

// Reach is the shorter way to the window in a list of that many items. It takes nothing if the window is past the end.
func (w Window) Reach(total int64) Reach {
	skip := w.Offset()
	if skip >= total {
		return Reach{}
	}
	take := min(int64(w.PerPage), total-skip)
	if skip > total/2 {
		return Reach{FromEnd: true, Skip: total - skip - take, Take: take}
	}
	return Reach{Skip: skip, Take: take}
}

// List is the items of one window, never nil, and how many there are in all.
type List[T any] struct {
	Items []T
	Total int64
}

// PerkQuery says which perks, in which order, and which page of them. The zero values of the filters let everything
// through, but for IncludeExpired.
type PerkQuery struct {
	Text           string // every word of it prefix-matches a word of title, merchant_name or description
	Category       string // name or id, without regard to case
	City           string // without regard to case
	Near           *Circle
	IncludeExpired bool   // let perks through whose valid_to is not after At
	AvailableTo    string // a user: only perks in their dates, in stock, and not held by this user in a live redemption
	AnyUser        bool   // AvailableTo need not be known, and then holds no perk
	At             time.Time
	// Sort has fields of api.PerkSortFields; distance only with Near. Text is compared folded and by code point, nulls
	// come last in both directions, and the id, ascending, decides between equals.
	Sort   []api.SortKey
	Window Window
}

// OnlyValid tells whether perks that are over at At are left out.
func (q PerkQuery) OnlyValid() bool { return !q.IncludeExpired || q.AvailableTo != "" }

// OnlyBegun tells whether perks that have not begun at At are left out.
func (q PerkQuery) OnlyBegun() bool { return q.AvailableTo != "" }

// RedemptionQuery says which user's redemptions, in which order, and which page of them.
type RedemptionQuery struct {
	UserID  string
	AnyUser bool          // the user need not be known, and then has no redemptions
	Sort    []api.SortKey // fields of api.RedemptionSortFields; the id, ascending, decides between equals
	Window  Window
}

// Circle is an area on the earth. Perks without a position are in no circle.
type Circle struct {
	Lat, Lng float64 // degrees
	RadiusKM float64
}
