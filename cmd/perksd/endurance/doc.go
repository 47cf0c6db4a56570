// Package endurance is tests alone: it proves what the real perksd holds out, such as crashes of its own and of its
// database, a failover, several replicas at once, and clients that are slow on purpose. Each test chooses its own
// databases.
package endurance
