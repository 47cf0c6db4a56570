package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

// installed is perksd as it is shipped, over a database of its own.
type installed struct {
	t        *testing.T
	path     string
	database string
	folder   string
}

func install(t *testing.T) *installed {
	t.Helper()
	folder := t.TempDir()
	i := &installed{t: t, path: filepath.Join(folder, "perksd"), folder: folder, database: "sqlite:" + filepath.Join(folder, "perks.db")}
	if output, err := exec.Command("go", "build", "-o", i.path, ".").CombinedOutput(); err != nil {
		t.Fatalf("building perksd: %v\n%s", err, output)
	}
	return i
}

func (i *installed) command(args ...string) *exec.Cmd {
	cmd := exec.Command(i.path, args...)
	cmd.Env = []string{"PERKSD_DATABASE=" + i.database}
	return cmd
}

// must runs a command with an input and returns its output.
func (i *installed) must(stdin string, args ...string) string {
	i.t.Helper()
	cmd := i.command(args...)
	cmd.Stdin = strings.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if err != nil {
		i.t.Fatalf("perksd %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(output)
}

// start serves until the process is killed, at the latest at the end of the test.
func (i *installed) start() (*exec.Cmd, *serving) {
	i.t.Helper()
	cmd := i.command("serve", "--addr", "127.0.0.1:0")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		i.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		i.t.Fatal(err)
	}
	i.t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, follow(i.t, stderr)
}

// token makes a client and gets a token for it.
func (i *installed) token(url string) string {
	i.t.Helper()
	var created clientView
	if err := json.Unmarshal([]byte(i.must("", "client", "create", "--name", "Test", "-o", "json")), &created); err != nil {
		i.t.Fatal(err)
	}
	return tokenOf(i.t, http.DefaultClient, url, created.ID, created.Secret).AccessToken
}

// redemptions reads the database, beside a server that may be running.
func (i *installed) redemptions() []store.RedemptionRecord {
	i.t.Helper()
	var all []store.RedemptionRecord
	for line := range strings.Lines(i.must("", "export", "redemptions", "-o", "jsonl")) {
		var r store.RedemptionRecord
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			i.t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// The rush: more users than there is stock, each of them at two tills at once, one of which sends an idempotency key.
const (
	rushStock   = 50
	rushUsers   = 100
	rushTills   = 2
	rushAtATime = 16 // connections, so that many requests are still to come when the server is killed
)

// rush is what the tills were told.
type rush struct {
	url, token string
	client     *http.Client

	mu           sync.Mutex
	acknowledged map[string]string // the user by the redemption's id
	refused      map[api.Code]int
	unanswered   int
	onAnswer     func(acknowledged int) // called with each new redemption, under the lock
}

// run sends every request of the rush at once and returns when each has been answered or has failed.
func (r *rush) run(t *testing.T) {
	t.Helper()
	var tills sync.WaitGroup
	for user := range rushUsers {
		for till := range rushTills {
			tills.Go(func() { r.redeem(t, fmt.Sprintf("u-%03d", user), till == 0) })
		}
	}
	tills.Wait()
}

func (r *rush) redeem(t *testing.T, user string, withKey bool) {
	request, err := http.NewRequest(http.MethodPost, r.url+"/v2/partners/perks/rush/redeem", strings.NewReader(`{"user_id":"`+user+`"}`))
	if err != nil {
		t.Error(err)
		return
	}
	request.Header.Set("Authorization", "Bearer "+r.token)
	request.Header.Set("Content-Type", "application/json")
	if withKey {
		request.Header.Set("Idempotency-Key", "key-of-"+user)
	}
	status, body, err := r.send(request)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err != nil:
		r.unanswered++
	case status == http.StatusCreated:
		var made api.Redemption
		if err := json.Unmarshal(body, &made); err != nil || made.UserID != user {
			t.Errorf("user %s got the redemption %s (%v)", user, body, err)
		}
		r.acknowledged[made.ID] = user
		if r.onAnswer != nil {
			r.onAnswer(len(r.acknowledged))
		}
	default:
		var refusal api.ErrorBody
		if err := json.Unmarshal(body, &refusal); err != nil {
			t.Errorf("status %d with %q", status, body)
		}
		r.refused[refusal.Code]++
	}
}

func (r *rush) send(request *http.Request) (status int, body []byte, err error) {
	response, err := r.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	return response.StatusCode, body, err
}

// check holds what the tills were told against what the database has: nothing acknowledged is lost, nothing is double,
// and no more is given away than there was.
func (r *rush) check(t *testing.T, kept []store.RedemptionRecord) {
	t.Helper()
	byID, users := map[string]string{}, map[string]bool{}
	for _, k := range kept {
		byID[k.ID] = k.UserID
		if users[k.UserID] {
			t.Errorf("user %s has two redemptions", k.UserID)
		}
		users[k.UserID] = true
	}
	for id, user := range r.acknowledged {
		if byID[id] != user {
			t.Errorf("redemption %s of user %s was acknowledged and is lost", id, user)
		}
	}
	if len(kept) > rushStock {
		t.Errorf("%d redemptions of a stock of %d", len(kept), rushStock)
	}
}

func TestNothingAcknowledgedIsLostWhenTheServerIsKilled(t *testing.T) {
	i := install(t)
	var users strings.Builder
	users.WriteString("id\n")
	for user := range rushUsers {
		fmt.Fprintf(&users, "u-%03d\n", user)
	}
	i.must(users.String(), "import", "users", "--format", "csv", "-")
	i.must(fmt.Sprintf("id,title,description,city,stock\nrush,Rush,For the first,Bath,%d\n", rushStock), "import", "perks", "--format", "csv", "-")

	cmd, s := i.start()
	transport := &http.Transport{MaxConnsPerHost: rushAtATime, MaxIdleConnsPerHost: rushAtATime}
	defer transport.CloseIdleConnections()
	r := &rush{url: s.url, token: i.token(s.url), client: &http.Client{Transport: transport}, acknowledged: map[string]string{}, refused: map[api.Code]int{}}
	r.onAnswer = func(acknowledged int) {
		if acknowledged == rushStock/5 {
			if err := cmd.Process.Kill(); err != nil {
				t.Errorf("killing the server: %v", err)
			}
		}
	}
	r.run(t)
	s.rest()
	if err := cmd.Wait(); err == nil || cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("the server was not killed: %v", err)
	}
	if r.unanswered == 0 || len(r.acknowledged) >= rushStock {
		t.Fatalf("the server was killed too late: %d redemptions were acknowledged and %d requests went without an answer", len(r.acknowledged), r.unanswered)
	}
	beforeRestart := len(r.acknowledged)

	cmd, s = i.start()
	r.check(t, i.redemptions())

	r.url, r.onAnswer, r.unanswered, r.refused = s.url, nil, 0, map[api.Code]int{}
	r.run(t)
	kept := i.redemptions()
	r.check(t, kept)
	if len(kept) != rushStock {
		t.Errorf("%d redemptions in the end, want the whole stock of %d", len(kept), rushStock)
	}
	if r.unanswered != 0 {
		t.Errorf("%d requests to the server that runs went without an answer", r.unanswered)
	}
	for code := range r.refused {
		if code != api.CodeAlreadyRedeemed && code != api.CodeSoldOut {
			t.Errorf("%d requests were refused as %s", r.refused[code], code)
		}
	}
	t.Logf("killed after %d of %d redemptions", beforeRestart, rushStock)
	i.terminate(cmd, s)
}

// terminate sends SIGTERM and expects the server to end in good order.
func (i *installed) terminate(cmd *exec.Cmd, s *serving) {
	i.t.Helper()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		i.t.Fatal(err)
	}
	log := s.rest()
	if err := cmd.Wait(); err != nil {
		i.t.Errorf("after SIGTERM the server ended with %v; its log is\n%s", err, log)
	}
}

