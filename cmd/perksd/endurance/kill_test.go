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

// In each round more users come, each at two tills at once, and a server is killed among them. The stock lasts until the
// last round.
const (
	killRounds    = 20
	usersPerRound = 100
	killStock     = killRounds*usersPerRound - usersPerRound/2
	tillsAtOnce   = 16
)

func TestNothingAcknowledgedIsLostInTwentyKillsOverSQLite(t *testing.T) {
	t.Parallel()
	killAgainAndAgain(t, programs.InstallOver(t, "sqlite:"+filepath.Join(t.TempDir(), "perks.db")), 1)
}

func TestNothingAcknowledgedIsLostInTwentyKillsOfTwoReplicas(t *testing.T) {
	t.Parallel()
	killAgainAndAgain(t, programs.InstallOver(t, storetest.PostgresDatabase(t)), 2)
}

// siege is a rush during which servers die.
type siege struct {
	*testing.T
	installed *programs.Installation
	servers   []*programs.Server
	till      *till
	ledger    *ledger
	random    *rand.Rand
}

func killAgainAndAgain(t *testing.T, i *programs.Installation, servers int) {
	i.ImportCSV("users", usersCSV(killRounds*usersPerRound))
	i.ImportCSV("perks", perkCSV("rush", killStock))
	s := &siege{T: t, installed: i, servers: i.StartTogether(servers), ledger: newLedger(), random: rand.New(rand.NewPCG(1, 2))}
	s.till = newTill(t, i.Token(s.servers[0].URL), tillsAtOnce)

	open := 0
	for round := range killRounds {
		victim := round % servers
		unanswered := s.rushAndKill(victim, s.attempts(round))
		s.servers[victim] = i.Start()
		kept := i.Redemptions()
		s.ledger.check(t, kept, killStock)
		s.sendAgain(unanswered)
		open += len(unanswered)
	}
	kept := i.Redemptions()
	s.ledger.check(t, kept, killStock)
	if len(kept) != killStock {
		t.Errorf("in the end %d redemptions are kept, want the whole stock of %d", len(kept), killStock)
	}
	s.ledger.onlyRefused(t, api.CodeAlreadyRedeemed, api.CodeSoldOut)
	if open < killRounds {
		t.Errorf("only %d attempts in %d rounds were without an answer: the servers were killed too late", open, killRounds)
	}
	t.Logf("%d kills left %d of %d attempts without an answer", killRounds, open, 2*killRounds*usersPerRound)
	for _, server := range s.servers {
		server.Terminate()
	}
}

// attempts are those of a round's users: of every second one twice under one key, of the others twice without a key.
func (s *siege) attempts(round int) []attempt {
	var list []attempt
	for n := range usersPerRound {
		a := attempt{perk: "rush", user: userNumber(round*usersPerRound + n)}
		if n%2 == 0 {
			a.key = "key-of-" + a.user
		}
		list = append(list, a, a)
	}
	s.random.Shuffle(len(list), func(a, b int) { list[a], list[b] = list[b], list[a] })
	return list
}

// rushAndKill sends the attempts to all servers and kills one at a random moment. It returns what went without an answer.
func (s *siege) rushAndKill(victim int, attempts []attempt) (unanswered []attempt) {
	s.Helper()
	answersBefore := int64(1 + s.random.IntN(usersPerRound*3/2))
	breath := time.Duration(s.random.IntN(int(2 * time.Millisecond)))
	killed := make(chan struct{})
	var answers atomic.Int64
	s.sendAll(attempts, func(a attempt, _ told, err error) {
		if answers.Add(1) == answersBefore {
			time.AfterFunc(breath, func() { defer close(killed); s.servers[victim].Kill() })
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
func (s *siege) sendAgain(attempts []attempt) {
	s.Helper()
	before := map[string]string{}
	for _, k := range s.installed.Redemptions() {
		before[k.UserID] = k.ID
	}
	s.sendAll(attempts, func(a attempt, answer told, err error) {
		made := before[a.user]
		right := made == "" || a.key == "" && answer.code == api.CodeAlreadyRedeemed || a.key != "" && answer.made.ID == made && answer.replayed
		switch {
		case err != nil:
			s.Errorf("%+v, sent again to servers that run: %v", a, err)
		case !right:
			s.Errorf("%+v, of whom redemption %s is kept, was answered %+v", a, made, answer)
		}
	})
}

// sendAll sends the attempts from several tills at once, to the servers in turn, and keeps the answers.
func (s *siege) sendAll(attempts []attempt, then func(attempt, told, error)) {
	s.Helper()
	type job struct {
		attempt
		url string
	}
	jobs := make(chan job)
	var tills sync.WaitGroup
	var answered sync.Mutex
	for range tillsAtOnce {
		tills.Go(func() {
			for j := range jobs {
				answer, err := s.till.redeem(j.url, j.attempt)
				if err == nil {
					if err := s.ledger.note(j.attempt, answer); err != nil {
						s.Error(err)
					}
				}
				answered.Lock()
				then(j.attempt, answer, err)
				answered.Unlock()
			}
		})
	}
	for n, a := range attempts {
		jobs <- job{a, s.servers[n%len(s.servers)].URL}
	}
	close(jobs)
	tills.Wait()
}
