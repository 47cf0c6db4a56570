// Package postgres keeps everything in a PostgreSQL database, shared by as many processes as wanted. SQL is written here
// by hand and stays here: callers see package store.
//
// Nothing that another process must know is kept in memory, but for short-lived copies that say how fresh they are. It
// speaks to the database through pgx, prepared statements or not, so that a pooler may stand between.
//
// It must not know HTTP, who is calling, or how the program is configured.
package postgres
