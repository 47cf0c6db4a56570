package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/api/operation"
	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
)

// The budgets of a single command. It waits longer if the server asks for it: otherwise the server may be down, and a
// person should know soon.
const (
	defaultWaitBudget    = 30 * time.Second
	defaultBackoffBudget = 3 * time.Second
)

// watched is the client of all rounds of a watch, once there is one, and what it has seen.
type watched struct {
	client     *client.Client
	connection Connection
	seen       client.Memory
}

// Watch prepares for a command that reads the same again and again: Connect returns one client from now on, which asks
// only for changes, and --timeout limits each request.
func (s *Session) Watch() { s.Open, s.watched = true, &watched{} }

// Connect returns a client of the service and where it goes. Nothing is sent yet.
func (s *Session) Connect() (*client.Client, Connection, error) {
	if s.watched != nil && s.watched.client != nil {
		return s.watched.client, s.watched.connection, nil
	}
	c, connection, err := s.connect()
	if s.watched != nil && err == nil {
		s.watched.client, s.watched.connection = c, connection
	}
	return c, connection, err
}

func (s *Session) connect() (*client.Client, Connection, error) {
	connection, err := s.Connection()
	if err != nil {
		return nil, Connection{}, err
	}
	tokens, err := s.tokens(connection)
	if err != nil {
		return nil, Connection{}, err
	}
	c, err := s.newClient(connection, func(config *client.Config) {
		known := s.memoOf(connection)
		config.Tokens, config.Position = tokens, known.position
		config.HonoursKeys, config.GivesETags, config.Unguarded = known.honoursKeys, known.givesETags, s.Unguarded
		config.OnUnnamed = func() {
			s.unnamed.Do(func() {
				s.Streams.Warn("The service does not keep who did this: its reply does not show the name %q.",
					connection.Actor)
			})
		}
		config.BeforeChange = func(ctx context.Context) error { return s.mayChange(ctx, connection) }
		config.OnWrapped = func() {
			s.wrapped.Do(func() {
				s.Streams.Note(`The service sends records inside of "data", unlike its specification. ` +
					`They are read all the same.`)
			})
		}
		if kept, err := s.responses(connection); err == nil && s.CacheFor > 0 {
			config.Cache, config.CacheFor = kept, s.CacheFor
		}
		if s.watched != nil {
			config.Cache = &s.watched.seen
		}
	})
	return c, connection, err
}

// proofLife is how long a service is believed that has shown something once.
const proofLife = 24 * time.Hour

// memo is what commands remember of a service for those after them.
type memo struct {
	client.Written
	KeysShown  time.Time `json:"keys_shown,omitzero"`  // when it has shown that it honours idempotency keys
	ETagsShown time.Time `json:"etags_shown,omitzero"` // when it has given an ETag of a listing
}

// remembered is a memo that a command continues.
type remembered struct {
	path                    string // "" where it can't be kept
	position                *client.Position
	honoursKeys, givesETags *atomic.Bool
	inFile                  memo
}

// memoOf returns the memo of the session's service, which the first connection reads.
func (s *Session) memoOf(connection Connection) *remembered {
	r := &s.memo
	s.remember.Do(func() {
		token, err := s.tokenPath(connection.Key())
		if err != nil {
			return // there is no directory
		}
		r.path = positionPath(token)
		// Without it a read may miss an earlier command's write for some seconds, and a change takes a request more.
		_ = command.ReadPrivateJSON(r.path, &r.inFile)
		proof := func(shown *time.Time) *atomic.Bool {
			if age := time.Since(*shown); age < 0 || age >= proofLife {
				*shown = time.Time{}
			}
			is := new(atomic.Bool)
			is.Store(!shown.IsZero())
			return is
		}
		r.honoursKeys, r.givesETags = proof(&r.inFile.KeysShown), proof(&r.inFile.ETagsShown)
		r.position = client.NewPosition(r.inFile.Written)
	})
	return r
}

// positionPath is beside the file of the token.
func positionPath(token string) string { return strings.TrimSuffix(token, ".json") + ".position.json" }

