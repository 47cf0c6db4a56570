// Package cluster runs throwaway PostgreSQL servers for tests and benchmarks, from the installed programs.
//
// A server lives in a temporary folder of its own, listens on a socket in it and nowhere else, and is gone with its folder
// when the process that started it ends, even by kill -9. It can crash, recover, be followed by a synchronous standby and
// be reached through PgBouncer, so that a test can ask what happens then. The package knows nothing of what is kept in
// its databases.
package cluster
