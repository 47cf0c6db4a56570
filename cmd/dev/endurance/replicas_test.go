package endurance

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"sync"
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

// TestARotationUnderLoadFailsNoRequest has two replicas issue tokens all the time, for the old secret until its end,
// and for the new one from its first moment on.
func TestARotationUnderLoadFailsNoRequest(t *testing.T) {
	parallel(t)
	i := programs.InstallOver(t, storetest.PostgresDatabase(t))
	replicas := i.StartTogether(2)
	id, old := i.Client("Till")
	status := func(replica *programs.Server, secret string) int {
		basic := "Basic " + base64.StdEncoding.EncodeToString([]byte(id+":"+secret))
		response, _, err := programs.Send(http.DefaultClient, http.MethodPost, replica.URL+"/v2/auth/token", "", "",
			map[string]string{"Authorization": basic})
		if err != nil {
			t.Error(err)
			return 0
		}
		return response.StatusCode
	}
	var working sync.WaitGroup
	refused := make([]time.Time, len(replicas)) // when the old secret was refused first
	for n, replica := range replicas {
		working.Go(func() {
			for got := http.StatusOK; got == http.StatusOK; {
				got = status(replica, old)
				refused[n] = time.Now()
			}
		})
	}
	var rotated struct {
		Secret string    `json:"client_secret"`
		Until  time.Time `json:"old_secret_until"`
	}
	said := i.Must("", "client", "rotate-secret", id, "--keep-old", "5s", "-o", "json")
	if err := json.Unmarshal([]byte(said), &rotated); err != nil {
		t.Fatal(err)
	}
	oldEnded := make(chan struct{})
	var renewed sync.WaitGroup
	for n, replica := range replicas {
		renewed.Go(func() {
			for ended := false; !ended; {
				select {
				case <-oldEnded:
					ended = true
				default:
				}
				if got := status(replica, rotated.Secret); got != http.StatusOK {
					t.Errorf("replica %d answers %d to the new secret", n+1, got)
				}
			}
		})
	}
	working.Wait()
	close(oldEnded)
	renewed.Wait()
	for n, at := range refused {
		if late := at.Sub(rotated.Until); late < 0 || late > 5*time.Second {
			t.Errorf("replica %d refused the old secret %s after its end", n+1, late)
		}
	}
}
