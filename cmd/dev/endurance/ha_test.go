//go:build ha

package endurance

import (
	"context"
	"flag"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/perks/cmd/dev/programs"
)

var (
	haFor  = flag.Duration("ha.for", 90*time.Second, "for how long nodes fail, one after the other")
	haSeed = flag.Uint64("ha.seed", 1, "chooses the requests, the faults, the nodes and the times")
	// The short form has faults in an order instead, of which each lasts for longer than the lease.
	haShort   = flag.Bool("ha.short", false, "have each of the gravest faults once, whatever -ha.for says")
	haPlanted = flag.String("ha.planted", "", "the name of a planted fault that the test has to find")
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

const (
	longerThanTheLease = 30 * time.Second
	haShortest         = 4 * time.Minute // at most of the short form
)

// haPlan is what happens in the short form: the kinds of faults, all of the primary, and how long each lasts.
var haPlan = []struct {
	kind  string
	lasts time.Duration
}{
	{cutFromNodes, longerThanTheLease},
	{nodeFrozen, longerThanTheLease},
	{nodeKilled, 5 * time.Second},
	{switchOver, 0},
}

// haPlant is a mistake in the set-up, or in the data, that has to be found when a fault happens to the primary.
type haPlant struct {
	files   *strings.Replacer // changes what deploy/ha configures
	byHand  string            // is executed in the database while clients redeem
	becomes string            // the fault that shows it
}

var haPlants = map[string]haPlant{
	"commits wait for no standby": {
		files:   strings.NewReplacer("synchronous_mode: true", "synchronous_mode: false"),
		becomes: cutFromNodes,
	},
	"a lost redemption": {
		byHand: `ALTER TABLE redemptions DISABLE TRIGGER redemptions_stay;
			DELETE FROM redemptions WHERE id = (SELECT id FROM redemptions ORDER BY redeemed_at LIMIT 1)`,
		becomes: switchOver,
	},
	"more stock than there is": {
		byHand:  `UPDATE perk_stock SET stock = stock + 1 WHERE stock IS NOT NULL`,
		becomes: switchOver,
	},
	"forgotten idempotency keys": {byHand: `DELETE FROM idempotency_keys`, becomes: switchOver},
}

// plantedFault is the one of -ha.planted, or one that changes nothing.
func plantedFault() haPlant {
	plant := haPlants[*haPlanted]
	if plant.files == nil {
		plant.files = strings.NewReplacer()
	}
	return plant
}

// TestPlantedFaultsOfAClusterAreFound runs the other test, which has to fail.
func TestPlantedFaultsOfAClusterAreFound(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(haPlants)) {
		t.Run(name, func(t *testing.T) {
			output, err := exec.Command(os.Args[0], "-test.run", "^TestAClusterLosesNothingWhileNodesFail$",
				"-ha.short", "-ha.planted", name).CombinedOutput()
			if err == nil || !strings.Contains(string(output), contradicting) {
				t.Errorf("it is not found: %v\n%s", err, output)
			}
		})
	}
}

// TestAClusterLosesNothingWhileNodesFail runs three nodes of PostgreSQL with Patroni and etcd behind HAProxy, as
// deploy/ha configures them, and two servers of perksd. Nodes are killed, frozen, cut off and switched over while
// clients redeem, list and reject; then the whole history must have an order in which every response is correct.
func TestAClusterLosesNothingWhileNodesFail(t *testing.T) {
	cluster := startHA(t)
	i := programs.InstallOver(t, cluster.database())
	most := int(max(*haFor, haShortest).Seconds()/haPace.Seconds()) + 2*historyRequests
	h := newHistory(t, i, 2, most/historyRequests)
	h.databaseFails = true
	pace := time.NewTicker(haPace)
	defer pace.Stop()
	h.pace = pace.C
	wait := h.start(*haSeed)
	stop := sync.OnceFunc(func() { close(h.stop) })
	t.Cleanup(stop) // if the cluster does not recover

	var faults []haFault
	if *haShort {
		faults = cluster.runPlan(h)
	} else {
		faults = cluster.runRandom(h)
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
		t.Logf("%-34s %-9s %8.1fs %8.1fs %8.1fs", f.kind, f.node, (f.until - f.from).Seconds(), f.gap.Seconds(),
			f.whole.Seconds())
		if f.gap > haBackWithin {
			t.Errorf("after %s of node %s nothing was acknowledged for %s, want at most %s", f.kind, f.node, f.gap,
				haBackWithin)
		}
	}
	slices.Sort(gaps)
	t.Logf("without service: median %.1f s, longest %.1f s", gaps[len(gaps)/2].Seconds(), gaps[len(gaps)-1].Seconds())
}

