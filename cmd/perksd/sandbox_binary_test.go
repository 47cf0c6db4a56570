package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/perks/cmd/dev/programs"
	"example.com/perks/server/servertest"
)

// redeemAt redeems over HTTP.
func redeemAt(base, token, perk, user, key string) (status int, err error) {
	request, err := http.NewRequest(http.MethodPost, base+"/perks/"+perk+"/redeem", strings.NewReader(fmt.Sprintf(`{"user_id":%q}`, user)))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, errors.Join(err, response.Body.Close())
}

// TestTheSandboxOfARunningServerIsReset redeems at a server, in the sandbox and live, while another process empties the
// sandbox and fills it again.
func TestTheSandboxOfARunningServerIsReset(t *testing.T) {
	const workers, users = 3, 60
	i := programs.Install(t)
	sandbox := "--sandbox-database=" + servertest.DatabaseAddress(t)
	rows := "id\n"
	for n := range users {
		rows += fmt.Sprintf("user-%d\n", n)
	}
	perks := "id,title,description,city\ntea,Tea,Hot,Bath\n"
	i.ImportCSV("users", rows)
	i.ImportCSV("perks", perks)
	fill := func() {
		i.Must(rows, "import", "users", "--format", "csv", "-", "--sandbox", sandbox)
		i.Must(perks, "import", "perks", "--format", "csv", "-", "--sandbox", sandbox)
	}
	fill()
	s := i.Start(sandbox)
	token := i.Token(s.URL)
	liveURL, sandboxURL := s.URL+"/v2/partners", s.URL+"/v2/sandbox/partners"

	var made, live atomic.Int64
	var redeeming sync.WaitGroup
	stop := make(chan struct{})
	for worker := range workers {
		redeeming.Go(func() {
			for n := worker; ; n += workers {
				select {
				case <-stop:
					return
				default:
				}
				user, key := fmt.Sprintf("user-%d", n%users), fmt.Sprintf("key-%d", n)
				if n < users {
					if status, err := redeemAt(liveURL, token, "tea", user, key); err != nil || status != http.StatusCreated {
						t.Errorf("live: status %d, %v", status, err)
					}
					live.Add(1)
				}
				switch status, err := redeemAt(sandboxURL, token, "tea", user, key); {
				case err == nil && status == http.StatusCreated:
					made.Add(1)
				case err != nil || status != http.StatusNotFound && status != http.StatusConflict:
					t.Errorf("in the sandbox: status %d, %v", status, err)
				}
			}
		})
	}
	var deleted int64
	if said := i.Must("", "sandbox", "reset", "--yes", sandbox); !strings.HasPrefix(said, "Emptied the sandbox ") {
		t.Errorf("reset says %q", said)
	}
	fill()
	close(stop)
	redeeming.Wait()
	i.Must("", "sandbox", "reset", "--yes", sandbox)
	for line := range strings.Lines(i.Must("", "audit", "--subject", "sandbox", "-o", "jsonl", "--sandbox", sandbox)) {
		var entry struct{ Before struct{ Redemptions int64 } }
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatal(err)
		}
		deleted += entry.Before.Redemptions
	}
	if deleted == 0 || deleted != made.Load() {
		t.Errorf("%d redemptions were made in the sandbox, and its audit log counts %d", made.Load(), deleted)
	}
	if kept := int64(len(i.Redemptions())); kept != live.Load() {
		t.Errorf("%d redemptions were made live, and %d are kept", live.Load(), kept)
	}
	if status := programs.StatusOf(t, sandboxURL+"/perks/tea", token); status != http.StatusNotFound {
		t.Errorf("a deleted perk: status %d", status)
	}
}
