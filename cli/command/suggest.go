package command

import (
	"fmt"
	"strings"
)

// DidYouMean returns a sentence, with a blank before it, that names the candidate closest to the word, or "" if none is
// close.
func DidYouMean(word string, candidates []string) string {
	best, bestDistance := "", min(2, len(word)-1)+1
	for _, candidate := range candidates {
		d := distance(strings.ToLower(word), strings.ToLower(candidate))
		if len(word) > 1 && strings.HasPrefix(candidate, word) {
			d = 1
		}
		if d < bestDistance && d < len(candidate) {
			best, bestDistance = candidate, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" Did you mean %q?", best)
}

// distance counts the letters to insert, delete or replace to get from one word to the other (Levenshtein).
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
