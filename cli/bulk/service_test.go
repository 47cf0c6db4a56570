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
	"example.com/perks/api/operation"
	"example.com/perks/api/rows"
)

// service is an in-memory service. Each row creates a record with its name, unless a fault prevents it.
type service struct {
	honours bool // idempotency keys
	shared  bool // with other clients
	careful bool // no row is sent again without proof that keys are honoured
	once    bool // each name can be made once, in a dry run

	mu       sync.Mutex
	made     map[string][]string // ids by name
	keys     map[string]string   // id by key
	sent     []string            // names, in order of arrival
	lookedUp []string
	order    []string
	since    time.Time          // of the last lookup
	faults   map[string][]fault // by name, in order
	started  chan string        // receives the name of each sent row, unless nil
	release  chan struct{}      // blocks sent rows until closed, unless nil
}

// fault is the fault of one request.
type fault struct {
	err    error
	late   bool // the work is done anyway
	lookUp error
	other  bool // another client does the same work first
}

func newService() *service {
	return &service{made: map[string][]string{}, keys: map[string]string{}, faults: map[string][]fault{}}
}

// Errors as api/client returns them.
var (
	broken      = &client.Unreachable{Address: "http://s", Err: errors.New("connection reset"), OutcomeUnknown: true}
	timedOut    = &client.Unreachable{Address: "http://s", Err: context.DeadlineExceeded, OutcomeUnknown: true}
	unreachable = &client.Unreachable{Address: "http://s", Err: errors.New("connection refused"), NotSent: true}
	refused     = &client.Error{Status: 409, Code: api.CodeAlreadyRedeemed, Message: "Already redeemed."}
	keyUnused   = &client.Error{Status: 409, Code: api.CodeAlreadyRedeemed, Message: "Already redeemed.",
		KeyUnused: true}
	loggedOut = &client.Error{Status: 401, Code: api.CodeInvalidToken, Message: "No."}
)

// work returns the work of the tests. A row is {"name":...} or a cell in the column name.
func (s *service) work() Work {
	return Work{
		Name: "make",
		Parse: func(row rows.Row) (operation.Task, error) {
			name := string(row.Object)
			if row.Cells != nil {
				name = row.Cells[0]
			}
			if name == "bad" {
				return nil, errors.New("The name is bad.")
			}
			return &task{s, name}, nil
		},
		HonoursKeys: func(*client.Client) bool { return s.honours && len(s.order) > 0 },
		Resends:     !s.careful,
	}
}

type task struct {
	service *service
	name    string
}

func (t *task) Subject() string { return t.name }

func (t *task) Send(_ context.Context, _ *client.Client, key string) (operation.Outcome, bool, error) {
	s := t.service
	if s.started != nil {
		s.started <- t.name
	}
	if s.release != nil {
		<-s.release
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent, s.order = append(s.sent, t.name), append(s.order, "s")
	if id, known := s.keys[key]; known && s.honours {
		return operation.Outcome{ID: id, Status: 201, Action: operation.Created}, true, nil
	}
	var now fault
	if left := s.faults[t.name]; len(left) > 0 {
		now, s.faults[t.name] = left[0], left[1:]
	}
	if now.other {
		s.made[t.name] = append(s.made[t.name], t.name+"-other")
	}
	if now.err != nil && !now.late {
		return operation.Outcome{}, false, now.err
	}
	if len(s.made[t.name]) > 0 && s.shared && s.honours { // one unit for each name
		return operation.Outcome{}, false, keyUnused
	}
	id := fmt.Sprintf("%s-%d", t.name, len(s.made[t.name])+1)
	s.made[t.name] = append(s.made[t.name], id)
	s.keys[key] = id
	return operation.Outcome{ID: id, Status: 201, Action: operation.Created}, false, now.err
}

func (t *task) LookUp(
	_ context.Context, _ *client.Client, since time.Time, taken func(string) bool,
) (operation.Outcome, operation.Event, error) {
	s := t.service
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since = since
	s.lookedUp, s.order = append(s.lookedUp, t.name), append(s.order, "l")
	if left := s.faults[t.name]; len(left) > 0 && left[0].lookUp != nil {
		s.faults[t.name] = left[1:]
		return operation.Outcome{}, operation.Unread, left[0].lookUp
	}
	for _, id := range s.made[t.name] {
		if !taken(id) {
			event := operation.Found
			if s.shared {
				event = operation.Match
			}
			return operation.Outcome{ID: id, Status: 200, Action: operation.Created}, event, nil
		}
	}
	return operation.Outcome{}, operation.Absent, nil
}

func (t *task) Predict(context.Context, *client.Client) operation.Prediction {
	if t.name == "missing" {
		return operation.Prediction{
			Err: &client.Error{Status: 404, Code: api.CodeNotFound, Message: "Not found."}}
	}
	return operation.Prediction{Message: "It would be made."}
}

func (t *task) After(line int) error {
	if t.service.once {
		return api.Errorf(api.CodeAlreadyRedeemed, "Line %d makes it already.", line)
	}
	return nil
}

// all returns how often each name was made.
func (s *service) all() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(s.made)) {
		texts = append(texts, fmt.Sprintf("%s:%d", name, len(s.made[name])))
	}
	return strings.Join(texts, " ")
}

// requests returns the requests in order: s for a send, l for a lookup.
func (s *service) requests() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.order, "")
}
