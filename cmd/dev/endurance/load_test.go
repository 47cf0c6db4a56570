package endurance

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/perks/cmd/dev/programs"
)

// customers redeem the perk rush without a break, one after the other at each of several workers. Whoever gets no answer asks
// again under the same key, at the next server, until there is one.
type load struct {
	*testing.T
	servers  []*programs.Server
	redeemer *redeemer
	replies  *replies

	came    atomic.Int64
	stop    chan struct{}
	working sync.WaitGroup
}

const (
	loadWorkers = 8
	loadUsers   = 20_000                // more than come in the longest of the tests
	loadPace    = 10 * time.Millisecond // between two customers at one redeemer
	retryPace   = 50 * time.Millisecond
)

// startLoad has them come until leave.
func startLoad(t *testing.T, i *programs.Installation, servers ...*programs.Server) *load {
	t.Helper()
	i.ImportCSV("users", usersCSV(loadUsers))
	i.ImportCSV("perks", perkCSV("rush", loadUsers))
	c := &load{T: t, servers: servers, redeemer: newRedeemer(t, i.Token(servers[0].URL), 2*loadWorkers), replies: newReplies(), stop: make(chan struct{})}
	for n := range loadWorkers {
		c.working.Go(func() { c.work(n) })
	}
	return c
}

func (c *load) work(redeemer int) {
	pace := time.NewTicker(loadPace)
	defer pace.Stop()
	for {
		select {
		case <-c.stop:
			return
		case <-pace.C:
		}
		if err := c.redeemUntilReply(c.nextAttempt(), redeemer); err != nil {
			c.Error(err)
			return
		}
	}
}

// newcomer is an attempt of a user who has not come before.
func (c *load) nextAttempt() attempt {
	user := userNumber(int(c.came.Add(1)) - 1)
	return attempt{perk: "rush", user: user, key: "key-of-" + user}
}

// serve asks one server after the other, beginning with the one of that number, until there is an answer.
func (c *load) redeemUntilReply(a attempt, first int) error {
	pace := time.NewTicker(retryPace)
	defer pace.Stop()
	for try := first; ; try++ {
		answer, err := c.redeemer.redeem(c.servers[try%len(c.servers)].URL, a)
		if err == nil {
			return c.replies.record(a, answer)
		}
		<-pace.C
	}
}

// come waits until so many more have been served.
func (c *load) awaitReplies(more int) {
	c.Helper()
	target := c.replies.count() + more
	eventually(c.T, atLast, "more customers were served", func() bool { return c.replies.count() >= target })
}

// leave lets nobody come any more, and returns when all who came have an answer.
func (c *load) finish() {
	close(c.stop)
	c.working.Wait()
}

// check holds what all were told against the database: everyone who came has one redemption, the acknowledged one.
func (c *load) check(i *programs.Installation) {
	c.Helper()
	kept := i.Redemptions()
	c.replies.check(c.T, kept, loadUsers)
	if came := int(c.came.Load()); len(kept) != came || c.replies.count() != came {
		c.Errorf("%d customers came, %d redemptions were acknowledged, and %d are kept", came, c.replies.count(), len(kept))
	}
	c.replies.onlyRefused(c.T)
}
