package endurance

import (
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/cmd/dev/programs"
	"example.com/perks/store/storetest"
)

// In each round every one of its users redeems twice at once, and a server is killed meanwhile. The stock lasts until the
// last round.
const (
	killRounds    = 20
	usersPerRound = 100
	killStock     = killRounds*usersPerRound - usersPerRound/2
	workersAtOnce = 16
)

func TestNothingAcknowledgedIsLostInTwentyKillsOverSQLite(t *testing.T) {
	parallel(t)
	killRepeatedly(t, programs.InstallOver(t, "sqlite:"+filepath.Join(t.TempDir(), "perks.db")), 1)
}

func TestNothingAcknowledgedIsLostInTwentyKillsOfTwoReplicas(t *testing.T) {
	parallel(t)
	killRepeatedly(t, programs.InstallOver(t, storetest.PostgresDatabase(t)), 2)
}

// killTest redeems while servers are killed.
type killTest struct {
	*testing.T
	installed *programs.Installation
	servers   []*programs.Server
	redeemer  *redeemer
	replies   *replies
	random    *rand.Rand
}

func killRepeatedly(t *testing.T, i *programs.Installation, servers int) {
	i.ImportCSV("users", usersCSV(killRounds*usersPerRound))
	i.ImportCSV("perks", perkCSV("rush", killStock))
	k := &killTest{T: t, installed: i, servers: i.StartTogether(servers), replies: newReplies(), random: rand.New(rand.NewPCG(1, 2))}
	k.redeemer = newRedeemer(t, i.Token(k.servers[0].URL), workersAtOnce)

	events := followEvents(t, k.redeemer.token, k.servers)

	unknown := 0
	for round := range killRounds {
		victim := round % servers
		unreplied := k.redeemAndKill(victim, k.attempts(round))
		k.servers[victim] = i.Start()
		events.move(k.servers)
		stored := i.Redemptions()
		k.replies.check(t, stored, killStock)
		k.retry(unreplied)
		unknown += len(unreplied)
	}
	stored := i.Redemptions()
	k.replies.check(t, stored, killStock)
	if len(stored) != killStock {
		t.Errorf("finally %d redemptions are stored, want the whole stock of %d", len(stored), killStock)
	}
	events.check(stored)
	k.replies.onlyRefused(t, api.CodeAlreadyRedeemed, api.CodeSoldOut)
	if unknown < killRounds {
		t.Errorf("only %d attempts in %d rounds were without a reply: the servers were killed too late", unknown, killRounds)
	}
	t.Logf("%d kills left %d of %d attempts without a reply", killRounds, unknown, 2*killRounds*usersPerRound)
	for _, server := range k.servers {
		server.Terminate()
	}
}

// attempts returns a round's attempts: two for each user, every second user with one key, the others without.
func (k *killTest) attempts(round int) []attempt {
	var list []attempt
	for n := range usersPerRound {
		a := attempt{perk: "rush", user: userNumber(round*usersPerRound + n)}
		if n%2 == 0 {
			a.key = "key-of-" + a.user
		}
		list = append(list, a, a)
	}
	k.random.Shuffle(len(list), func(a, b int) { list[a], list[b] = list[b], list[a] })
	return list
}

// redeemAndKill sends the attempts to all servers and kills one at a random moment. It returns those without a reply.
func (k *killTest) redeemAndKill(victim int, attempts []attempt) (unreplied []attempt) {
	k.Helper()
	repliesBefore := int64(1 + k.random.IntN(usersPerRound*3/2))
	delay := time.Duration(k.random.IntN(int(2 * time.Millisecond)))
	killed := make(chan struct{})
	var replied atomic.Int64
	k.sendAll(attempts, func(a attempt, _ reply, err error) {
		if replied.Add(1) == repliesBefore {
			time.AfterFunc(delay, func() { defer close(killed); k.servers[victim].Kill() })
		}
		if err != nil {
			unreplied = append(unreplied, a)
		}
	})
	<-killed
	return unreplied
}

// retry sends attempts whose outcome is unknown. The reply for a user whose redemption was made is that redemption, under
// its key, or a refusal.
func (k *killTest) retry(attempts []attempt) {
	k.Helper()
	before := map[string]string{}
	for _, r := range k.installed.Redemptions() {
		before[r.UserID] = r.ID
	}
	k.sendAll(attempts, func(a attempt, answer reply, err error) {
		made := before[a.user]
		right := made == "" || a.key == "" && answer.code == api.CodeAlreadyRedeemed || a.key != "" && answer.made.ID == made && answer.replayed
		switch {
		case err != nil:
			k.Errorf("%+v, retried at running servers: %v", a, err)
		case !right:
			k.Errorf("%+v, whose redemption is %s, got %+v", a, made, answer)
		}
	})
}

// sendAll sends the attempts from several workers at once, round-robin to the servers, and records the replies.
func (k *killTest) sendAll(attempts []attempt, then func(attempt, reply, error)) {
	k.Helper()
	type job struct {
		attempt
		url string
	}
	jobs := make(chan job)
	var workers sync.WaitGroup
	var answered sync.Mutex
	for range workersAtOnce {
		workers.Go(func() {
			for j := range jobs {
				answer, err := k.redeemer.redeem(j.url, j.attempt)
				if err == nil {
					if err := k.replies.record(j.attempt, answer); err != nil {
						k.Error(err)
					}
				}
				answered.Lock()
				then(j.attempt, answer, err)
				answered.Unlock()
			}
		})
	}
	for n, a := range attempts {
		jobs <- job{a, k.servers[n%len(k.servers)].URL}
	}
	close(jobs)
	workers.Wait()
}