// runRandom has one fault after the other.
func (c *haCluster) runRandom(h *history) (faults []haFault) {
	c.Helper()
	random := rand.New(rand.NewPCG(*haSeed, 0))
	var last string
	for time.Since(h.began) < *haFor {
		<-time.After(time.Second + time.Duration(random.Int64N(int64(haQuiet-time.Second))))
		f := c.chooseFault(h, random, last)
		last = f.kind
		faults = append(faults, f.run(h))
	}
	return faults
}

// runPlan has the faults of haPlan, or the one that shows the planted fault.
func (c *haCluster) runPlan(h *history) (faults []haFault) {
	c.Helper()
	plant := plantedFault()
	for _, next := range haPlan {
		if *haPlanted != "" && plant.becomes != next.kind {
			continue
		}
		<-time.After(haQuiet)
		if plant.byHand != "" {
			c.execute(plant.byHand)
		}
		f := c.faults(h, 0, c.primary(), "primary", next.lasts)[next.kind]
		faults = append(faults, f.run(h))
	}
	return faults
}

// execute changes the database by hand.
func (c *haCluster) execute(text string) {
	c.Helper()
	conn, err := pgx.Connect(c.Context(), c.dsn("postgres", "perks"))
	if err != nil {
		c.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(c.Context(), text); err != nil {
		c.Fatal(err)
	}
}

// The kinds of faults.
const (
	postgresKilled = "PostgreSQL is killed"
	nodeKilled     = "all of the node is killed"
	nodeFrozen     = "all of the node is frozen"
	cutFromNodes   = "it is cut off from the other nodes"
	cutFromAll     = "it is cut off from everything"
	switchOver     = "a switch-over"
	perksdKilled   = "a server of perksd is killed"
)

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
	faults := c.faults(h, random.IntN(2), node, role, lasts)
	kinds := slices.Sorted(maps.Keys(faults))
	for {
		if kind := kinds[random.IntN(len(kinds))]; kind != last {
			return faults[kind]
		}
	}
}

// faults are all that may happen, by their kinds, to one of the servers of perksd and to a node.
func (c *haCluster) faults(
	h *history, server int, node *haNode, role string, lasts time.Duration,
) map[string]planned {
	nothing := func() error { return nil }
	all := map[string]planned{}
	add := func(kind, node string, lasts time.Duration, begin, end func() error) {
		all[kind] = planned{kind, node, lasts, begin, end, c}
	}
	where := node.name + " " + role
	add(postgresKilled, where, 0, node.killPostgres, nothing)
	add(nodeKilled, where, lasts, node.killAll, node.start)
	add(nodeFrozen, where, lasts, func() error { return node.signal("STOP") },
		func() error { return node.signal("CONT") })
	add(cutFromNodes, where, lasts, func() error { return node.cutFromNodes(true) },
		func() error { return node.cutFromNodes(false) })
	add(cutFromAll, where, lasts, func() error { return node.cutFromAll(true) },
		func() error { return node.cutFromAll(false) })
	add(switchOver, c.primary().name, 0, c.switchOver, nothing)
	add(perksdKilled, "-", 0, func() error { h.replicas[server].crash(h.installed); return nil }, nothing)
	return all
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
			if got := o.Output.(response); o.Input.(request).verb == redeeming &&
				got.outcome(o.Input.(request)) == outcomeMade {
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
