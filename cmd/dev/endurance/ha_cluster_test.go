//go:build ha

package endurance

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	haDir      = "../../../deploy/ha"
	hubAddress = "10.20.0.1"
	wholeAfter = 2 * time.Minute // at most, with three nodes and no fault
	steadyFor  = 8 * time.Second // longer than two rounds of Patroni
)

// haCluster is three nodes, each in a network of its own, and HAProxy in the network of this process. All of them end
// with it: make ha runs it as the first process of a namespace.
type haCluster struct {
	*testing.T
	dir      string
	password string
	nodes    []*haNode
	client   *http.Client // of Patroni
	programs []*exec.Cmd
	planted  *strings.Replacer // changes its files for the worse
}

// haNode is a machine with etcd, Patroni and PostgreSQL.
type haNode struct {
	name, address string
	cluster       *haCluster
}

// startHA starts the nodes, waits until one is the primary and the others follow, and makes the database.
func startHA(t *testing.T) *haCluster {
	t.Helper()
	for _, program := range []string{"patroni", "etcd", "haproxy", "ip", "iptables", "setpriv", "openssl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("make ha needs %s: apt-get install patroni etcd-server haproxy iproute2 iptables openssl", program)
		}
	}
	dir, err := os.MkdirTemp("/tmp", "perks-ha-")
	if err != nil {
		t.Fatal(err)
	}
	c := &haCluster{T: t, dir: dir, password: rand.Text(), planted: plantedFault().files}
	t.Cleanup(func() {
		c.remove()
		if t.Failed() {
			t.Logf("the logs of the programs are in %s", dir)
			return
		}
		_ = os.RemoveAll(dir)
	})
	c.must("chown", "postgres:postgres", dir)
	c.must("sh", filepath.Join(haDir, "certificates.sh"), c.tls(), "a=10.20.0.11", "b=10.20.0.12", "c=10.20.0.13")
	c.client = c.patroniClient()
	c.must("ip", "link", "add", "perks", "type", "bridge")
	c.must("ip", "address", "add", hubAddress+"/24", "dev", "perks")
	c.must("ip", "link", "set", "perks", "up")
	for i, name := range []string{"a", "b", "c"} {
		n := &haNode{name: name, address: fmt.Sprintf("10.20.0.%d", 11+i), cluster: c}
		c.nodes = append(c.nodes, n)
		c.must("ip", "netns", "add", name)
		c.must("ip", "link", "add", "perks-"+name, "type", "veth", "peer", "name", "eth0", "netns", name)
		c.must("ip", "link", "set", "perks-"+name, "master", "perks", "up")
		c.must("ip", "-n", name, "address", "add", n.address+"/24", "dev", "eth0")
		c.must("ip", "-n", name, "link", "set", "eth0", "up")
		c.must("ip", "-n", name, "link", "set", "lo", "up")
	}
	c.must("mkdir", "-p", "/var/run/postgresql")
	for _, n := range c.nodes {
		if err := n.start(); err != nil {
			t.Fatal(err)
		}
	}
	proxy := c.configured("haproxy.cfg", dir, strings.NewReplacer("/etc/perks-ha", c.tls()))
	if err := c.launch("haproxy", nil, "haproxy", "-db", "-f", proxy); err != nil {
		t.Fatal(err)
	}
	c.awaitWhole()
	c.create()
	return c
}

// remove ends all programs and removes the networks, so that another cluster can be made in the same namespace.
func (c *haCluster) remove() {
	c.Helper()
	for _, n := range c.nodes {
		_ = n.signal("KILL")
	}
	for _, program := range c.programs {
		_ = program.Process.Kill() // it may have ended
		_ = program.Wait()
	}
	for _, n := range c.nodes {
		eventually(c.T, atLast, "the node "+n.name+" had no process", func() bool {
			_ = n.signal("KILL") // PostgreSQL's processes outlive the one that Patroni started
			left, err := exec.Command("ip", "netns", "pids", n.name).Output()
			return err != nil || len(left) == 0
		})
		_ = exec.Command("ip", "netns", "delete", n.name).Run()
		_ = exec.Command("ip", "link", "delete", "perks-"+n.name).Run() // it is gone when the namespace is
	}
	_ = exec.Command("ip", "link", "delete", "perks").Run()
}

func (c *haCluster) must(words ...string) {
	c.Helper()
	if output, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		c.Fatalf("%s: %v: %s", strings.Join(words, " "), err, output)
	}
}

// tls is the directory with the authority and the certificates.
func (c *haCluster) tls() string { return filepath.Join(c.dir, "certificates") }

