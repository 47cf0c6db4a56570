package record

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/operation"
	"example.com/perks/api/rows"
	"example.com/perks/cli/bulk"
	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

// NewCreate makes the command create. about is the beginning of its description, and examples are lines.
func (k *Kind[I, R, P]) NewCreate(s *session.Session, about, examples string) *cobra.Command {
	var key command.IdempotencyKey
	fields, file := &changes{}, &bulk.Flags{}
	cmd := session.Writes[Versioned[R]](s, &cobra.Command{
		Use:   "create [--file FILE]",
		Short: "Create a " + k.Name + ", or many",
		Long: about + "The\n" +
			"request carries an idempotency key: a retry with the same key " +
			"cannot create a second one. If the reply is\n" +
			"lost, perksctl retries with the key; if the outcome stays " +
			"unknown, it exits with code 8 and shows the command to run.\n\n" + k.createFileHelp(),
		Example: examples,
		Args:    command.OrFile(&file.File, command.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := file.Check(cmd, aboutOne(k.newFields())...); err != nil {
				return err
			}
			if file.File != "" {
				return k.runCreateFile(cmd.Context(), s, *file)
			}
			again, err := key.Take(cmd)
			if err != nil {
				return err
			}
			typed, object, err := fields.given(cmd, namesOf(k.newFields()), s.Streams.In)
			if err != nil {
				return err
			}
			id, patch, err := k.New(api.JoinMembers(typed, object))
			if invalid, ok := errors.AsType[*api.Error](err); ok {
				return &command.UsageError{Message: "The " + k.Name + " was not " +
					"created, because some values are missing or not valid.", Fields: invalid.Fields}
			}
			return k.runCreate(cmd.Context(), s, id, patch, key.Value, again, file.DryRun)
		},
	})
	fields.bind(cmd, k.newFields())
	key.Bind(cmd)
	file.Bind(cmd)
	file.BindResends(cmd)
	return cmd
}

func (k *Kind[I, R, P]) runCreate(
	ctx context.Context, s *session.Session, id I, fields P, key string, given []string, dryRun bool,
) error {
	printer, err := output.New[Versioned[R]](s.Output, s.Streams, k.View)
	if err == nil {
		err = k.checkMayChange(s)
	}
	if err != nil {
		return err
	}
	if dryRun {
		return s.DryRun(ctx, func(c *client.Client) error {
			_, _, err := k.Create(c, ctx, id, fields, key)
			return err
		})
	}
	c, connection, err := s.Connect()
	if err != nil {
		return err
	}
	creating := k.NewCreating(id, fields, key).Send(ctx, c)
	if creating.Err != nil {
		again := append(s.CommandLine(k.Name, "create"), given...)
		return AdviseRetry(ctx, c, creating.Err, "created", key, again, k.look(s, id))
	}
	created := creating.Result
	if creating.Replayed {
		s.Streams.Warn("Nothing was created now: this key was used before. This is the response from then.")
	} else {
		s.Streams.Note("Created %s at %s.", k.Named(k.IDOf(created.Record)), connection)
	}
	return printer.One(ctx, Versioned[R](created))
}

// newFields are the fields of a new record.
func (k *Kind[I, R, P]) newFields() []api.Field {
	if !k.TakesID {
		return k.Fields()
	}
	id := api.Field{Name: k.IDColumn.Name, Help: "the id; without one, the service chooses it"}
	return append([]api.Field{id}, k.Fields()...)
}

// AdviseRetry adds to an unknown outcome, as that of an interrupted request is, how to run the command again under its
// key, or to look whether it is done.
func AdviseRetry(ctx context.Context, c *client.Client, err error, done, key string, again, look []string) error {
	if ctx.Err() != nil && !client.OutcomeUnknown(err) {
		err = &client.Unreachable{Address: c.BaseURL(), Err: ctx.Err(), OutcomeUnknown: true}
	}
	if !client.OutcomeUnknown(err) {
		return err
	}
	retry := command.Quote(again)
	return &command.Advised{
		Err: err, Retry: retry, Key: key,
		Advice: command.RetryAdvice(c.HonoursKeys(), done, retry, command.Quote(look)),
	}
}

// look is the command that shows whether a record was created.
func (k *Kind[I, R, P]) look(s *session.Session, id I) []string {
	if id != "" {
		return s.CommandLine(k.Name, "get", string(id))
	}
	return s.CommandLine(append([]string{k.Name, "list"}, k.OwnList...)...)
}

