// Package endurance is tests alone: it proves what the real perksd holds out, such as crashes of its own and of its
// database, a failover, several replicas at once, and clients that are slow on purpose. Where any database will do,
// PERKS_TEST_DATABASE names it; all other tests bring their own.
package endurance
