package output_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
)

func statusError(status int, code api.Code) error { return &client.Error{Status: status, Code: code} }

func TestCode(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want int
	}{
		"nothing":                        {nil, 0},
		"anything else":                  {errors.New("disk full"), 1},
		"invalid values":                 {statusError(422, api.CodeValidationFailed), 1},
		"rate limited":                   {statusError(429, api.CodeRateLimited), 1},
		"server error":                   {statusError(500, api.CodeInternal), 1},
		"wrong usage":                    {command.Usagef("no"), 2},
		"a value refused locally":        {&api.Error{Code: api.CodeValidationFailed}, 2},
		"not confirmed":                  {command.Cancelled(""), 3},
		"another run is using the file":  {command.Busy(""), 6},
		"no such perk, found locally":    {&api.Error{Code: api.CodeNotFound}, 5},
		"a stale version, found locally": {&api.Error{Code: api.CodePreconditionFailed}, 6},
		"not logged in":                  {&command.NotLoggedIn{}, 4},
		"401":                            {statusError(401, api.CodeInvalidToken), 4},
		"403":                            {statusError(403, api.CodeForbidden), 4},
		"404":                            {statusError(404, api.CodeNotFound), 5},
		"409":                            {statusError(409, api.CodeAlreadyRedeemed), 6},
		"412":                            {statusError(412, api.CodePreconditionFailed), 6},
		"unreachable":                    {&client.Unreachable{Err: errors.New("refused")}, 8},
		"outcome unknown":                {&client.Unreachable{Err: errors.New("reset"), OutcomeUnknown: true}, 8},
		"server error after a change":    {&client.Error{Status: 500, Code: api.CodeInternal, OutcomeUnknown: true}, 8},
		"503":                            {statusError(503, api.CodeUnavailable), 8},
		"400 without a code":             {statusError(400, "http_400"), 1},
		"404 without a code":             {statusError(404, "http_404"), 5},
		"410 with another code":          {statusError(410, "GONE"), 5},
		"409 without a code":             {statusError(409, "http_409"), 6},
		"502 of a proxy":                 {statusError(502, "http_502"), 8},
		"504 of a proxy":                 {statusError(504, "http_504"), 8},
		"timeout":                        {&client.Unreachable{Err: context.DeadlineExceeded}, 8},
		"interrupted":                    {context.Canceled, 130},
		"a full disk": {command.ExplainFailure(&fs.PathError{Op: "write", Path: os.Stdout.Name(),
			Err: syscall.ENOSPC}), 1},
		"interrupted while waiting": {&client.Unreachable{Err: context.Canceled, OutcomeUnknown: true}, 130},
		"wrapped with advice": {&command.Advised{Err: fmt.Errorf("perk x: %w",
			statusError(404, api.CodeNotFound))}, 5},
	} {
		if got := output.ExitCode(test.err); got != test.want {
			t.Errorf("%s: exit code %d, want %d", name, got, test.want)
		}
	}
}

