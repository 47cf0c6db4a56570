// Package sqlite keeps the service's data in one SQLite file.
//
// It knows SQL and SQLite's ways (one writer, WAL, busy files) and keeps them to itself: what leaves it is store's
// records and errors. It knows nothing of HTTP.
package sqlite
