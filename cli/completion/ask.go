package completion

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"strconv"
	"time"

	"example.com/perks/api/client"
	"example.com/perks/cli/session"
)

// EnvTimeout names the variable that limits how long a completion takes, such as 1s.
const EnvTimeout = "PERKSCTL_COMPLETION_TIMEOUT"

const defaultLimit = 300 * time.Millisecond

// values asks the service for one completion.
type values struct {
	session  *session.Session
	deadline time.Time
	now      func() time.Time
}

func newValues(s *session.Session) *values {
	limit, err := time.ParseDuration(s.Env(EnvTimeout))
	if err != nil || limit <= 0 {
		limit = defaultLimit
	}
	return &values{session: s, deadline: time.Now().Add(limit), now: time.Now}
}

// reply is the service's reply to a question.
type reply struct {
	At    time.Time `json:"at"`
	Items []item    `json:"items"`
	All   bool      `json:"all"` // there are no other items
}

// fresh is how long a cached reply is used without asking again: whoever presses TAB at every letter asks once.
const fresh = time.Minute

// ask returns a fresh reply from the cache, a new one, or, if that does not come in time, an old one. It returns none
// if nobody is logged in, and never an error: there is nowhere to show one.
func (v *values) ask(from source, word string) reply {
	s := v.session
	connection, err := s.Connection()
	if err != nil {
		return reply{}
	}
	if location, _, err := s.SecretLocation(connection); !connection.HasToken() && (err != nil || location == "") {
		return reply{} // there is neither a token nor a secret
	}
	question := from.name + " " + word
	replies := repliesOf(s, connection)
	old, _ := replies.Load(question)
	if age := v.now().Sub(old.At); age >= 0 && age < fresh {
		return old
	}
	fetched, err := v.inTime(from, word)
	var refused *client.Error
	switch {
	case errors.As(err, &refused) && (refused.LoginNeeded() || refused.Status == http.StatusForbidden):
		return reply{}
	case err != nil:
		return old
	}
	fetched.At = v.now()
	replies.Save(question, fetched)
	return fetched
}

// inTime returns at the deadline even if the source does not reply, as when a keyring hangs.
func (v *values) inTime(from source, word string) (reply, error) {
	ctx, cancel := context.WithDeadline(context.Background(), v.deadline)
	defer cancel()
	done := make(chan func() (reply, error), 1)
	go func() {
		var r reply
		c, _, err := v.session.Connect()
		if err == nil {
			r, err = from.ask(ctx, c, word)
		}
		done <- func() (reply, error) { return r, err }
	}()
	select {
	case result := <-done:
		return result()
	case <-ctx.Done():
		return reply{}, ctx.Err()
	}
}

// repliesOf returns the replies that one client got at an address, live or in the sandbox, by their questions.
func repliesOf(s *session.Session, c session.Connection) session.Store[reply] {
	dir, err := s.Dir()
	if err != nil {
		return session.Store[reply]{}
	}
	sandbox := strconv.FormatBool(c.Sandbox)
	key := session.HashOf(c.ProfileName, c.APIURL, c.ClientID, s.Env(session.EnvToken), sandbox)
	return session.Store[reply]{Dir: filepath.Join(dir, "cache", "completion-"+key), Most: 32}
}
