package main

import (
	"context"
	"fmt"

	"example.com/perks/cmd/dev/programs"
)

// prepare makes a client and sample data, starts the server on a free loopback port and logs perksctl in.
func prepare(ctx context.Context, s *shell) (*programs.Service, error) {
	const id = "demo"
	secret, err := s.NewClient(ctx, "Demo", id)
	if err != nil {
		return nil, err
	}
	if err := s.step(ctx, step{
		say:     "An operator loads sample data: perks, users, and rental listings that belong to the client 'demo'.",
		command: []string{"perksd", "demo-data", "--perks", "2000", "--users", "200", "--properties", "20", "--owner", id},
	}); err != nil {
		return nil, err
	}
	server, err := s.Serve()
	if err != nil {
		return nil, err
	}
	s.say("The server runs at " + server.Address + ". Logging in asks for a token before anything is saved.")
	login := []string{"perksctl", "auth", "login", "--api-url", server.Address + "/v2", "--client-id", id, "--secret-stdin"}
	fmt.Fprintf(s.out, "$ %s < secret\n", quoted(login))
	output, err := s.output(ctx, step{command: login, input: secret + "\n"})
	fmt.Fprint(s.out, indented(output))
	if err != nil {
		return nil, fmt.Errorf("%w; the server's log is %s", err, server.Log)
	}
	return server, nil
}
