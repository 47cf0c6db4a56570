package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

const getPath = "/partners/perks/coffee-2for1" // one of the sample perks

// getTargets are by how many ask at once. Few have little to share.
var getTargets = []struct {
	connections int
	target      target
}{{manyConnections, target{0.9, atLeast}}, {16, target{}}, {1, target{}}}

// measureGet compares reading one perk, its token checked, with the bare handler over the same database.
func measureGet(ctx context.Context, l *lab) (result *table, err error) {
	c, err := startPostgres(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	if _, err := l.operate(ctx, address(c), nil, "demo-data", "--perks", "10000", "--users", "0"); err != nil {
		return nil, err
	}
	perksd, err := l.serve(ctx, address(c))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, perksd.stop()) }()
	bareProcess, err := l.start(ctx, "bare", []string{"BARE_DATABASE=" + address(c)})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, bareProcess.stop()) }()
	bare := &service{bareProcess, perksd.token}
	if err := requireSameAnswer(ctx, perksd, bare); err != nil {
		return nil, err
	}

	generator, read := newReader()
	result = newTable("Reading one perk (`get`)", "`GET /perks/{id}` over PostgreSQL, token checked", "perksd", "bare handler")
	for _, at := range getTargets {
		of := func(s *service) func(context.Context) (float64, error) {
			return func(ctx context.Context) (float64, error) { return read(ctx, s, getPath, at.connections, l.time) }
		}
		rates, err := l.inTurn(ctx, fmt.Sprintf("get at %d", at.connections), contender{"perksd", of(perksd)}, contender{"bare handler", of(bare)})
		if err != nil {
			return nil, err
		}
		result.add(rates[0]/rates[1], at.target, fmt.Sprintf("%d at once", at.connections), rate(rates[0]), rate(rates[1]))
	}
	result.note("Load by %s on the same machine.", generator)
	return result, nil
}

// requireSameAnswer makes sure that both do the same work.
func requireSameAnswer(ctx context.Context, services ...*service) error {
	var first []byte
	for _, s := range services {
		body, err := s.fetch(ctx, getPath)
		if err != nil {
			return err
		}
		if first != nil && !bytes.Equal(first, body) {
			return fmt.Errorf("the services compared give different answers:\n%s%s", first, body)
		}
		first = body
	}
	return nil
}

// fetch returns the body at an address of the API.
func (s *service) fetch(ctx context.Context, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url(path), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+s.token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s was answered with status %d: %s", s.url(path), response.StatusCode, body)
	}
	return body, nil
}
