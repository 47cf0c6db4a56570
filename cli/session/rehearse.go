package session

import (
	"context"
	"encoding/json"
	"errors"

	"example.com/perks/api/client"
	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
)

// Forecast is what a change would come to, as far as reading can tell.
type Forecast struct {
	Outcome string   `json:"outcome"` // one of the three below
	Code    string   `json:"code"`    // of the error that is to be expected; "" if none is
	Message string   `json:"message"` // for people
	Changes []Change `json:"changes"`
}

// The outcomes of a Forecast.
const (
	WouldWork  = "ok"
	WouldFail  = "failed"
	CannotTell = "unknown" // the service could not be read
)

// Change is what would become of a field.
type Change struct {
	Field string          `json:"field"`
	From  json.RawMessage `json:"from"`
	To    json.RawMessage `json:"to"`
}

// ForecastOf describes what a check has found: the changes, or the error that is to be expected.
func ForecastOf(message string, changes []Change, err error) Forecast {
	if changes == nil {
		changes = []Change{}
	}
	if err == nil {
		return Forecast{Outcome: WouldWork, Message: message, Changes: changes}
	}
	report := command.NewReport(err)
	f := Forecast{Outcome: CannotTell, Code: report.Code, Message: report.Sentence(), Changes: changes}
	switch command.ExitCode(err) {
	case command.ExitUsage, command.ExitNotFound, command.ExitConflict, command.ExitFailed:
		f.Outcome = WouldFail
	}
	return f
}

// rehearsed is a request that would have been sent, and what it would have come to.
type rehearsed struct {
	client.Sketch
	Forecast Forecast `json:"forecast"`
}

// Rehearse runs a change against a client that sends nothing, not even for a token, and writes the requests that the
// change would have made. Requests that fail with client.ErrRehearsed are what is expected.
func (s *Session) Rehearse(ctx context.Context, change func(*client.Client) error) error {
	connection, sketches, err := s.sketch(change)
	if err != nil {
		return err
	}
	s.Streams.Note("Nothing was sent to %s.", connection.APIURL)
	return writeRehearsal(ctx, s, sketches)
}

// RehearseWith does the same, and asks predict, which may only read, what would become of each request. The first that would
// fail is the error.
func (s *Session) RehearseWith(ctx context.Context, change func(*client.Client) error, predict func(c *client.Client, at int) (string, []Change, error)) error {
	connection, sketches, err := s.sketch(change)
	if err != nil {
		return err
	}
	c, _, err := s.Connect()
	if err != nil {
		return err
	}
	records := make([]rehearsed, len(sketches))
	var first error
	for at, sketch := range sketches {
		message, changes, err := predict(c, at)
		records[at] = rehearsed{sketch, ForecastOf(message, changes, err)}
		if first == nil {
			first = err
		}
		if err == nil {
			s.Streams.Note("%s", message)
		}
	}
	s.Streams.Note("No change was sent to %s.", connection.APIURL)
	return errors.Join(first, writeRehearsal(ctx, s, records))
}

func (s *Session) sketch(change func(*client.Client) error) (Connection, []client.Sketch, error) {
	connection, err := s.Connection()
	if err != nil {
		return connection, nil, err
	}
	rehearsal := &client.Rehearsal{}
	config, err := s.clientConfig(connection)
	if err != nil {
		return connection, nil, err
	}
	config.Tokens = client.StaticToken("none")
	config.Transport = rehearsal
	config.Trace = nil
	c, err := client.New(config)
	if err != nil {
		return connection, nil, err
	}
	if err := change(c); err != nil && !errors.Is(err, client.ErrRehearsed) {
		return connection, nil, err
	}
	return connection, rehearsal.Sketches(), nil
}

func writeRehearsal[T any](ctx context.Context, s *Session, records []T) error {
	options := s.Output
	options.Fields = nil // they are the fields of the answer, and there is none
	printer, err := output.New[T](options, s.Streams, output.View{ID: "url"})
	if err != nil {
		return err
	}
	return printer.Few(ctx, records)
}
