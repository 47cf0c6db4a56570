package endurance

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/perks/api"
)

// attempt is a request to redeem a perk.
type attempt struct{ perk, user, key string } // the key is "" without one

// told is the answer to an attempt.
type reply struct {
	status   int
	made     api.Redemption // with status 201
	replayed bool           // it was made by an earlier request
	code     api.Code       // with any other status
}

// errNoReply says that the outcome is unknown: there was no answer, or the server itself does not know.
var errNoReply = errors.New("there was no answer")

// redeemer redeems perks over HTTP.
type redeemer struct {
	client *http.Client
	token  string
}

// replyTimeout is more than any server takes to answer, if only that it does not know.
const replyTimeout = 20 * time.Second

// newRedeemer has so many connections to each server at once.
func newRedeemer(t *testing.T, token string, connections int) *redeemer {
	transport := &http.Transport{MaxConnsPerHost: connections, MaxIdleConnsPerHost: connections}
	t.Cleanup(transport.CloseIdleConnections)
	return &redeemer{client: &http.Client{Transport: transport, Timeout: replyTimeout}, token: token}
}

// redeem sends one attempt to the server at the address.
func (r *redeemer) redeem(url string, a attempt) (reply, error) {
	request, err := http.NewRequest(http.MethodPost, url+"/v2/partners/perks/"+a.perk+"/redeem", strings.NewReader(`{"user_id":"`+a.user+`"}`))
	if err != nil {
		return reply{}, err
	}
	request.Header.Set("Authorization", "Bearer "+r.token)
	request.Header.Set("Content-Type", "application/json")
	if a.key != "" {
		request.Header.Set("Idempotency-Key", a.key)
	}
	response, err := r.client.Do(request)
	if err != nil {
		return reply{}, errors.Join(errNoReply, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return reply{}, errors.Join(errNoReply, err)
	case response.StatusCode == http.StatusServiceUnavailable:
		return reply{}, errors.Join(errNoReply, fmt.Errorf("status 503 with %s", body))
	}
	answer := reply{status: response.StatusCode, replayed: response.Header.Get("Idempotent-Replayed") == "true"}
	if answer.status == http.StatusCreated {
		return answer, json.Unmarshal(body, &answer.made)
	}
	var refusal api.ErrorBody
	err = json.Unmarshal(body, &refusal)
	answer.code = refusal.Code
	return answer, err
}

// usersCSV is a file of the users u-0000 and on.
func usersCSV(n int) string {
	var text strings.Builder
	text.WriteString("id\n")
	for number := range n {
		text.WriteString(userNumber(number) + "\n")
	}
	return text.String()
}

func userNumber(n int) string { return fmt.Sprintf("u-%04d", n) }

// perkCSV is a file of one perk of which there are so many.
func perkCSV(id string, stock int) string {
	return fmt.Sprintf("id,title,description,city,stock\n%s,Rush,For the first,Bath,%d\n", id, stock)
}
