//go:build ha

package endurance

import (
	"flag"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"example.com/perks/cmd/dev/programs"
)

var (
	haFor  = flag.Duration("ha.for", 90*time.Second, "for how long nodes fail, one after the other")
	haSeed = flag.Uint64("ha.seed", 1, "chooses the requests, the faults, the nodes and the times")
)

const (
	haPace = 8 * time.Millisecond // between two requests of all clients
	// haBackWithin is how long redemptions may wait for another primary: until its lease expires, and what comes after.
	haBackWithin = 60 * time.Second
	haLongest    = 25 * time.Second // of a fault; longer than the lease
	haQuiet      = 5 * time.Second  // between two faults, at most
)

// haFault is something that happens to a node, or to a server of perksd, and what it did to the service.
type haFault struct {
	kind, node  string
	from, until time.Duration // since the history began
	whole       time.Duration // until three nodes were at work again
	gap         time.Duration // the longest time without an acknowledged redemption
}

// TestAClusterLosesNothingWhileNodesFail runs three nodes of PostgreSQL with Patroni and etcd behind HAProxy, as deploy/ha configures them,
// and two servers of perksd. Nodes are killed, frozen, cut off and switched over while clients redeem, list and reject; then the whole
// history must have an order in which every response is correct.
func TestAClusterLosesNothingWhileNodesFail(t *testing.T) {
	cluster := startHA(t)
	i := programs.InstallOver(t, cluster.database())
	most := int(haFor.Seconds()/haPace.Seconds()) + 2*historyRequests
	h := newHistory(t, i, 2, most/historyRequests)
	h.databaseFails = true
	pace := time.NewTicker(haPace)
	defer pace.Stop()
	h.pace = pace.C
	wait := h.start(*haSeed)
	stop := sync.OnceFunc(func() { close(h.stop) })
	t.Cleanup(stop) // if the cluster does not recover

	random := rand.New(rand.NewPCG(*haSeed, 0))
	var faults []haFault
	var last string
	for time.Since(h.began) < *haFor {
		<-time.After(time.Second + time.Duration(random.Int64N(int64(haQuiet-time.Second))))
		f := cluster.chooseFault(h, random, last)
		last = f.kind
		faults = append(faults, f.run(h))
	}
	stop()
	wait()
	h.check()

	acknowledged := h.acknowledged()
	t.Logf("seed %d: %d redemptions were acknowledged", *haSeed, len(acknowledged))
	t.Logf("%-34s %-9s %9s %9s %9s", "fault", "node", "lasted", "no reply", "whole")
	var gaps []time.Duration
	for _, f := range faults {
		f.gap = longestGap(acknowledged, f.from, f.until+f.whole+steadyFor)
		gaps = append(gaps, f.gap)
		t.Logf("%-34s %-9s %8.1fs %8.1fs %8.1fs", f.kind, f.node, (f.until - f.from).Seconds(), f.gap.Seconds(), f.whole.Seconds())
		if f.gap > haBackWithin {
			t.Errorf("after %s of node %s nothing was acknowledged for %s, want at most %s", f.kind, f.node, f.gap, haBackWithin)
		}
	}
	slices.Sort(gaps)
	t.Logf("without service: median %.1f s, longest %.1f s", gaps[len(gaps)/2].Seconds(), gaps[len(gaps)-1].Seconds())
}

// planned is a fault that is about to happen.
type planned struct {
	kind, node string
	lasts      time.Duration
	begin, end func() error
	cluster    *haCluster
}

// chooseFault returns a fault of another kind than the last, mostly of the primary.
func (c *haCluster) chooseFault(h *history, random *rand.Rand, last string) planned {
	c.Helper()
	node, role := c.primary(), "primary"
	if random.IntN(4) == 0 {
		node, role = c.nodes[random.IntN(len(c.nodes))], "any"
	}
	lasts := time.Second + time.Duration(random.Int64N(int64(haLongest-time.Second)))
	nothing := func() error { return nil }
	faults := []planned{
		{"PostgreSQL is killed", node.name + " " + role, 0, node.killPostgres, nothing, c},
		{"all of the node is killed", node.name + " " + role, lasts, node.killAll, node.start, c},
		{"all of the node is frozen", node.name + " " + role, lasts, func() error { return node.signal("STOP") }, func() error { return node.signal("CONT") }, c},
		{"it is cut off from the other nodes", node.name + " " + role, lasts, func() error { return node.cutFromNodes(true) }, func() error { return node.cutFromNodes(false) }, c},
		{"it is cut off from everything", node.name + " " + role, lasts, func() error { return node.cutFromAll(true) }, func() error { return node.cutFromAll(false) }, c},
		{"a switch-over", c.primary().name, 0, c.switchOver, nothing, c},
		{"a server of perksd is killed", "-", 0, func() error { h.replicas[random.IntN(2)].crash(h.installed); return nil }, nothing, c},
	}
	for {
		if f := faults[random.IntN(len(faults))]; f.kind != last {
			return f
		}
	}
}

// run has the fault happen, and waits until the cluster is whole again.
func (p planned) run(h *history) haFault {
	h.Helper()
	f := haFault{kind: p.kind, node: p.node, from: time.Since(h.began)}
	if err := p.begin(); err != nil {
		h.Errorf("%s: %v", p.kind, err)
	}
	<-time.After(p.lasts)
	f.until = time.Since(h.began)
	if err := p.end(); err != nil {
		h.Errorf("the end of: %s: %v", p.kind, err)
	}
	p.cluster.awaitWhole()
	f.whole = time.Since(h.began) - f.until - steadyFor
	return f
}

// acknowledged returns when redemptions were acknowledged, in order.
func (h *history) acknowledged() (at []time.Duration) {
	for _, operations := range h.perks {
		for _, o := range operations {
			if got := o.Output.(response); o.Input.(request).verb == redeeming && got.outcome(o.Input.(request)) == outcomeMade {
				at = append(at, time.Duration(o.Return))
			}
		}
	}
	slices.Sort(at)
	return at
}

// longestGap is the longest time without any of the moments, of those times that meet the period.
func longestGap(moments []time.Duration, from, until time.Duration) (longest time.Duration) {
	for n := range len(moments) - 1 {
		if moments[n+1] >= from && moments[n] <= until {
			longest = max(longest, moments[n+1]-moments[n])
		}
	}
	return longest
}