func (k *Kind[I, R, P]) createFileHelp() string {
	return fmt.Sprintf(`With --file, create a %s for each row of a CSV file or of JSON lines. The columns are
%s and optionally the other fields. Each row has its own idempotency key, so no row creates two
%s. If the service has not shown that it honours these keys, a row whose reply is lost is not sent again: it
stays unknown. --resend-unknown says that it does not matter if one is created twice.

`, k.Name, strings.Join(k.Required, ", "), k.Plural) + command.FileHelp
}

func (k *Kind[I, R, P]) runCreateFile(ctx context.Context, s *session.Session, flags bulk.Flags) error {
	if err := k.checkMayChange(s); err != nil {
		return err
	}
	known := &bulk.KnownColumns{}
	for _, field := range namesOf(k.newFields()) {
		isRequired := slices.Contains(k.Required, field)
		known.Columns = append(known.Columns, bulk.Column{Name: field, Required: isRequired})
	}
	run := &creations{resends: flags.Resends}
	return bulk.Run(ctx, s, flags, bulk.Work{
		Name: k.Name + " create", HonoursKeys: (*client.Client).HonoursKeys, Resends: flags.Resends,
		Parse: func(row rows.Row) (operation.Task, error) {
			values, err := known.Read(row)
			if err != nil {
				return nil, err
			}
			t := &creation[I, R, P]{creations: run, kind: k, line: row.Line}
			t.Kind = k.EditKind
			t.ID, t.Fields, err = k.New(fieldsOf(values, namesOf(k.newFields())))
			return t, err
		}})
}

// creations are what the rows of a file with new records share.
type creations struct {
	probe   sync.Once // of whether the service honours keys
	resends bool      // nobody minds if a record is created twice
}

// creation is the new record of a row.
type creation[I ~string, R any, P operation.Patch[R, P]] struct {
	*creations
	operation.Create[I, R, P]
	kind *Kind[I, R, P]
	line int
}

// Subject is the record, or the row if the service chooses an id: then each makes a record of its own.
func (t *creation[I, R, P]) Subject() string {
	if t.ID != "" {
		return "=" + t.kind.Subject(t.ID)
	}
	return strconv.Itoa(t.line)
}

func (t *creation[I, R, P]) Send(
	ctx context.Context, c *client.Client, key string,
) (o operation.Outcome, replayed bool, err error) {
	t.Client = c
	created, replayed, err := t.Create.Send(ctx, key)
	if err != nil {
		return o, false, err
	}
	o = operation.Outcome{ID: string(t.kind.IDOf(created.Record)), Kind: t.kind.InResults,
		Status: http.StatusCreated,
		Action: operation.Created, ETag: created.ETag}
	if o.ETag == "" { // then nothing else tells whether it is still as it was created
		o.After, err = api.EncodeJSON(t.Fields)
	}
	return o, replayed, err
}

// Observe asks whether the service honours keys, so that a row whose reply is lost can be sent again.
func (t *creation[I, R, P]) Observe(ctx context.Context, c *client.Client) {
	t.probe.Do(func() { c.ProbeKeys(ctx) })
}

// LookUp cannot tell whether the row has created a record: only its key can.
func (t *creation[I, R, P]) LookUp(
	ctx context.Context, c *client.Client, since time.Time, _ func(string) bool,
) (operation.Outcome, operation.Event, error) {
	t.Client = c
	_, event, err := t.Create.LookUp(ctx, since)
	if event == operation.Match && t.resends && !c.HonoursKeys() {
		event = operation.Absent // so that it is sent again
	}
	return operation.Outcome{}, event, err
}

// Predict needs nothing of the service.
func (t *creation[I, R, P]) Predict(context.Context, *client.Client) operation.Prediction {
	var none R
	return operation.Prediction{Message: fmt.Sprintf("%s %q would be created.", strings.TrimSpace(t.kind.Titled(t.ID)),
		t.kind.title(with(none, t.Fields)))}
}

// After allows rows that say the same, unless they name one id: they create two records.
func (t *creation[I, R, P]) After(line int) error {
	if t.ID == "" {
		return nil
	}
	return api.Errorf(api.CodeConflict, "Line %d already creates %s.", line, t.kind.Named(t.ID))
}
