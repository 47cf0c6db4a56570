package server

import (
	"context"
	"time"

	"github.com/labstack/echo/v4"

	"example.com/perks/api"
	"example.com/perks/store"
)

// Reports read many redemptions, so few run at once, and each for a limited time. Together a report's waiting and reading are below
// requestTime.
const (
	maxReports = 2
	reportWait = 3 * time.Second
	reportTime = 10 * time.Second
)

var tooManyReports = api.Errorf(api.CodeUnavailable, "Other reports are running. Try again when they have ended.")

func (h perkHandlers) reportRedemptions(c echo.Context) error {
	p := api.ParseParameters(c.Request().URL.RawQuery)
	meta, own := p.ReportMeta(h.now())
	if err := p.Fields.Err(); err != nil {
		return err
	}
	query := store.ReportQuery{By: meta.By, Since: meta.Since, Until: meta.Until, Within: reportTime, ClientID: clientToRead(callerOf(c), own)}
	ctx := c.Request().Context()
	if err := h.beginReport(ctx); err != nil {
		return err
	}
	defer func() { <-h.reports }()
	report, err := h.store.ReportRedemptions(ctx, query)
	if err != nil {
		return err
	}
	return writeCacheable(c, report)
}

// beginReport waits until fewer than maxReports are running.
func (s *service) beginReport(ctx context.Context) error {
	select {
	case s.reports <- struct{}{}:
		return nil
	default:
	}
	ctx, cancel := context.WithTimeoutCause(ctx, reportWait, tooManyReports)
	defer cancel()
	select {
	case s.reports <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
