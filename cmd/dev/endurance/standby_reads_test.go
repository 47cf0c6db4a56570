package endurance

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"example.com/perks/api"
	"example.com/perks/cmd/dev/programs"
)

// readingPair starts two servers that read from the pair's standby, which shows each commit so much later than the
// primary.
func readingPair(t *testing.T, delay string, users int) (*pair, []*programs.Server) {
	t.Helper()
	p := newPair(t)
	servers := p.installed.StartTogether(2, "--metrics-addr", "127.0.0.1:0", "--read-database",
		bothAddresses(p.primary, p.standby))
	p.installed.ImportCSV("perks", perkCSV("rush", users))
	p.installed.ImportCSV("users", usersCSV(users))
	p.delay(delay)
	for _, s := range servers {
		awaitStandbys(t, s, 1)
	}
	return p, servers
}

var standbyRead = regexp.MustCompile(`perks_database_standby_read\{.*\} 1\n`)

// awaitStandbys waits until the server reads from that many.
func awaitStandbys(t *testing.T, s *programs.Server, standbys int) {
	t.Helper()
	url := s.MetricsURL(t)
	eventually(t, atLast, "the server read from standbys", func() bool {
		return len(standbyRead.FindAllString(metricsAt(t, url), -1)) == standbys
	})
}

// metricsAt reads the page of metrics.
func metricsAt(t *testing.T, url string) string {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// delay makes the standby show each commit so much later than the primary.
func (p *pair) delay(by string) {
	p.Helper()
	execute(p.T, p.standby, fmt.Sprintf(`ALTER SYSTEM SET recovery_min_apply_delay = '%s'`, by),
		`SELECT pg_reload_conf()`)
}

// TestAClientReadsItsOwnWritesFromStandbys redeems and lists the user's redemptions, again and again. The list has the
// redemption if the same server is asked, or if another one gets the position of the write. Otherwise it often has not:
// the reads do come from the standby.
func TestAClientReadsItsOwnWritesFromStandbys(t *testing.T) {
	parallel(t)
	pairs := 2_000
	if isLong() {
		pairs = 100_000
	}
	const control = 200
	p, servers := readingPair(t, "20ms", control+2*pairs)
	r := newRedeemer(t, p.installed.Token(servers[0].URL), 2*loadWorkers)
	user := 0
	for _, test := range []struct {
		name         string
		delay        string
		readAt       int // which server after that of the write
		withPosition bool
		pairs        int
		misses       bool
	}{
		{"another server, without the position", "20ms", 1, false, control, true},
		{"another server, with the position, far behind", "20ms", 1, true, pairs / 4, false},
		{"another server, with the position", "0", 1, true, pairs, false},
		{"the same server, far behind", "20ms", 0, false, pairs / 4, false},
		{"the same server", "0", 0, false, pairs / 2, false},
	} {
		p.delay(test.delay)
		before := scansOf(t, p, "redemptions")
		missed := readAfterWriting(t, r, user, test.pairs, func(n int) (write, read string) {
			return servers[n%2].URL, servers[(n+test.readAt)%2].URL
		}, test.withPosition)
		user += test.pairs
		t.Logf("%s: %d of %d reads missed the write before them; the standby searched redemptions %d times", test.name,
			missed, test.pairs, scansOf(t, p, "redemptions")-before)
		if missed > 0 != test.misses {
			t.Errorf("%s: %d of %d reads missed the write before them, want any: %t", test.name, missed, test.pairs,
				test.misses)
		}
	}
}

// readAfterWriting returns how many reads missed the write before them.
func readAfterWriting(t *testing.T, r *redeemer, firstUser, pairs int, at func(n int) (write, read string),
	withPosition bool) (missed int64) {
	t.Helper()
	var next, misses atomic.Int64
	var working sync.WaitGroup
	for range loadWorkers {
		working.Go(func() {
			for n := int(next.Add(1)); n <= pairs; n = int(next.Add(1)) {
				write, read := at(n)
				seen, err := redeemAndList(r, write, read, userNumber(firstUser+n-1), withPosition)
				if err != nil {
					t.Error(err)
					return
				}
				if !seen {
					misses.Add(1)
				}
			}
		})
	}
	working.Wait()
	return misses.Load()
}

// redeemAndList reports whether the list has what the user has just redeemed.
func redeemAndList(r *redeemer, write, read, user string, withPosition bool) (seen bool, err error) {
	response, body, err := r.send(http.MethodPost, write+"/v2/partners/perks/rush/redeem",
		fmt.Sprintf(`{"user_id":%q}`, user), nil)
	if err != nil || response.StatusCode != http.StatusCreated {
		return false, fmt.Errorf("redeeming for %s: %w, %s", user, err, body)
	}
	header := map[string]string{}
	if withPosition {
		header["X-Position"] = response.Header.Get("X-Position")
	}
	response, body, err = r.send(http.MethodGet, read+"/v2/partners/perks/users/"+user+"?type=redeemed", "", header)
	var list struct {
		Data []api.Redemption `json:"data"`
	}
	if err == nil {
		err = json.Unmarshal(body, &list)
	}
	if err != nil || response.StatusCode != http.StatusOK {
		return false, fmt.Errorf("listing for %s: %w, %s", user, err, body)
	}
	return len(list.Data) == 1, nil
}

// scansOf is how often the standby has searched an index of the table.
func scansOf(t *testing.T, p *pair, table string) (scans int64) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), p.standby.DSN("perks"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if err := conn.QueryRow(t.Context(), `SELECT idx_scan FROM pg_stat_user_tables WHERE relname = $1`,
		table).Scan(&scans); err != nil {
		t.Fatal(err)
	}
	return scans
}

// TestPerksctlReadsWhatTheCommandBeforeHasWritten has one server for writes and another for reads behind one address.
// The standby is two seconds behind, longer than a command takes.
func TestPerksctlReadsWhatTheCommandBeforeHasWritten(t *testing.T) {
	parallel(t)
	const commands = 5
	p, servers := readingPair(t, "2s", commands)
	program, err := perksctl()
	if err != nil {
		t.Fatal(err)
	}
	balancer := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		to := servers[0].URL
		if r.In.Method == http.MethodGet {
			to = servers[1].URL
		}
		address, err := url.Parse(to)
		if err != nil {
			t.Error(err)
		}
		r.SetURL(address)
	}})
	t.Cleanup(balancer.Close)
	environment := append(os.Environ(), "PERKSCTL_API_URL="+balancer.URL+"/v2",
		"PERKSCTL_TOKEN="+p.installed.Token(servers[0].URL), "PERKSCTL_CONFIG_DIR="+t.TempDir())
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(program, args...)
		cmd.Env = environment
		output, err := programs.Output(cmd)
		if err != nil {
			t.Fatal(err)
		}
		return output
	}
	for n := range commands {
		user := userNumber(n)
		run("perk", "redeem", "rush", "--user", user)
		if list := run("user", "perks", user, "--type", "redeemed", "--output", "json"); !strings.Contains(list,
			`"rush"`) {
			t.Errorf("after redeeming for %s, its redemptions are %s", user, list)
		}
	}
}
