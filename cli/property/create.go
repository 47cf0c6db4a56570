package property

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/operation"
	"example.com/perks/api/rows"
	"example.com/perks/cli/bulk"
	"example.com/perks/cli/command"
	"example.com/perks/cli/completion"
	"example.com/perks/cli/list"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

func newList(s *session.Session) *cobra.Command {
	return list.Kind[api.PropertyFilter, api.Property]{
		Fields: api.PropertyFilterFields, Sort: api.PropertySortFields(), View: listView,
		Values: list.Values{"city": completion.CitiesOfProperties(s)},
		Check: func(filter api.PropertyFilter) error {
			switch name, _ := filter.Problem(); name {
			case "max_price":
				return command.Usagef("--max-price must not be below --min-price.")
			case "max_bedrooms":
				return command.Usagef("--max-bedrooms must not be below --min-bedrooms.")
			}
			return nil
		},
		Pages: (*client.Client).PropertyPages,
	}.Command(s, cobra.Command{
		Use:   "list",
		Short: "List properties, the newest first",
		Long: "List properties, newest first: those of all clients, or " +
			"without the scope properties:read, only your own. Counts stop at\n" +
			"200; --all shows all properties.\n\n" +
			"--query takes words and filters: city: price: bedrooms: " +
			"+own. A range is 2..5, 2.. or ..5, with its ends. Keys may be\n" +
			"shortened (bed:2..). Quotes hold blanks (city:\"New York\").",
		Example: "  perksctl property list --city Berlin --max-price 400 --min-bedrooms 2 --sort price_pw\n" +
			"  perksctl property list --query 'garden city:rome price:100..250 bedrooms:2..'\n" +
			"  perksctl property list --own --all --output csv",
	})
}

func newCreate(s *session.Session) *cobra.Command {
	var key command.IdempotencyKey
	fields, file := &changes{}, &bulk.Flags{}
	cmd := session.Writes[versioned](s, &cobra.Command{
		Use:   "create [--file FILE]",
		Short: "Create a property, or many",
		Long: "Create a property that belongs to your client, and show it. " +
			"It needs a title and a price; the service chooses its id. The\n" +
			"request carries an idempotency key: a retry with the same key " +
			"cannot create a second one. If the reply is\n" +
			"lost, perksctl retries with the key; if the outcome stays " +
			"unknown, it exits with code 8 and shows the command to run.\n\n" + createFileHelp,
		Example: "  perksctl property create --title 'Two rooms by " +
			"the canal' --price-pw 295.50 --city Leeds --bedrooms 2\n" +
			"  perksctl property create --from-file flat.json --set lat=53.8 --set lng=-1.55\n" +
			"  perksctl property create --file flats.csv --failed again.csv",
		Args: command.OrFile(&file.File, command.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := file.Check(cmd, aboutOne()...); err != nil {
				return err
			}
			if file.File != "" {
				return runCreateFile(cmd.Context(), s, *file)
			}
			again, err := key.Take(cmd)
			if err != nil {
				return err
			}
			typed, object, err := fields.given(cmd, s.Streams.In)
			if err != nil {
				return err
			}
			listing, err := newListing(api.JoinMembers(typed, object))
			if invalid, ok := errors.AsType[*api.Error](err); ok {
				return &command.UsageError{Message: "The property was not " +
					"created, because some values are missing or not valid.", Fields: invalid.Fields}
			}
			return runCreate(cmd.Context(), s, listing, key.Value, again, file.DryRun)
		},
	})
	fields.bind(cmd)
	key.Bind(cmd)
	file.Bind(cmd)
	file.BindResends(cmd)
	return cmd
}

// newListing reads the fields of a new property.
func newListing(members []api.Member) (api.PropertyPatch, error) {
	property, err := api.ParseNewProperty(members)
	fields := api.PropertyChanges(api.Property{}, property)
	fields.PricePW = api.Some(property.PricePW) // required, also where it is 0
	return fields, err
}

