package server

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestAReportWaitsForOthersAndThenSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{reports: make(chan struct{}, maxReports)}
		for range maxReports {
			if err := s.beginReport(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		if err := s.beginReport(t.Context()); err != tooManyReports || time.Since(began) != reportWait {
			t.Errorf("beside others: %v after %s", err, time.Since(began))
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.beginReport(gone); !errors.Is(err, context.Canceled) {
			t.Errorf("a caller that is gone: %v", err)
		}
		time.AfterFunc(reportWait-1, func() { <-s.reports })
		if err := s.beginReport(t.Context()); err != nil {
			t.Errorf("after another has ended: %v", err)
		}
	})
}
