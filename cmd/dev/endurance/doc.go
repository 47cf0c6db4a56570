// Package endurance kills and starves the real programs under load. It is tests alone.
//
// perksd goes through crashes of its own and of its database, a failover, several replicas at once, full disks, lost files,
// and clients that are slow on purpose. Where any database will do, PERKS_TEST_DATABASE names it; all other tests bring
// their own.
//
// perksctl perk redeem --file does every row once, whatever ends the program, the network or the server in the middle of it.
// Its servers are perksd's own, and one that is not ours: it has never heard of idempotency keys and makes a redemption of
// everything that it is sent. These tests are in the files whose names begin with bulk.
//
// PERKS_ENDURANCE=long runs the killing tests with as many rows as make endurance does; without it they are small.
package endurance