func runCreate(
	ctx context.Context, s *session.Session, fields api.PropertyPatch, key string, given []string, dryRun bool,
) error {
	printer, err := output.New[versioned](s.Output, s.Streams, listView)
	if err == nil {
		err = checkNotSandbox(s)
	}
	if err != nil {
		return err
	}
	if dryRun {
		return s.DryRun(ctx, func(c *client.Client) error {
			_, _, err := c.CreateProperty(ctx, fields, key)
			return err
		})
	}
	c, connection, err := s.Connect()
	if err != nil {
		return err
	}
	creating := operation.Properties.NewCreating("", fields, key).Send(ctx, c)
	err = creating.Err
	if ctx.Err() != nil && err != nil && !client.OutcomeUnknown(err) {
		err = &client.Unreachable{Address: c.BaseURL(), Err: ctx.Err(), OutcomeUnknown: true}
	}
	if client.OutcomeUnknown(err) {
		again := append(s.CommandLine("property", "create"), given...)
		return &command.Advised{
			Err: err, Retry: command.Quote(again), Key: key,
			Advice: command.RetryAdvice(c.HonoursKeys(), "created", command.Quote(again),
				command.Quote(s.CommandLine("property", "list", "--own"))),
		}
	}
	if err != nil {
		return err
	}
	created := creating.Result
	if creating.Replayed {
		s.Streams.Warn("Nothing was created now: this key was used before. This is the response from then.")
	} else {
		s.Streams.Note("Created %s at %s.", name(created.Record.PropertyID()), connection)
	}
	return printer.One(ctx, versioned{created.Record, created.ETag})
}

const createFileHelp = `With --file, create a property for each row of a CSV file or of JSON lines. The columns are
title, price_pw and optionally the other fields. Each row has its own idempotency key, so no row creates two
properties. If the service has not shown that it honours these keys, a row whose reply is lost is not sent again: it
stays unknown. --resend-unknown says that it does not matter if one is created twice.

` + command.FileHelp

func runCreateFile(ctx context.Context, s *session.Session, flags bulk.Flags) error {
	if err := checkNotSandbox(s); err != nil {
		return err
	}
	known := &bulk.KnownColumns{}
	for _, field := range api.PropertyPatchFields() {
		isRequired := field == "title" || field == "price_pw"
		known.Columns = append(known.Columns, bulk.Column{Name: field, Required: isRequired})
	}
	run := &creations{resends: flags.Resends}
	return bulk.Run(ctx, s, flags, bulk.Work{
		Name: bulk.CreateProperties, HonoursKeys: (*client.Client).HonoursKeys, Resends: flags.Resends,
		Parse: func(row rows.Row) (operation.Task, error) {
			values, err := known.Read(row)
			if err != nil {
				return nil, err
			}
			fields, err := newListing(fieldsOf(values))
			create := operation.PropertyCreate{Kind: operation.Properties, Fields: fields}
			return &creation{run, create, row.Line}, err
		}})
}

// creations are what the rows of a file with new properties share.
type creations struct {
	probe   sync.Once // of whether the service honours keys
	resends bool      // nobody minds if a property is created twice
}

// creation is the new property of a row.
type creation struct {
	*creations
	operation.PropertyCreate
	line int
}

// Subject is the row: each makes a property of its own.
func (t *creation) Subject() string { return strconv.Itoa(t.line) }

func (t *creation) Send(
	ctx context.Context, c *client.Client, key string,
) (o operation.Outcome, replayed bool, err error) {
	t.Client = c
	created, replayed, err := t.PropertyCreate.Send(ctx, key)
	if err != nil {
		return o, false, err
	}
	o = operation.Outcome{ID: string(created.Record.PropertyID()), Status: http.StatusCreated,
		Action: operation.Created, ETag: created.ETag}
	if o.ETag == "" { // then nothing else tells whether it is still as it was created
		o.After, err = api.EncodeJSON(t.Fields)
	}
	return o, replayed, err
}

var _ operation.ObservingTask = (*creation)(nil)

// Observe asks whether the service honours keys, so that a row whose reply is lost can be sent again.
func (t *creation) Observe(ctx context.Context, c *client.Client) {
	t.probe.Do(func() { c.ProbeKeys(ctx) })
}

// LookUp cannot tell whether the row has created a property: only its key can.
func (t *creation) LookUp(
	ctx context.Context, c *client.Client, since time.Time, _ func(string) bool,
) (operation.Outcome, operation.Event, error) {
	t.Client = c
	_, event, err := t.PropertyCreate.LookUp(ctx, since)
	if event == operation.Match && t.resends && !c.HonoursKeys() {
		event = operation.Absent // so that it is sent again
	}
	return operation.Outcome{}, event, err
}

// Predict needs nothing of the service.
func (t *creation) Predict(context.Context, *client.Client) operation.Prediction {
	return operation.Prediction{Message: fmt.Sprintf("Property %q would be created.", t.Fields.Title.Value)}
}

// After allows rows that say the same: they create two properties.
func (t *creation) After(int) error { return nil }
