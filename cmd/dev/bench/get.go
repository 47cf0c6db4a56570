package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/perks/api"
)

const getPath = "/partners/perks/coffee-2for1" // one of the sample perks

// getTargets are by how many ask at once. Few have little to share.
var getTargets = []struct {
	connections int
	target      target
}{{manyConnections, target{0.9, atLeast}}, {16, target{}}, {1, target{}}}

// measureGet compares reading one perk, its token checked, with the bare handler on the same database.
func measureGet(ctx context.Context, l *harness) (*table, error) {
	c, err := l.postgres(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := l.runPerksd(ctx, address(c), nil, "demo-data", "--perks", "10000", "--users", "0"); err != nil {
		return nil, err
	}
	perksd, err := l.serve(ctx, address(c))
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command := exec.Command(self, "bare")
	command.Env = []string{"BARE_DATABASE=" + address(c)}
	bareAddress, err := l.start(command)
	if err != nil {
		return nil, err
	}
	bare := &service{address: bareAddress, token: perksd.token}
	ours, err := perksd.fetch(ctx, getPath)
	if err != nil {
		return nil, err
	}
	// or they do not do the same work
	if theirs, err := bare.fetch(ctx, getPath); err != nil || !bytes.Equal(ours, theirs) {
		return nil, fmt.Errorf("the services compared give different responses (%v):\n%s%s", err, ours, theirs)
	}

	generator, read := "wrk", (*service).wrk
	if _, err := exec.LookPath("wrk"); err != nil {
		generator, read = "the Go load generator", (*service).repeatForRate
	}
	result := newTable("Reading one perk (`get`)", "`GET /perks/{id}` over PostgreSQL, token checked", "perksd",
		"bare handler")
	for _, at := range getTargets {
		of := func(s *service) func(context.Context) (float64, error) {
			return func(ctx context.Context) (float64, error) {
				return read(s, ctx, getPath, Plan{Connections: at.connections, Time: l.time})
			}
		}
		rates, err := l.alternate(ctx, fmt.Sprintf("get at %d", at.connections), contender{"perksd", of(perksd)},
			contender{"bare handler", of(bare)})
		if err != nil {
			return nil, err
		}
		result.add(rates[0]/rates[1], at.target, fmt.Sprintf("%d at once", at.connections), rate(rates[0]),
			rate(rates[1]))
	}
	result.note("Load by %s on the same machine.", generator)
	return result, nil
}

// repeatForRate returns how many responses came in a second.
func (s *service) repeatForRate(ctx context.Context, path string, plan Plan) (float64, error) {
	report, err := s.repeat(ctx, path, plan)
	return report.Rate(), err
}

// wrk is repeatForRate by a program that leaves more of the processors to the server.
func (s *service) wrk(ctx context.Context, path string, plan Plan) (float64, error) {
	command := exec.CommandContext(ctx, "wrk", "--threads", "1", "--connections", strconv.Itoa(plan.Connections),
		"--duration", fmt.Sprint(plan.Time), "--header", "Authorization: Bearer "+s.token, s.url(path))
	output, err := command.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("wrk: %w: %s", err, output)
	}
	return readWrk(output)
}

var (
	wrkRate     = regexp.MustCompile(`Requests/sec:\s+([0-9.]+)`)
	wrkFailures = regexp.MustCompile(`Non-2xx or 3xx responses: [0-9]+|Socket errors: .*`)
)

// readWrk takes the rate from what wrk prints, unless a request failed.
func readWrk(output []byte) (float64, error) {
	if failures := wrkFailures.Find(output); failures != nil {
		return 0, fmt.Errorf("wrk: requests failed: %s", failures)
	}
	found := wrkRate.FindSubmatch(output)
	if found == nil {
		return 0, fmt.Errorf("wrk printed no rate: %s", output)
	}
	return strconv.ParseFloat(string(found[1]), 64)
}

// serveBare is what perksd's reads are compared with: a handler with net/http and pgx that returns the same bytes for
// GET /v2/partners/perks/{id}, without tokens, limits, conditional requests or a log. It listens on a free loopback
// port, which it prints on stderr, until ctx ends.
func serveBare(ctx context.Context, database string) error {
	pool, err := pgxpool.New(ctx, database)
	if err != nil {
		return errors.New("the address in BARE_DATABASE cannot be read")
	}
	defer pool.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	routes := http.NewServeMux()
	routes.HandleFunc("GET /v2/partners/perks/{id}", func(w http.ResponseWriter, r *http.Request) {
		rows, _ := pool.Query(r.Context(), readPerk, r.PathValue("id")) // which tell the error
		perk, err := pgx.CollectExactlyOneRow(rows, scanPerk)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		_ = encoder.Encode(perk) // the client may have gone
	})
	server := &http.Server{Handler: routes}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	fmt.Fprintf(os.Stderr, "listening on http://%s\n", listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

const readPerk = `SELECT id, title, description, category, merchant_name, image_url, discount_text, terms, valid_from,
	valid_to, city, created_at, updated_at FROM perks WHERE id = $1`

func scanPerk(row pgx.CollectableRow) (p api.Perk, err error) {
	err = row.Scan(&p.ID, &p.Title, &p.Description, &p.Category, &p.MerchantName, &p.ImageURL, &p.DiscountText,
		&p.Terms,
		&p.ValidFrom, &p.ValidTo, &p.City, &p.CreatedAt, &p.UpdatedAt)
	p.CreatedAt, p.UpdatedAt = p.CreatedAt.UTC(), p.UpdatedAt.UTC()
	if p.ValidFrom != nil {
		*p.ValidFrom = p.ValidFrom.UTC()
	}
	if p.ValidTo != nil {
		*p.ValidTo = p.ValidTo.UTC()
	}
	return p, err
}
