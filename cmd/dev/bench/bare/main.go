// Command bare is the yardstick for perksd's reads: a handler over net/http and pgx that answers GET
// /v2/partners/perks/{id} with the same bytes, and checks nothing. It knows no tokens, no limits, no conditional
// requests, and keeps no log.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/perks/api"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, os.Getenv("BARE_DATABASE")); err != nil {
		fmt.Fprintln(os.Stderr, "bare:", err)
		os.Exit(1)
	}
}

// serve answers on a free loopback port, which it names on stderr, until ctx ends.
func serve(ctx context.Context, database string) error {
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
	routes.Handle("GET /v2/partners/perks/{id}", perkHandler{pool})
	server := &http.Server{Handler: routes}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	fmt.Fprintf(os.Stderr, "listening on http://%s\n", listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

type perkHandler struct{ pool *pgxpool.Pool }

const readPerk = `SELECT id, title, description, category, merchant_name, image_url, discount_text, terms, valid_from, valid_to, city,
	created_at, updated_at FROM perks WHERE id = $1`

func (h perkHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rows, err := h.pool.Query(r.Context(), readPerk, r.PathValue("id"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	perk, err := pgx.CollectExactlyOneRow(rows, scanPerk)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(perk) // who has gone needs no answer
}

func scanPerk(row pgx.CollectableRow) (p api.Perk, err error) {
	err = row.Scan(&p.ID, &p.Title, &p.Description, &p.Category, &p.MerchantName, &p.ImageURL, &p.DiscountText, &p.Terms,
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
