package api

// The bounds of a page.
const (
	DefaultPerPage = 25
	MaxPerPage     = 100
	MaxPage        = 1 << 62 // no list has as many
)

// Page is one page of a list: the body of every paginated response.
type Page[T any] struct {
	Data []T      `json:"data"` // never nil on the wire
	Meta PageMeta `json:"meta"`
}

// PageMeta places a page in its list. TotalPages is 0 when the list is empty.
type PageMeta struct {
	Page       int64 `json:"page"` // from 1
	PerPage    int   `json:"per_page"`
	Total      int64 `json:"total"`
	TotalPages int64 `json:"total_pages"`
}

// NewPageMeta works out the number of pages.
func NewPageMeta(page int64, perPage int, total int64) PageMeta {
	pages := total / int64(perPage)
	if total%int64(perPage) > 0 {
		pages++
	}
	return PageMeta{Page: page, PerPage: perPage, Total: total, TotalPages: pages}
}