func TestWriteError(t *testing.T) {
	refused := &client.Error{
		Status: 422, Code: api.CodeValidationFailed, Message: "Some values are not valid.", RequestID: "r-1",
		Fields: api.FieldErrors{"lat": {"must be between -90 and 90"}, "bedrooms": {"must not be\x1b[2J negative",
			"must be whole"}},
	}
	for name, test := range map[string]struct {
		err        error
		text, json string
	}{
		"field errors": {
			refused,
			"error: Some values are not valid.\n  bedrooms: must not be[2J negative\n  bedrooms: must be whole\n" +
				"  lat: must be between -90 and 90\n  (request r-1)\n",
			`{"error":{"code":"validation_failed","message":"Some values are not ` +
				`valid.","status":422,"errors":{"bedrooms":["must not be\u001b[2J negative","must be ` +
				`whole"],"lat":["must be between -90 and 90"]},"request_id":"r-1"}}` + "\n",
		},
		"wrapped field errors": {
			fmt.Errorf("property 7: %w", refused),
			"error: property 7: Some values are not valid.\n  bedrooms: must not be[2J negative\n  bedrooms: must be " +
				"whole\n  lat: must be between -90 and 90\n  (request r-1)\n",
			`{"error":{"code":"validation_failed","message":"property 7: Some values are not ` +
				`valid.","status":422,"errors":{"bedrooms":["must not be\u001b[2J negative","must be ` +
				`whole"],"lat":["must be between -90 and 90"]},"request_id":"r-1"}}` + "\n",
		},
		"wrong usage": {
			command.Usagef("No such flag."),
			"error: No such flag.\n",
			`{"error":{"code":"usage","message":"No such flag."}}` + "\n",
		},
		"advice": {
			&command.Advised{Err: &client.Unreachable{Address: "http://h/v2", Err: errors.New("reset"),
				OutcomeUnknown: true}, Advice: "Run again:\n  perksctl x"},
			"error: No reply from http://h/v2: reset. The request may have been carried out.\nRun again:\n  perksctl " +
				"x\n",
			`{"error":{"code":"outcome_unknown","message":"No reply from http://h/v2: reset. The request may have ` +
				`been carried out. Run again: perksctl x"}}` + "\n",
		},
		"advice of several lines, for programs with its parts": {
			&command.Advised{
				Err:    errors.New("no reply"),
				Advice: "Retry:\n  perksctl x\nOr check:\n  perksctl y\n  ^^^", Retry: "perksctl x", Key: "k",
			},
			"error: no reply\nRetry:\n  perksctl x\nOr check:\n  perksctl y\n  ^^^\n",
			`{"error":{"code":"failed","message":"no reply. Retry: ` + "`perksctl x`. Or check: perksctl y" +
				`","retry":"perksctl x","idempotency_key":"k"}}` + "\n",
		},
		"throttled": {
			&client.Error{Status: 429, Code: api.CodeRateLimited, Message: "Too fast.",
				RetryAfter: 29500 * time.Millisecond},
			"error: Too fast.\nTry again in 30s.\n",
			`{"error":{"code":"rate_limited","message":"Too fast.","status":429,"retry_after":30}}` + "\n",
		},
		"throttled, with the time in the message": {
			&client.Error{Status: 429, Code: api.CodeRateLimited, Message: "Too fast. Try again in 2 s.",
				RetryAfter: 2 * time.Second},
			"error: Too fast. Try again in 2 s.\n",
			`{"error":{"code":"rate_limited","message":"Too fast. Try again in 2 s.","status":429,"retry_after":2}}` +
				"\n",
		},
		"no retry advice for an unknown outcome": {
			&client.Error{Status: 503, Code: api.CodeUnavailable, Message: "Busy.", RetryAfter: time.Second,
				OutcomeUnknown: true},
			"error: Busy.\n",
			`{"error":{"code":"unavailable","message":"Busy.","status":503,"retry_after":1}}` + "\n",
		},
		"advice and a time to wait": {
			&command.Advised{Err: &client.Error{Status: 503, Code: api.CodeUnavailable, Message: "Busy.",
				RetryAfter: time.Minute}, Advice: "Not tried: 7."},
			"error: Busy.\nTry again in 1m0s.\nNot tried: 7.\n",
			`{"error":{"code":"unavailable","message":"Busy. Not tried: 7.","status":503,"retry_after":60}}` + "\n",
		},
		"interrupted": {
			&client.Unreachable{Address: "http://h/v2", Err: context.Canceled},
			"error: Interrupted.\n",
			`{"error":{"code":"interrupted","message":"Interrupted."}}` + "\n",
		},
		"a message of several lines": {
			errors.New("first\nsecond"),
			"error: first\nsecond\n",
			`{"error":{"code":"failed","message":"first second"}}` + "\n",
		},
	} {
		for asJSON, want := range map[bool]string{false: test.text, true: test.json} {
			s, out, got := command.BufferedStreams("")
			output.WriteError(s, test.err, asJSON)
			if got.String() != want || out.Len() > 0 {
				t.Errorf("%s (JSON %t):\n got %s\nwant %s", name, asJSON, got, want)
			}
		}
	}
}
