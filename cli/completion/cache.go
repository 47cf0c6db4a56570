package completion

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
)

const (
	// fresh is how long an answer is given again without asking. Whoever presses TAB at every letter asks once.
	fresh = time.Minute
	// maxAnswers bounds the file.
	maxAnswers = 32
)

// cache is the answers that were given on one connection: to a client, at an address, live or in the sandbox.
type cache struct {
	path    string
	Answers map[string]answer `json:"answers"` // by their questions
}

// loadCache returns an empty cache if there is none that can be read.
func loadCache(s *session.Session, c session.Connection) *cache {
	kept := &cache{path: cachePath(s, c)}
	if text, err := command.ReadPrivate(kept.path); err != nil || json.Unmarshal(text, kept) != nil || kept.Answers == nil {
		kept.Answers = map[string]answer{}
	}
	return kept
}

// keep writes an answer down for later completions. That it cannot be written is nobody's trouble.
func (c *cache) keep(question string, a answer) {
	c.Answers[question] = a
	for len(c.Answers) > maxAnswers {
		oldest := question
		for other, answer := range c.Answers {
			if answer.At.Before(c.Answers[oldest].At) {
				oldest = other
			}
		}
		delete(c.Answers, oldest)
	}
	if text, err := json.Marshal(c); err == nil && c.path != "" {
		_ = command.WritePrivate(c.path, text)
	}
}

// cachePath is "" where there is no place to keep anything.
func cachePath(s *session.Session, c session.Connection) string {
	file, err := s.Config()
	if err != nil {
		return ""
	}
	key := []string{c.Profile, c.APIURL, c.ClientID, s.Env(session.EnvToken), strconv.FormatBool(c.Sandbox)}
	sum := sha256.Sum256([]byte(strings.Join(key, "\x00")))
	return filepath.Join(filepath.Dir(string(file)), "cache", "completion-"+hex.EncodeToString(sum[:16])+".json")
}
