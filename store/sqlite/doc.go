// Package sqlite keeps the service's data in one SQLite file.
//
// It knows SQL and SQLite's ways (one writer, WAL, busy files) and keeps them to itself: what leaves it is store's
// records and errors. It knows nothing of HTTP.
//
// Writes go through the writer, one goroutine that commits what many callers wait for; reads go through views, which
// never wait for it. A list of perks is a search: search.go says which, order.go in which order, list.go which page, and
// totals.go how many.
package sqlite