func TestARequestUnderWayIsAnsweredAfterSIGTERM(t *testing.T) {
	i := install(t)
	i.must("id\nalice\n", "import", "users", "--format", "csv", "-")
	i.must("id,title,description,city\ntea,Tea,Hot,Bath\n", "import", "perks", "--format", "csv", "-")
	cmd, s := i.start()
	token := i.token(s.url)

	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	body := `{"user_id":"alice"}`
	fmt.Fprintf(conn, "POST /v2/partners/perks/tea/redeem HTTP/1.1\r\nHost: perks.example\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", token, len(body))
	answers := bufio.NewReader(conn)
	// The server asks for the body when a handler begins to read it: from here on the request is under way.
	if line, err := answers.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("the server answers %q, %v", line, err)
	}
	if _, err := answers.ReadString('\n'); err != nil {
		t.Fatal(err)
	}

	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.waitFor(t, "draining")
	if _, err := io.WriteString(conn, body); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(answers, nil)
	if err != nil {
		t.Fatalf("the request under way was not answered: %v", err)
	}
	defer response.Body.Close()
	var made api.Redemption
	if err := json.NewDecoder(response.Body).Decode(&made); err != nil || response.StatusCode != http.StatusCreated {
		t.Errorf("status %d, %v", response.StatusCode, err)
	}
	log := s.rest()
	if err := cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM the server ended with %v; its log is\n%s", err, log)
	}
	if kept := i.redemptions(); len(kept) != 1 || kept[0].ID != made.ID {
		t.Errorf("the redemption %s was answered, and kept are %v", made.ID, kept)
	}
}

func TestExitCodesReachTheShell(t *testing.T) {
	i := install(t)
	for code, args := range map[int][]string{exitDone: {"--version"}, exitFailure: {"client", "list"}, exitUsage: {"clients"}} {
		cmd := i.command(args...)
		if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
			t.Fatal(err)
		}
		if got := cmd.ProcessState.ExitCode(); got != code {
			t.Errorf("perksd %s ends with %d, want %d", strings.Join(args, " "), got, code)
		}
	}
}
