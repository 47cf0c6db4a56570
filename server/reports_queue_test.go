package server

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestAReportWaitsForOthersAndThenSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{reports: make(chan struct{}, maxReports)}
		begin := func(clientID string) func() {
			t.Helper()
			end, err := s.beginReport(t.Context(), clientID)
			if err != nil {
				t.Fatalf("a report of %s: %v", clientID, err)
			}
			return end
		}
		refused := func(what, clientID string) {
			t.Helper()
			began := time.Now()
			if _, err := s.beginReport(t.Context(), clientID); err != tooManyReports ||
				time.Since(began) != reportWait {
				t.Errorf("%s: %v after %s", what, err, time.Since(began))
			}
		}
		endFirst := begin("client 1")
		refused("a second one of the same client", "client 1")
		var endLast func()
		for i := range maxReports - 1 {
			endLast = begin(fmt.Sprintf("client %d", i+2))
		}
		refused("beside others", "another")
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.beginReport(gone, "another"); !errors.Is(err, context.Canceled) {
			t.Errorf("a caller that is gone: %v", err)
		}
		time.AfterFunc(reportWait-1, endLast)
		begin("another")()
		endFirst()
		begin("client 1")()
	})
}
