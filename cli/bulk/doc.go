// Package bulk carries out one change for each row of a file, at night and with nobody watching: it resumes where an earlier
// run ended, however that ended, does no row twice, and writes one result per row.
//
// Three files lie beside each other. The input is only read. The results have a line for each row as it ends, and are all
// that a later run needs after one that ended in good order. The journal exists while a run is at work: it says which rows
// may have been sent, and one that is left over says so of a run that was killed.
//
// The package knows nothing of perks and properties: a Work gives the rows their meaning and talks to the service.
package bulk
