package endurance

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/cmd/dev/programs"
	"example.com/perks/store/storetest"
)

func TestAddedStockIsAvailableOnEveryReplica(t *testing.T) {
	parallel(t)
	i := programs.InstallOver(t, storetest.PostgresDatabase(t))
	replicas := i.StartTogether(2)
	i.ImportCSV("users", usersCSV(4))
	redeemer := newRedeemer(t, i.Token(replicas[0].URL), 1)
	expect := func(replica, user int, want reply) {
		t.Helper()
		got, err := redeemer.redeem(replicas[replica].URL, attempt{perk: "rush", user: userNumber(user)})
		if err != nil || got.status != want.status || got.code != want.code {
			t.Errorf("user %d at replica %d: %+v, %v", user, replica, got, err)
		}
	}
	made, soldOut := reply{status: http.StatusCreated}, reply{status: http.StatusConflict, code: api.CodeSoldOut}
	i.ImportCSV("perks", perkCSV("rush", 1))
	expect(0, 0, made)
	expect(0, 1, soldOut)
	expect(1, 1, soldOut)
	i.ImportCSV("perks", perkCSV("rush", 3))
	expect(0, 1, made)
	expect(1, 2, made)
	expect(0, 3, soldOut)
	expect(1, 3, soldOut)
}

// rotationWorkers log in at each server with the old secret, and as many with the new one.
const rotationWorkers = 4

// TestARotationUnderLoadFailsNoRequest has servers issue tokens all the time, which are used at once: for the old
// secret until its end, and for the new one from its first moment on. Each new secret is the old one of the next
// rotation.
func TestARotationUnderLoadFailsNoRequest(t *testing.T) {
	overEachStore(t, func(t *testing.T, i *programs.Installation, servers int) {
		rotations := 1
		if isLong() {
			rotations = 60 // 5 minutes
		}
		id, secret := i.Client("Till")
		r := &rotation{T: t, installed: i, servers: i.StartTogether(servers), id: id,
			pace: time.NewTicker(2 * time.Millisecond)}
		defer r.pace.Stop()
		for range rotations {
			secret = r.rotate(secret)
		}
		t.Logf("%d rotations with %d servers, while %d tokens were issued and used", rotations, servers, r.used.Load())
	})
}

type rotation struct {
	*testing.T
	installed *programs.Installation
	servers   []*programs.Server
	id        string // of the client
	pace      *time.Ticker
	used      atomic.Int64
}

// rotate gives the client a new secret, and returns it when every server has refused the old one.
func (r *rotation) rotate(old string) (secret string) {
	r.Helper()
	refused := make([]time.Time, rotationWorkers*len(r.servers)) // when the old secret was refused first
	var working, renewed sync.WaitGroup
	for n := range refused {
		working.Go(func() {
			got := http.StatusOK
			for ; got == http.StatusOK; refused[n] = time.Now() {
				got = r.use(n, old)
			}
			if got != http.StatusUnauthorized {
				r.Errorf("server %d answers %d to the old secret", n%len(r.servers)+1, got)
			}
		})
	}
	var rotated struct {
		Secret string    `json:"client_secret"`
		Until  time.Time `json:"old_secret_until"`
	}
	said := r.installed.Must("", "client", "rotate-secret", r.id, "--keep-old", "5s", "-o", "json")
	if err := json.Unmarshal([]byte(said), &rotated); err != nil {
		r.Fatal(err)
	}
	oldEnded := make(chan struct{})
	for n := range refused {
		renewed.Go(func() {
			for ended := false; !ended; {
				select {
				case <-oldEnded:
					ended = true
				default:
				}
				if got := r.use(n, rotated.Secret); got != http.StatusOK {
					r.Errorf("server %d answers %d to the new secret", n%len(r.servers)+1, got)
				}
			}
		})
	}
	working.Wait()
	close(oldEnded)
	renewed.Wait()
	for n, at := range refused {
		if late := at.Sub(rotated.Until); late < 0 || late > 5*time.Second {
			r.Errorf("server %d refused the old secret %s after its end", n%len(r.servers)+1, late)
		}
		if got := r.use(n, old); got != http.StatusUnauthorized {
			r.Errorf("server %d answers %d to the old secret after it has refused it", n%len(r.servers)+1, got)
		}
	}
	return rotated.Secret
}

// use gets a token from a server, has another one list perks for it, and returns the status of what failed, or 200.
func (r *rotation) use(n int, secret string) int {
	<-r.pace.C
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte(r.id+":"+secret))
	url := func(n int) string { return r.servers[n%len(r.servers)].URL }
	response, body, err := programs.Send(http.DefaultClient, http.MethodPost, url(n)+"/v2/auth/token", "", "",
		map[string]string{"Authorization": basic})
	if err == nil && response.StatusCode == http.StatusOK {
		var token api.Token
		if err = json.Unmarshal(body, &token); err == nil {
			response, _, err = asClient(token.AccessToken).send(http.MethodGet, url(n+1)+"/v2/partners/perks", "", nil)
		}
		r.used.Add(1)
	}
	if err != nil {
		r.Error(err)
		return 0
	}
	return response.StatusCode
}
