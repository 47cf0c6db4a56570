package session

import (
	"context"
	"errors"

	"example.com/perks/api/client"
	"example.com/perks/cli/output"
)

// Rehearse runs a change against a client that sends nothing, not even for a token, and writes the requests that the
// change would have made. Requests that fail with client.ErrRehearsed are what is expected.
func (s *Session) Rehearse(ctx context.Context, change func(*client.Client) error) error {
	connection, err := s.Connection()
	if err != nil {
		return err
	}
	options := s.Output
	options.Fields = nil // they are the fields of the answer, and there is none
	printer, err := output.New[client.Sketch](options, s.Streams, output.View{ID: "url"})
	if err != nil {
		return err
	}
	rehearsal := &client.Rehearsal{}
	config, err := s.clientConfig(connection)
	if err != nil {
		return err
	}
	config.Tokens = client.StaticToken("none")
	config.Transport = rehearsal
	config.Trace = nil
	c, err := client.New(config)
	if err != nil {
		return err
	}
	if err := change(c); err != nil && !errors.Is(err, client.ErrRehearsed) {
		return err
	}
	s.Streams.Note("Nothing was sent to %s.", connection.APIURL)
	return printer.Few(ctx, rehearsal.Sketches())
}