// Finish saves the memo for later commands.
func (s *Session) Finish() {
	r := &s.memo
	if r.path == "" {
		return
	}
	now := r.inFile
	now.Written = r.position.Written()
	for shown, is := range map[*time.Time]*atomic.Bool{&now.KeysShown: r.honoursKeys, &now.ETagsShown: r.givesETags} {
		if shown.IsZero() && is.Load() {
			*shown = time.Now().UTC()
		}
	}
	if now != r.inFile {
		_ = command.WritePrivateJSON(r.path, now) // see memoOf
	}
}

func (s *Session) newClient(connection Connection, adjust func(*client.Config)) (*client.Client, error) {
	config, err := s.clientConfig(connection)
	if err != nil {
		return nil, err
	}
	adjust(&config)
	return client.New(config)
}

// Command makes a command that writes records like T. Its printer refuses unknown fields before anything is done.
func Command[T any](
	s *Session, view output.View, cmd cobra.Command,
	run func(cmd *cobra.Command, args []string, printer *output.Printer[T]) error,
) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		printer, err := output.New[T](s.Output, s.Streams, view)
		if err != nil {
			return err
		}
		return run(cmd, args, printer)
	}
	return Writes[T](s, &cmd)
}

// Reading makes a command that reads from the service, and writes records like T.
func Reading[T any](
	s *Session, view output.View, cmd cobra.Command,
	run func(cmd *cobra.Command, args []string, printer *output.Printer[T], c *client.Client) error,
) *cobra.Command {
	return Command(s, view, cmd, func(cmd *cobra.Command, args []string, printer *output.Printer[T]) error {
		c, _, err := s.Connect()
		if err != nil {
			return err
		}
		return run(cmd, args, printer, c)
	})
}

// Begin prepares to read: a printer, which refuses unknown fields before anything is sent, and a client.
func Begin[T any](s *Session, view output.View) (*output.Printer[T], *client.Client, error) {
	printer, err := output.New[T](s.Output, s.Streams, view)
	if err != nil {
		return nil, nil, err
	}
	c, _, err := s.Connect()
	return printer, c, err
}

func (s *Session) clientConfig(connection Connection) (client.Config, error) {
	roots, err := s.Roots(connection.CACert)
	if err != nil {
		return client.Config{}, err
	}
	if s.deadline.IsZero() && s.Flags.Timeout > 0 && !s.Open {
		s.deadline = time.Now().Add(s.Flags.Timeout)
	}
	config := client.Config{
		BaseURL: connection.APIURL, Sandbox: connection.Sandbox, Roots: roots, UserAgent: "perksctl/" + s.Version,
		ClientID: connection.ClientID, Actor: connection.Actor,
		Timeout: s.Flags.Timeout, Deadline: s.deadline, WaitBudget: s.WaitBudget, BackoffBudget: s.BackoffBudget,
		OnWait: s.noteWaits(time.Now),
	}
	if s.WaitBudget == 0 {
		config.WaitBudget, config.BackoffBudget = defaultWaitBudget, defaultBackoffBudget
	}
	switch {
	case s.Flags.Debug && s.Trace != nil:
		config.Trace = display.Writer(s.Trace)
	case s.Flags.Debug:
		config.Trace = s.Streams.Lines("debug")
	}
	return config, nil
}

func (s *Session) obtain(ctx context.Context, connection Connection) (api.Token, error) {
	secret, err := s.secret(ctx, connection)
	if err != nil {
		return api.Token{}, err
	}
	c, err := s.newClient(connection, func(config *client.Config) { config.Actor = "" }) // a token has no actor
	if err != nil {
		return api.Token{}, err
	}
	return c.Token(ctx, client.Credentials{ID: connection.ClientID, Secret: secret})
}

