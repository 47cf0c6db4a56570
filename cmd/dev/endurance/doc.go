// Package endurance kills and starves the real programs under load. It is tests alone.
//
// perksd goes through crashes of its own and of its database, a failover, several replicas at once, full disks, lost
// files, and clients that are slow on purpose. Where any database will do, PERKS_TEST_DATABASE names it; all other
// tests bring their own.
//
// While perksd and its database are killed, clients redeem, list and reject. A checker of linearizability then searches
// for an order of these requests in which every response is correct, also to requests whose replies were lost. A
// failure prints the first response that contradicts the others, and writes the history to a page for a browser. These
// tests are in the files whose names begin with history.
//
// While many redeem perks and perksd is killed, others change the stock: nothing is oversold, no unit is lost, and the
// audit log has each change once. These tests are in stock_test.go.
//
// perksctl perk redeem --file does every row once, whatever ends the program, the network or the server in the middle
// of it. Its servers are perksd's own, and one that is not ours: it has never heard of idempotency keys and makes a
// redemption of everything that it is sent. These tests are in the files whose names begin with bulk.
//
// PERKS_ENDURANCE=long runs the killing tests with as many rows as make endurance does; without it they are small.
package endurance
