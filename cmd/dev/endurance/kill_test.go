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

// In each round more users come, each at two workers at once, and a server is killed among them. The stock lasts until the
// last round.
const (
	killRounds    = 20
	usersPerRound = 100
	killStock     = killRounds*usersPerRound - usersPerRound/2
	workersAtOnce = 16
)

func TestNothingAcknowledgedIsLostInTwentyKillsOverSQLite(t *testing.T) {
	parallel(t)
	killAgainAndAgain(t, programs.InstallOver(t, "sqlite:"+filepath.Join(t.TempDir(), "perks.db")), 1)
}

func TestNothingAcknowledgedIsLostInTwentyKillsOfTwoReplicas(t *testing.T) {
	parallel(t)
	killAgainAndAgain(t, programs.InstallOver(t, storetest.PostgresDatabase(t)), 2)
}

// killTest is a rush during which servers die.
type killTest struct {
	*testing.T
	installed *programs.Installation
	servers   []*programs.Server
	redeemer  *redeemer
	replies   *replies
	random    *rand.Rand
}

func killAgainAndAgain(t *testing.T, i *programs.Installation, servers int) {
	i.ImportCSV("users", usersCSV(killRounds*usersPerRound))
	i.ImportCSV("perks", perkCSV("rush", killStock))
	k := &killTest{T: t, installed: i, servers: i.StartTogether(servers), replies: newReplies(), random: rand.New(rand.NewPCG(1, 2))}
	k.redeemer = newRedeemer(t, i.Token(k.servers[0].URL), workersAtOnce)

	open := 0
	for round := range killRounds {
		victim := round % servers
		unanswered := k.redeemAndKill(victim, k.attempts(round))
		k.servers[victim] = i.Start()
		kept := i.Redemptions()
		k.replies.check(t, kept, killStock)
		k.sendAgain(unanswered)
		open += len(unanswered)
	}
	kept := i.Redemptions()
	k.replies.check(t, kept, killStock)
	if len(kept) != killStock {
		t.Errorf("in the end %d redemptions are kept, want the whole stock of %d", len(kept), killStock)
	}
	k.replies.onlyRefused(t, api.CodeAlreadyRedeemed, api.CodeSoldOut)
	if open < killRounds {
		t.Errorf("only %d attempts in %d rounds were without an answer: the servers were killed too late", open, killRounds)
	}
	t.Logf("%d kills left %d of %d attempts without an answer", killRounds, open, 2*killRounds*usersPerRound)
	for _, server := range k.servers {
		server.Terminate()
	}
}

// attempts are those of a round's users: of every second one twice under one key, of the others twice without a key.
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

// redeemAndKill sends the attempts to all servers and kills one at a random moment. It returns what went without an answer.
func (k *killTest) redeemAndKill(victim int, attempts []attempt) (unanswered []attempt) {
	k.Helper()
	answersBefore := int64(1 + k.random.IntN(usersPerRound*3/2))
	breath := time.Duration(k.random.IntN(int(2 * time.Millisecond)))
	killed := make(chan struct{})
	var answers atomic.Int64
	k.sendAll(attempts, func(a attempt, _ reply, err error) {
		if answers.Add(1) == answersBefore {
			time.AfterFunc(breath, func() { defer close(killed); k.servers[victim].Kill() })
		}
		if err != nil {
			unanswered = append(unanswered, a)
		}
	})
	<-killed
	return unanswered
}

// sendAgain sends attempts whose outcome is unknown. Whose redemption is kept is told so: under a key by the first answer,
// else by a refusal.
func (k *killTest) sendAgain(attempts []attempt) {
	k.Helper()
	before := map[string]string{}
	for _, k := range k.installed.Redemptions() {
		before[k.UserID] = k.ID
	}
	k.sendAll(attempts, func(a attempt, answer reply, err error) {
		made := before[a.user]
		right := made == "" || a.key == "" && answer.code == api.CodeAlreadyRedeemed || a.key != "" && answer.made.ID == made && answer.replayed
		switch {
		case err != nil:
			k.Errorf("%+v, sent again to servers that run: %v", a, err)
		case !right:
			k.Errorf("%+v, of whom redemption %s is kept, was answered %+v", a, made, answer)
		}
	})
}

// sendAll sends the attempts from several workers at once, to the servers in turn, and keeps the answers.
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
