package bulk

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/rows"
	"example.com/perks/cli/session"
)

// service is a service in memory that the rows of a test change. Each row has a name; what happens to it is up to the
// faults that the test makes.
type service struct {
	honours bool // idempotency keys
	shared  bool // others make things too
	once    bool // a dry run says that each name can be made once

	mu       sync.Mutex
	made     map[string][]string // ids of what was made, by name
	keys     map[string]string   // id by key
	sent     []string            // names, in the order in which they came in
	lookedUp []string
	order    []string
	since    time.Time          // of the last look-up
	faults   map[string][]fault // by name, one after the other
	entered  chan string        // gets the name of each row that is sent, if it is not nil
	leave    chan struct{}      // keeps what is sent until it is closed, if it is not nil
}

// fault is what goes wrong with a request.
type fault struct {
	err    error
	late   bool // the work is done nevertheless
	lookUp error
	other  bool // somebody else does the same work before it
}

func newService() *service {
	return &service{made: map[string][]string{}, keys: map[string]string{}, faults: map[string][]fault{}}
}

// The failures of a client, as api/client makes them.
var (
	broken    = &client.Unreachable{Address: "http://s", Err: errors.New("connection reset"), OutcomeUnknown: true}
	timedOut  = &client.Unreachable{Address: "http://s", Err: context.DeadlineExceeded, OutcomeUnknown: true}
	gone      = &client.Unreachable{Address: "http://s", Err: errors.New("connection refused"), NotSent: true}
	refused   = &client.Error{Status: 409, Code: api.CodeAlreadyRedeemed, Message: "Already redeemed."}
	taken     = &client.Error{Status: 409, Code: api.CodeAlreadyRedeemed, Message: "Already redeemed.", KeyUnused: true}
	loggedOut = &client.Error{Status: 401, Code: api.CodeInvalidToken, Message: "No."}
)

// work is the work over the service. A row is {"name":...} or a cell under the heading name.
func (s *service) work() Work {
	return Work{
		Name: "make",
		Parse: func(row rows.Row) (Task, error) {
			name := string(row.Object)
			if row.Cells != nil {
				name = row.Cells[0]
			}
			if name == "bad" {
				return nil, errors.New("The name is bad.")
			}
			return &task{s, name}, nil
		},
		HonoursKeys: func() bool { return s.honours && len(s.order) > 0 },
		Shared:      s.shared,
	}
}

type task struct {
	service *service
	name    string
}

func (t *task) Subject() string { return t.name }

func (t *task) Do(_ context.Context, key string) (Outcome, error) {
	s := t.service
	if s.entered != nil {
		s.entered <- t.name
	}
	if s.leave != nil {
		<-s.leave
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent, s.order = append(s.sent, t.name), append(s.order, "s")
	if id, known := s.keys[key]; known && s.honours {
		return Outcome{ID: id, Status: 201}, nil
	}
	var now fault
	if left := s.faults[t.name]; len(left) > 0 {
		now, s.faults[t.name] = left[0], left[1:]
	}
	if now.other {
		s.made[t.name] = append(s.made[t.name], t.name+"-other")
	}
	if now.err != nil && !now.late {
		return Outcome{}, now.err
	}
	if len(s.made[t.name]) > 0 && s.shared && s.honours { // one place for each
		return Outcome{}, taken
	}
	id := fmt.Sprintf("%s-%d", t.name, len(s.made[t.name])+1)
	s.made[t.name] = append(s.made[t.name], id)
	s.keys[key] = id
	return Outcome{ID: id, Status: 201}, now.err
}

func (t *task) Done(_ context.Context, since time.Time, taken func(string) bool) (Outcome, bool, error) {
	s := t.service
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since = since
	s.lookedUp, s.order = append(s.lookedUp, t.name), append(s.order, "l")
	if left := s.faults[t.name]; len(left) > 0 && left[0].lookUp != nil {
		s.faults[t.name] = left[1:]
		return Outcome{}, false, left[0].lookUp
	}
	for _, id := range s.made[t.name] {
		if !taken(id) {
			return Outcome{ID: id, Status: 200}, true, nil
		}
	}
	return Outcome{}, false, nil
}

func (t *task) Check(context.Context) (string, []session.Change, error) {
	if t.name == "missing" {
		return "", nil, &client.Error{Status: 404, Code: api.CodeNotFound, Message: "There is no such thing."}
	}
	return "It would be made.", nil, nil
}

func (t *task) After(line int) error {
	if t.service.once {
		return api.Errorf(api.CodeAlreadyRedeemed, "Line %d makes it already.", line)
	}
	return nil
}

// all says what was made, each with how often.
func (s *service) all() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(s.made)) {
		texts = append(texts, fmt.Sprintf("%s:%d", name, len(s.made[name])))
	}
	return strings.Join(texts, " ")
}

// asked is what was asked of the service, in order: s for a send, l for a look.
func (s *service) asked() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.order, "")
}
