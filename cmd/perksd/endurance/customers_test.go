package endurance

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/perks/cmd/dev/programs"
)

// customers redeem the perk rush without a break, one after the other at each of several tills. Whoever gets no answer asks
// again under the same key, at the next server, until there is one.
type customers struct {
	*testing.T
	servers []*programs.Server
	till    *till
	ledger  *ledger

	came    atomic.Int64
	stop    chan struct{}
	working sync.WaitGroup
}

const (
	customersAtOnce = 8
	manyCustomers   = 20_000                // more than come in the longest of the tests
	customerPace    = 10 * time.Millisecond // between two customers at one till
	retryPace       = 50 * time.Millisecond
)

// sendCustomers has them come until leave.
func sendCustomers(t *testing.T, i *programs.Installation, servers ...*programs.Server) *customers {
	t.Helper()
	i.ImportCSV("users", usersCSV(manyCustomers))
	i.ImportCSV("perks", perkCSV("rush", manyCustomers))
	c := &customers{T: t, servers: servers, till: newTill(t, i.Token(servers[0].URL), 2*customersAtOnce), ledger: newLedger(), stop: make(chan struct{})}
	for n := range customersAtOnce {
		c.working.Go(func() { c.workAt(n) })
	}
	return c
}

func (c *customers) workAt(till int) {
	pace := time.NewTicker(customerPace)
	defer pace.Stop()
	for {
		select {
		case <-c.stop:
			return
		case <-pace.C:
		}
		if err := c.serve(c.newcomer(), till); err != nil {
			c.Error(err)
			return
		}
	}
}

// newcomer is an attempt of a user who has not come before.
func (c *customers) newcomer() attempt {
	user := userNumber(int(c.came.Add(1)) - 1)
	return attempt{perk: "rush", user: user, key: "key-of-" + user}
}

// serve asks one server after the other, beginning with the one of that number, until there is an answer.
func (c *customers) serve(a attempt, first int) error {
	pace := time.NewTicker(retryPace)
	defer pace.Stop()
	for try := first; ; try++ {
		answer, err := c.till.redeem(c.servers[try%len(c.servers)].URL, a)
		if err == nil {
			return c.ledger.note(a, answer)
		}
		<-pace.C
	}
}

// come waits until so many more have been served.
func (c *customers) come(more int) {
	c.Helper()
	target := c.ledger.count() + more
	eventually(c.T, atLast, "more customers were served", func() bool { return c.ledger.count() >= target })
}

// leave lets nobody come any more, and returns when all who came have an answer.
func (c *customers) leave() {
	close(c.stop)
	c.working.Wait()
}

// check holds what all were told against the database: everyone who came has one redemption, the acknowledged one.
func (c *customers) check(i *programs.Installation) {
	c.Helper()
	kept := i.Redemptions()
	c.ledger.check(c.T, kept, manyCustomers)
	if came := int(c.came.Load()); len(kept) != came || c.ledger.count() != came {
		c.Errorf("%d customers came, %d redemptions were acknowledged, and %d are kept", came, c.ledger.count(), len(kept))
	}
	c.ledger.onlyRefused(c.T)
}
