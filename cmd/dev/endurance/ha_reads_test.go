//go:build ha

package endurance

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/perks/cmd/dev/programs"
)

const (
	haClients   = 8
	haReaders   = 8 // of each client, which may have a part of the connections at once
	haReadFor   = 8 * time.Second
	haUsers     = 1_000_000
	haNodeShare = 0.25 // of a processor, for PostgreSQL on each node
	haFaultsFor = 3 * time.Minute
)

// TestStandbysOfAClusterAreRead measures how many lists a second perksd returns with 0, 1 and 2 standbys to read from.
// PostgreSQL on each node has a share of a processor, so that it is what bounds them. Then nodes fail while clients
// redeem at one server and list at another: no list may lack what its client has redeemed, and no request may fail but
// for want of a primary.
func TestStandbysOfAClusterAreRead(t *testing.T) {
	cluster := startHA(t)
	i := programs.InstallOver(t, cluster.database())
	i.Must("", "demo-data", "--perks", "10000")
	i.ImportCSV("perks", perkCSV("rush", haUsers))
	i.ImportCSV("users", usersCSV(haUsers))

	cluster.limitPostgres()
	var before int64
	for standbys := range 3 {
		server := i.Start(cluster.readFrom(standbys)...)
		awaitStandbys(t, server, standbys)
		var tokens []string
		for range haClients {
			tokens = append(tokens, i.Token(server.URL))
		}
		reads := readsOf(t, server.URL, tokens)
		t.Logf("%d standbys: %.0f lists a second", standbys, float64(reads)/haReadFor.Seconds())
		if reads < before*5/4 {
			t.Errorf("%d standbys: %d lists, want a quarter more than the %d before", standbys, reads, before)
		}
		before = reads
		server.Terminate()
	}
	cluster.unlimitPostgres()

	servers := i.StartTogether(2, cluster.readFrom(3)...)
	redeemer := newRedeemer(t, i.Token(servers[0].URL), 2*loadWorkers)
	stop := make(chan struct{})
	end := sync.OnceFunc(func() { close(stop) })
	t.Cleanup(end)
	var pairs, missed, refused atomic.Int64
	var working sync.WaitGroup
	for worker := range loadWorkers {
		working.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				seen, err := redeemAndList(redeemer, servers[n%2].URL, servers[(n+1)%2].URL,
					userNumber(n*loadWorkers+worker), true)
				switch {
				case err != nil && strings.Contains(err.Error(), `"unavailable"`):
					refused.Add(1)
				case err != nil:
					t.Error(err)
					return
				case !seen:
					missed.Add(1)
				}
				pairs.Add(1)
			}
		})
	}
	h := &history{T: t, installed: i, began: time.Now()}
	random := rand.New(rand.NewPCG(*haSeed, 1))
	for last := ""; time.Since(h.began) < min(*haFor, haFaultsFor); {
		f := cluster.chooseFault(h, random, last)
		if last = f.kind; last == perksdKilled {
			continue // the history's own servers
		}
		f.run(h)
		t.Logf("after %s of node %s: %d pairs, of which %d missed their write and %d found no primary", f.kind, f.node,
			pairs.Load(), missed.Load(), refused.Load())
	}
	end()
	working.Wait()
	if missed.Load() > 0 {
		t.Errorf("%d of %d reads missed the write before them", missed.Load(), pairs.Load())
	}
}

// readFrom are the flags for a server that reads from that many standbys, or from all nodes if it is their number.
func (c *haCluster) readFrom(standbys int) []string {
	c.Helper()
	var hosts []string
	primary := c.primary()
	for _, n := range c.nodes {
		if (standbys == len(c.nodes) || n != primary) && len(hosts) < standbys {
			hosts = append(hosts, n.address)
		}
	}
	flags := []string{"--metrics-addr", "127.0.0.1:0"}
	if standbys == 0 {
		return flags
	}
	address := fmt.Sprintf("postgres://perks:%s@%s/perks?%s", c.password, strings.Join(hosts, ","), c.verified())
	return append(flags, "--read-database", address)
}

// readsOf counts the lists that a server returns to all clients within haReadFor.
func readsOf(t *testing.T, url string, tokens []string) int64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), haReadFor)
	defer cancel()
	var reads atomic.Int64
	var reading sync.WaitGroup
	var clients []*redeemer
	for _, token := range tokens {
		clients = append(clients, newRedeemer(t, token, haReaders))
	}
	for n := range haReaders * len(tokens) {
		r := clients[n%len(tokens)]
		reading.Go(func() {
			for ctx.Err() == nil {
				response, body, err := r.send(http.MethodGet, url+"/v2/partners/perks?sort=title", "", nil)
				if err != nil || response.StatusCode != http.StatusOK {
					t.Errorf("%v, %s", err, body)
					return
				}
				reads.Add(1)
			}
		})
	}
	reading.Wait()
	return reads.Load()
}

const cpuGroups = "/sys/fs/cgroup/cpu"

// limitPostgres gives PostgreSQL on each node haNodeShare of a processor.
func (c *haCluster) limitPostgres() {
	c.Helper()
	const period = 20_000 // µs
	for _, n := range c.nodes {
		group := filepath.Join(cpuGroups, "perks-"+n.name)
		c.must("mkdir", "-p", group)
		c.write(filepath.Join(group, "cpu.cfs_period_us"), fmt.Sprint(period))
		c.write(filepath.Join(group, "cpu.cfs_quota_us"), fmt.Sprint(int(period*haNodeShare)))
		n.postgresTo(group)
	}
}

func (c *haCluster) unlimitPostgres() {
	c.Helper()
	for _, n := range c.nodes {
		eventually(c.T, atLast, "no process was left in the group", func() bool { // PostgreSQL starts new ones
			n.postgresTo(cpuGroups)
			return os.Remove(filepath.Join(cpuGroups, "perks-"+n.name)) == nil
		})
	}
}

func (c *haCluster) write(path, text string) {
	c.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		c.Fatal(err)
	}
}

// postgresTo moves the node's processes of PostgreSQL to a control group.
func (n *haNode) postgresTo(group string) {
	n.cluster.Helper()
	processes, err := exec.Command("ip", "netns", "pids", n.name).Output()
	if err != nil {
		n.cluster.Fatal(err)
	}
	for _, process := range strings.Fields(string(processes)) {
		if name, err := os.ReadFile(filepath.Join("/proc", process, "comm")); err == nil &&
			strings.HasPrefix(string(name), "postgres") {
			_ = os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(process), 0o600) // it may have just exited
		}
	}
}