func (s *Session) secret(ctx context.Context, connection Connection) (string, error) {
	if connection.secret != "" {
		if connection.ClientID == "" {
			return "", &command.NotLoggedIn{Message: EnvClientSecret + " is set, but no client id is known: set " +
				EnvClientID + " too."}
		}
		return connection.secret, nil
	}
	secrets, err := s.Secrets()
	if err != nil {
		return "", err
	}
	secret, err := secrets.Get(ctx, connection.Key())
	if errors.Is(err, ErrNoSecret) && s.env(EnvClientID) != "" {
		return "", &command.NotLoggedIn{Message: EnvClientID + " is set, but no secret is known for it: set " +
			EnvClientSecret + " too, or unset both to use a profile."}
	}
	if errors.Is(err, ErrNoSecret) {
		return "", &command.NotLoggedIn{Message: fmt.Sprintf("Not logged in at %s. Run: perksctl auth login",
			connection)}
	}
	return secret, err
}

// Prediction is what a change would do, as far as reading can tell.
type Prediction struct {
	Outcome string                  `json:"outcome"` // one of the three below
	Code    string                  `json:"code"`    // of the expected error, "" if none is
	Message string                  `json:"message"` // for people
	Changes []operation.FieldChange `json:"changes"`
}

// The outcomes of a Prediction.
const (
	WouldWork      = "ok"
	WouldFail      = "failed"
	WouldBeUnknown = "unknown" // the service could not be read
)

// NewPrediction describes what reading has found: the changes, or the expected error.
func NewPrediction(found operation.Prediction) Prediction {
	p := Prediction{Outcome: WouldWork, Message: found.Message, Changes: found.Changes}
	if p.Changes == nil {
		p.Changes = []operation.FieldChange{}
	}
	if found.Err == nil {
		return p
	}
	report := output.NewReport(found.Err)
	p.Outcome, p.Code, p.Message = WouldBeUnknown, report.Code, report.Sentence()
	switch output.ExitCode(found.Err) {
	case command.ExitUsage, command.ExitNotFound, command.ExitConflict, command.ExitFailed:
		p.Outcome = WouldFail
	}
	return p
}

// DryRun runs a change with a client that sends nothing, not even for a token, and writes the requests that the change
// would make.
func (s *Session) DryRun(ctx context.Context, change func(*client.Client) error) error {
	connection, requests, err := s.dryRun(change)
	if err != nil {
		return err
	}
	s.Streams.Note("Nothing was sent to %s.", connection.APIURL)
	return writeDryRun(ctx, s, requests)
}

// PredictedDryRun also calls predict, which may only read, for what each request would do. It returns the error of the
// first that would fail.
func (s *Session) PredictedDryRun(
	ctx context.Context, change func(*client.Client) error,
	predict func(c *client.Client, at int) operation.Prediction,
) error {
	connection, requests, err := s.dryRun(change)
	if err != nil {
		return err
	}
	c, _, err := s.Connect()
	if err != nil {
		return err
	}
	type predicted struct {
		client.DryRequest
		Prediction Prediction `json:"forecast"`
	}
	records := make([]predicted, len(requests))
	var first error
	for at, request := range requests {
		found := predict(c, at)
		records[at] = predicted{request, NewPrediction(found)}
		first = cmp.Or(first, found.Err)
		if found.Err == nil {
			s.Streams.Note("%s", found.Message)
		}
	}
	s.Streams.Note("No change was sent to %s.", connection.APIURL)
	return errors.Join(first, writeDryRun(ctx, s, records))
}

// dryRun returns the requests that a change would make.
func (s *Session) dryRun(change func(*client.Client) error) (Connection, []client.DryRequest, error) {
	connection, err := s.Connection()
	if err != nil {
		return connection, nil, err
	}
	dry := &client.DryRun{}
	c, err := s.newClient(connection, func(config *client.Config) {
		config.Tokens, config.Transport, config.Trace = client.StaticToken("none"), dry, nil
	})
	if err == nil {
		err = change(c)
	}
	if errors.Is(err, client.ErrDryRun) {
		err = nil
	}
	return connection, dry.Requests(), err
}

func writeDryRun[T any](ctx context.Context, s *Session, records []T) error {
	options := s.Output
	options.Fields = nil // those of the reply, which a dry run does not have
	printer, err := output.New[T](options, s.Streams, output.View{ID: "url"})
	if err != nil {
		return err
	}
	return printer.OneOrList(ctx, records)
}
