package command

import "strings"

// needsNoQuotes are the characters that mean nothing to a shell.
const needsNoQuotes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-"

// Quote writes a command line that a POSIX shell reads back as these words.
func Quote(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		if word == "" || strings.Trim(word, needsNoQuotes) != "" {
			word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		quoted[i] = word
	}
	return strings.Join(quoted, " ")
}