// configured copies a file of haDir, as an operator would change it, and returns its path.
func (c *haCluster) configured(name, to string, change *strings.Replacer) string {
	c.Helper()
	text, err := os.ReadFile(filepath.Join(haDir, name))
	if err != nil {
		c.Fatal(err)
	}
	path := filepath.Join(to, name)
	content := change.Replace(c.planted.Replace(string(text)))
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		c.Fatal(err)
	}
	return path
}

// patroniClient is a client that knows the cluster's authority.
func (c *haCluster) patroniClient() *http.Client {
	c.Helper()
	authority, err := os.ReadFile(filepath.Join(c.tls(), "ca.crt"))
	if err != nil {
		c.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	return &http.Client{Timeout: 2 * time.Second, Transport: transport}
}

// launch starts a program whose output goes to a file in the cluster's directory.
func (c *haCluster) launch(name string, environment []string, words ...string) error {
	log, err := os.OpenFile(filepath.Join(c.dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8"}, environment...)
	if err := cmd.Start(); err != nil {
		return err
	}
	c.programs = append(c.programs, cmd)
	return nil
}

// start starts etcd and Patroni on the node, which starts PostgreSQL.
func (n *haNode) start() error {
	environment, err := n.environment()
	if err != nil {
		return err
	}
	// The nodes share their files, but not the directory of PostgreSQL's socket.
	as := []string{"ip", "netns", "exec", n.name, "sh", "-c",
		`mount --bind "$0" /var/run/postgresql && exec setpriv --reuid=postgres --regid=postgres --clear-groups "$@"`,
		filepath.Join(n.cluster.dir, n.name, "sockets")}
	configuration := n.cluster.configured("patroni.yml", n.home(), n.changes())
	return errors.Join(
		n.cluster.launch("etcd-"+n.name, environment, append(as, "etcd")...),
		n.cluster.launch("patroni-"+n.name, environment, append(as, "patroni", configuration)...))
}

func (n *haNode) home() string { return filepath.Join(n.cluster.dir, n.name) }

// changes are those that an operator makes to the files, and where this node has what the files name.
func (n *haNode) changes() *strings.Replacer {
	return strings.NewReplacer("change-me", n.cluster.password, "/var/lib", n.home(), "/etc/perks-ha", n.home()+"/tls")
}

// environment reads node.env, as an operator would change it for this node.
func (n *haNode) environment() ([]string, error) {
	text, err := os.ReadFile(filepath.Join(haDir, "node.env"))
	if err != nil {
		return nil, err
	}
	home, replace := n.home(), n.changes()
	var environment []string
	for line := range strings.Lines(string(text)) {
		name, value, isSetting := strings.Cut(strings.TrimSpace(line), "=")
		if !isSetting || strings.HasPrefix(name, "#") {
			continue
		}
		switch {
		case name == "PATRONI_NAME", name == "ETCD_NAME":
			value = n.name
		case name == "PATRONI_POSTGRESQL_BIN_DIR":
			found, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
			if len(found) == 0 {
				return nil, errors.New("make ha needs PostgreSQL's server in /usr/lib/postgresql")
			}
			value = slices.Max(found)
		case name != "ETCD_INITIAL_CLUSTER":
			value = strings.ReplaceAll(value, "10.20.0.11", n.address)
		}
		environment = append(environment, name+"="+replace.Replace(value))
	}
	dirs := []string{home, home + "/etcd", home + "/postgresql", home + "/sockets", home + "/tls"}
	n.cluster.must(append([]string{"install", "-d", "-o", "postgres"}, dirs...)...)
	made := n.cluster.tls() + "/"
	for as, file := range map[string]string{"ca.crt": "ca", "node.crt": n.name, "node.key": n.name} {
		n.cluster.must("install", "-o", "postgres", "-m", "0600", made+file+filepath.Ext(as), home+"/tls/"+as)
	}
	return environment, nil
}

// database is the address that perksd gets: HAProxy's.
func (c *haCluster) database() string { return c.dsn("perks", "perks") }

func (c *haCluster) dsn(user, database string) string {
	return fmt.Sprintf("postgres://%s:%s@127.0.0.1:5000/%s?%s", user, c.password, database, c.verified())
}

// verified are the parameters of an address that have the server's certificate verified.
func (c *haCluster) verified() string {
	return "sslmode=verify-full&sslrootcert=" + filepath.Join(c.tls(), "ca.crt")
}

// create runs create.sql, whose one variable is the password.
func (c *haCluster) create() {
	c.Helper()
	text, err := os.ReadFile(filepath.Join(haDir, "create.sql"))
	if err != nil {
		c.Fatal(err)
	}
	var conn *pgx.Conn
	eventually(c.T, atLast, "HAProxy led to the primary", func() bool {
		conn, err = pgx.Connect(c.Context(), c.dsn("postgres", "postgres"))
		return err == nil
	})
	defer conn.Close(context.Background())
	for statement := range strings.SplitSeq(strings.ReplaceAll(string(text), ":'password'", "'"+c.password+"'"),
		";\n") {
		if _, err := conn.Exec(c.Context(), statement); err != nil {
			c.Fatal(err)
		}
	}
}

// member is what Patroni says of a node.
type member struct {
	Name, Role, State string
	Lag               any
}

// members asks any of the nodes.
func (c *haCluster) members() []member {
	for _, n := range c.nodes {
		response, err := c.client.Get("https://" + n.address + ":8008/cluster")
		if err != nil {
			continue
		}
		var cluster struct{ Members []member }
		err = json.NewDecoder(response.Body).Decode(&cluster)
		if response.Body.Close(); err == nil && len(cluster.Members) > 0 {
			return cluster.Members
		}
	}
	return nil
}

// isWhole tells whether there are a primary, a standby that its commits wait for, and another standby.
func isWhole(members []member) bool {
	roles := map[string]int{}
	for _, m := range members {
		if m.State != "running" && m.State != "streaming" {
			return false
		}
		roles[m.Role]++
	}
	isSafe := roles["sync_standby"] == 1 || *haPlanted != "" // commits of a planted fault may wait for no standby
	return len(members) == 3 && roles["leader"] == 1 && isSafe
}

// awaitWhole waits until the cluster is whole and stays so for steadyFor, because Patroni notices a fault late.
func (c *haCluster) awaitWhole() {
	c.Helper()
	begun, poll := time.Now(), time.NewTicker(busyInterval)
	defer poll.Stop()
	for whole := begun; time.Since(whole) < steadyFor; <-poll.C {
		if isWhole(c.members()) {
			continue
		}
		if whole = time.Now(); time.Since(begun) > wholeAfter {
			c.Fatalf("the cluster is not whole after %s: %+v", wholeAfter, c.members())
		}
	}
}

// primary is the node that Patroni calls the leader.
func (c *haCluster) primary() *haNode {
	c.Helper()
	for _, m := range c.members() {
		if m.Role == "leader" {
			return c.nodes[slices.IndexFunc(c.nodes, func(n *haNode) bool { return n.name == m.Name })]
		}
	}
	c.Fatal("no node is the primary")
	return nil
}

// switchOver has Patroni make a standby the primary.
func (c *haCluster) switchOver() error {
	leader := c.primary()
	order := strings.NewReader(`{"leader":"` + leader.name + `"}`)
	address := "https://" + leader.address + ":8008/switchover"
	request, err := http.NewRequestWithContext(c.Context(), http.MethodPost, address, order)
	if err != nil {
		return err
	}
	request.SetBasicAuth("patroni", c.password)
	client := *c.client
	client.Timeout = 0 // it responds when another node is the primary
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("Patroni returned %s", response.Status)
	}
	return nil
}

// signal sends a signal to all processes of the node.
func (n *haNode) signal(name string) error {
	processes, err := exec.Command("ip", "netns", "pids", n.name).Output()
	if err != nil || len(strings.Fields(string(processes))) == 0 {
		return err
	}
	// some have just exited
	_ = exec.Command("kill", append([]string{"-" + name}, strings.Fields(string(processes))...)...).Run()
	return nil
}

func (n *haNode) killAll() error { return n.signal("KILL") }

// killPostgres kills PostgreSQL alone. Some of its processes may have just exited.
func (n *haNode) killPostgres() error {
	return exec.Command("ip", "netns", "exec", n.name, "sh", "-c", `kill -9 $(for p in $(ip netns pids "$1"); do
		case $(cat /proc/$p/comm) in postgres*) echo $p;; esac; done) || true`, "kill", n.name).Run()
}

// cutFromNodes cuts the node off from the other nodes. HAProxy still reaches it.
func (n *haNode) cutFromNodes(cut bool) error {
	do := "--append"
	if !cut {
		do = "--delete"
	}
	var err error
	for _, other := range n.cluster.nodes {
		if other == n {
			continue
		}
		for _, rule := range [][]string{{"INPUT", "--source"}, {"OUTPUT", "--destination"}} {
			err = errors.Join(err, exec.Command("ip", "netns", "exec", n.name, "iptables", "--wait", do, rule[0],
				rule[1], other.address, "--jump", "DROP").Run())
		}
	}
	return err
}

// cutFromAll pulls the node's cable.
func (n *haNode) cutFromAll(cut bool) error {
	state := "up"
	if cut {
		state = "down"
	}
	return exec.Command("ip", "link", "set", "perks-"+n.name, state).Run()
}
