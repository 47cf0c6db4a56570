package endurance

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// foreign is another implementation of the API. It ignores idempotency keys, never refuses a redemption, and returns only the
// required fields.
type foreign struct {
	ahead       time.Duration // how far its clock is ahead
	links       bool          // paginates by Link alone; otherwise by numbers alone
	oldestFirst bool          // in the list of what a user has redeemed
	tokenUses   int           // a token is valid for so many requests; 0 is unlimited

	mu     sync.Mutex
	made   int
	byUser map[string][]redemption
	tokens int         // issued so far
	uses   map[int]int // by token
}

// redemption is a stored redemption.
type redemption struct {
	ID         string          `json:"id"`
	PerkID     string          `json:"perk_id"`
	UserID     string          `json:"user_id"`
	RedeemedAt string          `json:"redeemed_at"` // in whole seconds
	Metadata   json.RawMessage `json:"metadata,omitempty"`
	PricePW    float64         `json:"price_pw"`
}

// foreignPage is the maximum page size, whatever is requested.
const foreignPage = 15

func (f *foreign) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Date", f.now().Format(http.TimeFormat))
	w.Header().Set("Content-Type", "application/json")
	path := strings.Split(strings.TrimPrefix(r.URL.Path, "/v2/"), "/")
	switch {
	case r.URL.Path == "/v2/auth/token":
		f.giveToken(w, r)
	case !f.knows(r.Header.Get("Authorization")):
		writeJSON(w, http.StatusUnauthorized, map[string]string{"response": "Who are you?"})
	case r.Method == http.MethodPost && len(path) == 4 && path[3] == "redeem":
		f.redeem(w, r, path[2])
	case r.Method == http.MethodGet && len(path) == 4 && path[2] == "users" && r.URL.Query().Get("type") == "redeemed":
		f.list(w, r.URL, path[3])
	default:
		writeJSON(w, http.StatusNotFound, map[string]string{"response": "No such address"})
	}
}

func (f *foreign) now() time.Time { return time.Now().Add(f.ahead).UTC() }

func (f *foreign) giveToken(w http.ResponseWriter, r *http.Request) {
	if id, secret, _ := r.BasicAuth(); id != foreignID || secret != foreignSecret {
		writeJSON(w, http.StatusUnauthorized, map[string]string{"response": "Who are you?"})
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tokens++
	writeJSON(w, http.StatusOK, map[string]any{"access_token": fmt.Sprintf("token-%d", f.tokens), "expires_at": f.now().Add(3 * time.Hour).Format(time.RFC3339)})
}

const foreignID, foreignSecret = "partner", "a secret"

// knows reports whether a token is valid, and counts its use.
func (f *foreign) knows(authorization string) bool {
	number, err := strconv.Atoi(strings.TrimPrefix(authorization, "Bearer token-"))
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil || number < 1 || number > f.tokens {
		return false
	}
	if f.uses == nil {
		f.uses = map[int]int{}
	}
	f.uses[number]++
	return f.tokenUses == 0 || f.uses[number] <= f.tokenUses
}

func (f *foreign) redeem(w http.ResponseWriter, r *http.Request, perk string) {
	var request struct {
		UserID   string          `json:"user_id"`
		Metadata json.RawMessage `json:"metadata"`
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		writeJSON(w, http.StatusBadRequest, map[string]string{"response": err.Error()})
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.made++
	made := redemption{
		ID: fmt.Sprintf("r%d", f.made), PerkID: perk, UserID: request.UserID, Metadata: request.Metadata,
		RedeemedAt: f.now().Format(time.RFC3339), PricePW: 99.9,
	}
	f.byUser[made.UserID] = append(f.byUser[made.UserID], made)
	writeJSON(w, http.StatusCreated, made)
}

// remember adds a redemption for each of them, made a minute ago.
func (f *foreign) remember(all []wanted) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.byUser = map[string][]redemption{}
	for n, w := range all {
		f.byUser[w.user] = append(f.byUser[w.user], redemption{
			ID: fmt.Sprint(past, n), PerkID: w.perk, UserID: w.user, Metadata: json.RawMessage(w.metadata),
			RedeemedAt: f.now().Add(-time.Minute).Format(time.RFC3339), PricePW: 99.9,
		})
	}
}

const past = "past" // prefix of the ids of earlier redemptions

func (f *foreign) list(w http.ResponseWriter, address *url.URL, user string) {
	f.mu.Lock()
	all := slices.Clone(f.byUser[user])
	f.mu.Unlock()
	if !f.oldestFirst {
		slices.Reverse(all)
	}
	page, _ := strconv.Atoi(address.Query().Get("page"))
	page = max(page, 1)
	pages := (len(all) + foreignPage - 1) / foreignPage
	part := all[min(len(all), (page-1)*foreignPage):min(len(all), page*foreignPage)]
	body := map[string]any{"data": part}
	if f.links {
		f.link(w, address, page, pages)
	} else {
		body["meta"] = map[string]int{"page": page, "per_page": foreignPage, "total": len(all), "total_pages": pages}
	}
	writeJSON(w, http.StatusOK, body)
}

// link adds the first page, and the next if there is one.
func (f *foreign) link(w http.ResponseWriter, address *url.URL, page, pages int) {
	to := func(page int, relation string) {
		query := address.Query()
		query.Set("page", strconv.Itoa(page))
		w.Header().Add("Link", fmt.Sprintf(`<%s?%s>; rel="%s"`, address.Path, query.Encode(), relation))
	}
	to(1, "first")
	if page < pages {
		to(page+1, "next")
	}
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	_, _ = w.Write(text) // the client may be gone
}

// redemptions returns those made during the test.
func (f *foreign) redemptions() map[string]wanted {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := map[string]wanted{}
	for _, list := range f.byUser {
		for _, r := range list {
			if !strings.HasPrefix(r.ID, past) {
				all[r.ID] = wanted{r.PerkID, r.UserID, canonical(r.Metadata)}
			}
		}
	}
	return all
}
