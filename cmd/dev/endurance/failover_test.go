package endurance

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/perks/cmd/dev/programs"
)

// backWithin is how long redemptions may be refused when the primary is lost.
const backWithin = 15 * time.Second

// TestAFailoverLosesNothingThatWasAcknowledged has the primary die and the standby promoted, under people who redeem
// without a break.
func TestAFailoverLosesNothingThatWasAcknowledged(t *testing.T) {
	parallel(t)
	p := newPair(t)
	c := startLoad(t, p.installed, p.servers...)
	c.awaitReplies(200)
	died := time.Now()
	if err := p.primary.Kill(); err != nil {
		t.Fatal(err)
	}
	p.become(false, died)
	p.promote()
	p.isBack(c, died)
	p.become(true, died)
	c.awaitReplies(200)
	c.finish()
	c.check(p.installed)
}

// TestADemotedPrimaryIsLeft has the primary live on but refuse writes, as after a switch-over: connections to it work and
// lead nowhere.
func TestADemotedPrimaryIsLeft(t *testing.T) {
	parallel(t)
	p := newPair(t)
	c := startLoad(t, p.installed, p.servers...)
	c.awaitReplies(200)
	demoted := time.Now()
	execute(t, p.primary, `ALTER SYSTEM SET default_transaction_read_only = on`, `SELECT pg_reload_conf()`)
	p.become(false, demoted)
	p.promote()
	p.isBack(c, demoted)
	p.become(true, demoted)
	c.awaitReplies(200)
	c.finish()
	c.check(p.installed)
}

// isBack waits until somebody who comes now is served.
func (p *pair) isBack(c *load, since time.Time) {
	p.Helper()
	if err := c.redeemUntilReply(c.nextAttempt(), 0); err != nil {
		p.Fatal(err)
	}
	back := time.Since(since).Round(time.Millisecond)
	p.Logf("service was back after %s", back)
	if back > backWithin {
		p.Errorf("service was back after %s, want at most %s", back, backWithin)
	}
}

// TestWithoutItsStandbyNothingIsAcknowledged has the standby die: the primary waits for it, writes are answered with
// unavailable and reads as ever, and everything settles when it is back.
func TestWithoutItsStandbyNothingIsAcknowledged(t *testing.T) {
	parallel(t)
	p := newPair(t)
	c := startLoad(t, p.installed, p.servers...)
	c.awaitReplies(200)
	died := time.Now()
	if err := p.standby.Kill(); err != nil {
		t.Fatal(err)
	}
	p.become(false, died)
	acknowledged := c.replies.count()

	late := c.nextAttempt()
	told := make(chan error, 1)
	go func() {
		_, err := c.redeemer.redeem(p.servers[0].URL, late)
		told <- err
	}()
	p.readUntil(c.redeemer.token, func() bool {
		select {
		case err := <-told:
			if err == nil || !strings.Contains(err.Error(), `"code":"unavailable"`) {
				t.Errorf("a redemption while the standby is away: %v", err)
			}
			return true
		default:
			return false
		}
	})
	if now := c.replies.count(); now != acknowledged {
		t.Errorf("%d redemptions were acknowledged that no standby has", now-acknowledged)
	}

	if err := p.standby.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.become(true, time.Now())
	if err := c.redeemUntilReply(late, 1); err != nil {
		t.Error(err)
	}
	c.awaitReplies(200)
	c.finish()
	c.check(p.installed)
}

const (
	readWithin      = 2 * time.Second
	connectionsEach = 2 * 16 // of a server to PostgreSQL: two pools
)

// readUntil reads from both servers, and counts their connections, until the end has come.
func (p *pair) readUntil(token string, ended func() bool) {
	p.Helper()
	conn, err := pgx.Connect(p.Context(), p.primary.DSN("perks"))
	if err != nil {
		p.Fatal(err)
	}
	defer conn.Close(p.Context())
	slowest, most := time.Duration(0), 0
	eventually(p.T, atLast, "a write was answered while the standby was away", func() bool {
		for _, path := range []string{"/perks", "/perks/rush", "/perks/users/u-0000?type=redeemed"} {
			for _, s := range p.servers {
				begun := time.Now()
				if status := programs.StatusOf(p.T, s.URL+"/v2/partners"+path, token); status != http.StatusOK {
					p.Errorf("%s is answered %d", path, status)
				}
				slowest = max(slowest, time.Since(begun))
			}
		}
		var connections int
		if err := conn.QueryRow(p.Context(), `SELECT count(*) FROM pg_stat_activity WHERE application_name = 'perksd'`).Scan(&connections); err != nil {
			p.Fatal(err)
		}
		most = max(most, connections)
		return ended()
	})
	p.Logf("the slowest read took %s, and there were at most %d connections", slowest.Round(time.Millisecond), most)
	if slowest > readWithin {
		p.Errorf("a read took %s, want at most %s", slowest, readWithin)
	}
	if bound := len(p.servers) * connectionsEach; most > bound {
		p.Errorf("there were %d connections, want at most %d", most, bound)
	}
}
