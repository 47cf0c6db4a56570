package api

import (
	"slices"
	"strings"
)

// Closest returns the candidate that was probably meant by a word, or "". One letter of a short word may be wrong, two
// of a longer one.
func Closest(word string, candidates []string) string {
	if slices.Contains(candidates, word) {
		return ""
	}
	best, bestDistance := "", 2
	if len(word) > 4 {
		bestDistance = 3
	}
	bestDistance = min(bestDistance, len(word))
	for _, candidate := range candidates {
		d := distance(strings.ToLower(word), strings.ToLower(candidate))
		if len(word) > 1 && strings.HasPrefix(candidate, word) ||
			swapped(strings.ToLower(word), strings.ToLower(candidate)) {
			d = 1
		}
		if d < bestDistance && d < len(candidate) {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// swapped reports whether the words differ by two adjacent letters in the wrong order.
func swapped(from, to string) bool {
	for i := range len(from) - 1 {
		if from[:i]+from[i+1:i+2]+from[i:i+1]+from[i+2:] == to {
			return true
		}
	}
	return false
}

// distance is the number of letters to insert, delete or replace (Levenshtein).
func distance(from, to string) int {
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(from) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(to) {
			cost := diagonal
			if from[i] != to[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(to)]
}
