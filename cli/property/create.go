package property

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/operation"
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
	var dryRun bool
	fields := &changes{}
	cmd := session.Writes[versioned](s, &cobra.Command{
		Use:   "create",
		Short: "Create a property",
		Long: "Create a property that belongs to your client, and show it. " +
			"It needs a title and a price; the service chooses its id. The\n" +
			"request carries an idempotency key: a retry with the same key " +
			"cannot create a second one. If the reply is\n" +
			"lost, perksctl retries with the key; if the outcome stays " +
			"unknown, it exits with code 8 and shows the command to run.",
		Example: "  perksctl property create --title 'Two rooms by " +
			"the canal' --price-pw 295.50 --city Leeds --bedrooms 2\n" +
			"  perksctl property create --from-file flat.json --set lat=53.8 --set lng=-1.55",
		Args: command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			again, err := key.Take(cmd)
			if err != nil {
				return err
			}
			typed, object, err := fields.given(cmd, s.Streams.In)
			if err != nil {
				return err
			}
			property, err := api.ParseNewProperty(api.JoinMembers(typed, object))
			if invalid, ok := errors.AsType[*api.Error](err); ok {
				return &command.UsageError{Message: "The property was not " +
					"created, because some values are missing or not valid.", Fields: invalid.Fields}
			}
			return runCreate(cmd.Context(), s, property, key.Value, again, dryRun)
		},
	})
	fields.bind(cmd)
	key.Bind(cmd)
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show the request and send nothing")
	return cmd
}

func runCreate(
	ctx context.Context, s *session.Session, property api.Property, key string, given []string, dryRun bool,
) error {
	printer, err := output.New[versioned](s.Output, s.Streams, listView)
	if err == nil {
		err = checkNotSandbox(s)
	}
	if err != nil {
		return err
	}
	fields := api.PropertyChanges(api.Property{}, property)
	fields.PricePW = api.Some(property.PricePW) // required, also where it is 0
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
	creating := operation.NewCreating(fields, key).Send(ctx, c)
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
