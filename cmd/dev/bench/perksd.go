package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"

	"example.com/perks/api/client"
)

// operate runs one of perksd's commands on a database and returns what it printed.
func (l *lab) operate(ctx context.Context, database string, input io.Reader, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, filepath.Join(l.programs, "perksd"), append(args, "--database", database)...)
	var output, problems bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = input, &output, &problems
	if err := command.Run(); err != nil {
		return nil, errors.Join(ctx.Err(), fmt.Errorf("perksd %s: %w: %s", args[0], err, bytes.TrimSpace(problems.Bytes())))
	}
	return output.Bytes(), nil
}

// service is a perksd that serves, and a token for it.
type service struct {
	*process
	token string
}

// serve starts perksd over a database, with a client that may do everything.
func (l *lab) serve(ctx context.Context, database string) (*service, error) {
	credentials, err := l.newClient(ctx, database)
	if err != nil {
		return nil, err
	}
	p, err := l.start(ctx, "perksd", nil, "serve", "--addr", "127.0.0.1:0", "--database", database)
	if err != nil {
		return nil, err
	}
	s := &service{process: p}
	if s.token, err = s.login(ctx, credentials); err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return s, nil
}

func (l *lab) newClient(ctx context.Context, database string) (client.Credentials, error) {
	created, err := l.operate(ctx, database, nil, "client", "create", "--name", "Bench", "-o", "json")
	if err != nil {
		return client.Credentials{}, err
	}
	var made struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	if err := json.Unmarshal(created, &made); err != nil {
		return client.Credentials{}, fmt.Errorf("reading the new client: %w", err)
	}
	return client.Credentials{ID: made.ID, Secret: made.Secret}, nil
}

func (s *service) login(ctx context.Context, credentials client.Credentials) (string, error) {
	c, err := client.New(client.Config{BaseURL: s.url("")})
	if err != nil {
		return "", err
	}
	token, err := c.Token(ctx, credentials)
	return token.AccessToken, err
}

// url is an address of the API, such as url("/partners/perks").
func (s *service) url(path string) string { return "http://" + s.address + "/v2" + path }

// get is a request for an address of the API, as it goes over the wire.
func (s *service) get(path string) []byte {
	return fmt.Appendf(nil, "GET /v2%s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", path, s.address, s.token)
}
