// Package endurance is tests alone: it proves that perk redeem --file does every row once, whatever ends the program, the
// network or the server in the middle of it. The program is perksctl as it is shipped. The servers are perksd's own, and one
// that is not ours: it has never heard of idempotency keys and makes a redemption of everything that it is sent.
//
// PERKS_ENDURANCE=long runs the tests that kill over as many rows as make endurance does; without it they are small.
package endurance
