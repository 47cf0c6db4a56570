package specserver

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"path"
)

// Fault lets requests fail. Of several that match, the first counts.
type Fault struct {
	Request string  // the method and the escaped path, such as "POST /v2/partners/perks/*/redeem", for path.Match
	Nth     int     // only the n-th, from 1, of those that match and meet no fault above; 0 is each
	Chance  float64 // how probable it is, from the server's seed; 0 is always

	Work   Work
	Reply  Reply
	Status int    // of the reply; 0 is 502, of ReplyPage and ReplyEmpty 200, of ReplyRedirect 302
	After  string // DoneLater: the work is done after a later request that matches; "" waits for Server.Release

	RetryAfter string // a header of the reply; "" is none
}

// Patterns of requests for Fault.Request: those that change something, and those that look up what was redeemed.
const (
	Redeems   = "POST /v2/partners/perks/*/redeem"
	Updates   = "PATCH /v2/update-property/*"
	Deletes   = "DELETE /v2/delete-property/*"
	UserLists = "GET /v2/partners/perks/users/*"
)

// Work says what becomes of what a request asks for.
type Work string

// The outcomes. A late one counts when it is done, by the server's clock.
const (
	NotDone   Work = ""
	Done      Work = "done"
	DoneLater Work = "done later"
)

// Reply says what the client gets instead of the reply.
type Reply string

// The replies.
const (
	ReplyClosed   Reply = ""         // the connection is closed
	ReplyReset    Reply = "reset"    // the connection is reset
	ReplyStatus   Reply = "status"   // an error body
	ReplyPage     Reply = "page"     // a proxy's HTML
	ReplyEmpty    Reply = "empty"    // no body; a success only if the work succeeds
	ReplyRedirect Reply = "redirect" // to another address of the server
)

// Failures are what may happen to a request that changes something, without Request. Those without Nth happen to each.
func Failures() map[string]Fault {
	return map[string]Fault{
		"reply lost":                {Nth: 1, Work: Done},
		"reply lost, done later":    {Nth: 1, Work: DoneLater},
		"closed before the work":    {Nth: 1},
		"reset before the work":     {Nth: 1, Reply: ReplyReset},
		"502, done":                 {Nth: 1, Work: Done, Reply: ReplyStatus},
		"504, done":                 {Nth: 1, Work: Done, Reply: ReplyStatus, Status: 504},
		"504, done later":           {Nth: 1, Work: DoneLater, Reply: ReplyStatus, Status: 504},
		"done after the look-up":    {Nth: 1, Work: DoneLater, Reply: ReplyStatus, After: UserLists},
		"500, done":                 {Nth: 1, Work: Done, Reply: ReplyStatus, Status: 500},
		"500 always":                {Reply: ReplyStatus, Status: 500},
		"429 always":                {Reply: ReplyStatus, Status: 429, RetryAfter: "3600"},
		"503 always":                {Reply: ReplyStatus, Status: 503, RetryAfter: "3600"},
		"a page, done":              {Nth: 1, Work: Done, Reply: ReplyPage},
		"a page of 502, done later": {Nth: 1, Work: DoneLater, Reply: ReplyPage, Status: 502},
		"a page of 404":             {Nth: 1, Reply: ReplyPage, Status: 404},
		"an empty body, done":       {Nth: 1, Work: Done, Reply: ReplyEmpty, Status: 201},
		"a redirect":                {Nth: 1, Reply: ReplyRedirect},
		"a redirect after the work": {Nth: 1, Work: Done, Reply: ReplyRedirect, Status: 303},
	}
}

func (f Fault) String() string {
	return fmt.Sprintf("%s (status %d, work %s) for request %d of %q",
		cmp.Or(f.Reply, "closed"), f.Status, cmp.Or(f.Work, "not done"), f.Nth, f.Request)
}

// held is work that is done later.
type held struct {
	request Request
	after   string
}

// Heal lets no request fail any more.
func (s *Server) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Faults = nil
}

// Release does the work that was held back, and returns how many requests that was.
func (s *Server) Release() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.release(func(held) bool { return true })
}

func (s *Server) release(isDue func(held) bool) (done int) {
	waiting := s.held
	s.held = nil
	for _, h := range waiting {
		if !isDue(h) {
			s.held = append(s.held, h)
			continue
		}
		s.work(h.request)
		done++
	}
	return done
}

func matches(pattern string, request Request) bool {
	matched, err := path.Match(pattern, request.Method+" "+request.Path)
	if err != nil {
		panic(fmt.Sprintf("the pattern %q of a fault: %v", pattern, err))
	}
	return matched
}

// strike returns the fault that a request meets. Chance depends on the number of the request among those that match,
// and so not on what else is under way.
func (s *Server) strike(request Request) *Fault {
	for i, fault := range s.Faults {
		if !matches(fault.Request, request) {
			continue
		}
		s.struck[i]++
		n := s.struck[i]
		if fault.Nth != 0 && fault.Nth != n {
			continue
		}
		if fault.Chance != 0 {
			chance := rand.New(rand.NewPCG(s.Seed+uint64(i)<<32, uint64(n))) // #nosec G115 G404 -- must be repeatable
			if chance.Float64() >= fault.Chance {
				continue
			}
		}
		return &s.Faults[i]
	}
	return nil
}

// replyTo does the work, now or later, and returns the reply: without a status if none is to be sent.
func (s *Server) replyTo(request Request) response {
	fault := request.Fault
	if fault == nil {
		return s.work(request)
	}
	switch fault.Work {
	case Done:
		reply := s.work(request)
		if fault.Reply == ReplyEmpty && fault.Status < 300 && reply.status >= 300 {
			return reply // to report a success would be a lie
		}
	case DoneLater:
		s.held = append(s.held, held{request, fault.After})
	}
	var reply response
	switch fault.Reply {
	case ReplyStatus:
		status := cmp.Or(fault.Status, http.StatusBadGateway)
		reply = s.refuse(status, http.StatusText(status), nil)
	case ReplyPage:
		reply = page(cmp.Or(fault.Status, http.StatusOK))
	case ReplyEmpty:
		reply = response{status: cmp.Or(fault.Status, http.StatusOK), header: map[string]string{}}
	case ReplyRedirect:
		reply = response{cmp.Or(fault.Status, http.StatusFound), map[string]string{"Location": "/elsewhere"}, nil}
	default:
		return response{}
	}
	if fault.RetryAfter != "" {
		reply.header["Retry-After"] = fault.RetryAfter
	}
	return reply
}

// hangUp ends the connection without a response.
func hangUp(w http.ResponseWriter, hard bool) {
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // HTTP/2, where that resets the stream
	}
	if tcp, isTCP := connection.(*net.TCPConn); isTCP && hard {
		_ = tcp.SetLinger(0)
	}
	_ = connection.Close()
}
