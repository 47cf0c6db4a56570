package perk

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/operation"
	"example.com/perks/cli/bulk"
	"example.com/perks/cli/command"
	"example.com/perks/cli/completion"
	"example.com/perks/cli/list"
	"example.com/perks/cli/output"
	"example.com/perks/cli/record"
	"example.com/perks/cli/session"
)

// computed are the fields of an export that nobody can set.
var computed = []string{"created_at", "updated_at", "held", "left"}

// Kind is the kind of a perk.
var Kind = &record.Kind[string, api.PerkRecord, api.PerkPatch]{
	EditKind: operation.Perks,
	Words: record.Words{
		Plural: "perks", One: "a perk", All: "perks", Mine: "the perks", None: "no perks",
		ExampleID: "spa-day", ExampleSet: "valid_to=2026-12-31T23:00:00Z", InResults: "perk",
	},
	IDColumn: bulk.Column{Name: "id", Aliases: []string{"perk_id", "perk"}, Required: true},
	ReadID:   func(value api.Value, into *string) string { return value.Text(into) },
	Subject:  api.LowerUUID, Exported: computed, Ignored: computed,
	New: func(members []api.Member) (string, api.PerkPatch, error) {
		perk, err := api.ParseNewPerk(members)
		return perk.ID, api.PerkChanges(api.PerkRecord{}, perk), err
	},
	TakesID: true, Required: []string{"title", "description", "city"},
	SetChange: (*api.PerkVersion).SetPerkChange, Check: (*api.PerkRecord).Validate,
	Find: record.Search[api.PerkFilter, api.Perk, string, api.PerkRecord](api.PerkFilterFields,
		(*client.Client).PerkPages, func(p api.Perk) string { return p.ID },
		func(p api.PerkRecord) api.Perk { return p.Perk }, nil),
	CompleteQuery: completion.Query(api.PerkFilterFields), Shown: []string{"title", "city", "valid_to"},
	View: listView, IDs: func(s *session.Session, _ bool) cobra.CompletionFunc { return completion.Perks(s) },
	End: func(id string) string {
		return "Redemptions may refer to it. To end it: perksctl perk update " + id + " --valid-to TIME"
	},
}

func newCreate(s *session.Session) *cobra.Command {
	return Kind.NewCreate(s,
		"Create a perk, and show it. It needs a title, a description and a city. Name its id with --id, or the\n"+
			"service chooses one. A perk cannot be deleted; set valid_to to end it. It needs the scope perks:write. ",
		"  perksctl perk create --id spa-day --title 'A day at the spa' --description 'Sauna and pool' --city Leeds\n"+
			"  perksctl perk create --from-file perk.json --set stock=100 --set approval=manual\n"+
			"  perksctl perk create --file perks.csv --failed again.csv")
}

func newUpdate(s *session.Session) *cobra.Command {
	return Kind.NewUpdate(s, "  perksctl perk update spa-day --valid-to 2026-12-31T23:00:00Z\n"+
		"  perksctl perk update spa-day --set terms=null --set stock=50\n"+
		"  perksctl perk update --query 'city:leeds category:spa' --set valid_to=2026-12-31T23:00:00Z\n"+
		"  perksctl perk update --query city:leeds --set stock=+50 --save-plan more.csv\n"+
		"  perksctl perk update --plan more.csv\n"+
		"  perksctl perk update --file dates.csv --failed again.csv")
}

func newHistory(s *session.Session) *cobra.Command {
	return Kind.NewHistory(s,
		"Show the versions of a perk, the newest first: when it was created, imported or updated, by which\n"+
			"client (none for the operator), and what changed from what to what. Tables cut long values. It needs\n"+
			"the scope perks:write. perk get --as-of takes the times of the versions.")
}

// whole is a perk with all that only clients with the scope perks:write see. Of a former version, held and left are
// null.
type whole struct {
	perk       api.PerkRecord
	held, left *int64
	etag       string
}

// MarshalJSON adds to the perk what is not part of it.
func (p whole) MarshalJSON() ([]byte, error) {
	return api.JoinObjects(p.perk, struct {
		Held *int64 `json:"held"`
		Left *int64 `json:"left"`
		ETag string `json:"etag"`
	}{p.held, p.left, p.etag})
}

func newGet(s *session.Session) *cobra.Command {
	var asOf record.AsOf
	get := func(ctx context.Context, c *client.Client, id string) (p whole, err error) {
		if !asOf.At.IsZero() {
			p.perk, p.etag, err = c.PerkAsOf(ctx, id, asOf.At)
			return p, err
		}
		if p.perk, p.etag, err = c.PerkSeen(ctx, id); err == nil && p.isWhole() {
			var stock api.PerkStock
			stock, err = c.PerkStock(ctx, id)
			p.held, p.left = &stock.Held, stock.Left
		}
		return p, err
	}
	show := func(ctx context.Context, printer *output.Printer[whole], perks []whole) error {
		if slices.ContainsFunc(perks, whole.isWhole) {
			return printer.OneOrList(ctx, perks)
		}
		public, err := output.New[api.Perk](s.Output, s.Streams, listView)
		if err != nil {
			return err
		}
		seen := make([]api.Perk, len(perks))
		for i, p := range perks {
			seen[i] = p.perk.Perk
		}
		return public.OneOrList(ctx, seen)
	}
	cmd := list.Getter[whole]{View: listView, Noun: "perk", Get: get, Show: show}.Command(s, cobra.Command{
		Use:   "get ID...",
		Short: "Show perks by their ids",
		Long: "Show one perk, or several as a list. If one of them cannot be read, none is shown.\n\n" +
			"With the scope perks:write, it also shows the position, the approval, the stock, how many units are " +
			"held\n" +
			"by redemptions and left, and the etag of the version, which guards an update. --as-of shows an earlier\n" +
			"version.",
		Example: "  perksctl perk get coffee-2for1\n  perksctl perk get coffee-2for1 spa-day --output json\n" +
			"  perksctl perk get spa-day --as-of 2026-01-31",
		Args: func(cmd *cobra.Command, args []string) error {
			return cmp.Or(command.AtLeastOne("ID")(cmd, args), asOf.Check(cmd))
		},
		ValidArgsFunction: completion.Perks(s),
	})
	asOf.Bind(cmd, "show perks as they were")
	return cmd
}

// isWhole tells whether the client sees what users do not.
func (p whole) isWhole() bool { return p.perk.Approval != "" }

// stocked is the stock of a perk.
type stocked struct {
	ID string `json:"id"`
	api.PerkStock
}

// stockFlags are the changes of a stock.
type stockFlags struct {
	session   *session.Session
	add, set  int64
	unlimited bool
	key       command.IdempotencyKey
	dryRun    bool
}

func newStock(s *session.Session) *cobra.Command {
	f := &stockFlags{session: s}
	cmd := session.Writes[stocked](s, &cobra.Command{
		Use:   "stock ID [--add N | --set N | --unlimited]",
		Short: "Show or change the stock of a perk",
		Long: "Show how many units a perk has, how many are held by redemptions, approved or pending, and how many\n" +
			"are left; or change the stock, and show what it left. It needs the scope perks:write.\n\n" +
			"--add is exact while others redeem or add, and takes units away if it is negative. A stock cannot be\n" +
			"less than is held. Each request carries an idempotency key: a retry with the same key adds nothing\n" +
			"twice. If the reply is lost, perksctl retries with the key; if the outcome stays unknown, it exits " +
			"with\n" +
			"code 8 and shows the command to run.",
		Example: "  perksctl perk stock spa-day\n  perksctl perk stock spa-day --add 50\n" +
			"  perksctl perk stock spa-day --set 200\n  perksctl perk stock spa-day --unlimited",
		Args:              command.Exactly("ID"),
		ValidArgsFunction: completion.InOrder(completion.Perks(s)),
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	})
	flags := cmd.Flags()
	flags.Int64Var(&f.add, "add", 0, "add this `number` of units, or take them away if it is negative")
	flags.Int64Var(&f.set, "set", 0, "set the `number` of units, those held included")
	flags.BoolVar(&f.unlimited, "unlimited", false, "let there be any number of units")
	flags.BoolVar(&f.dryRun, "dry-run", false, "show the request and what it would do; change nothing")
	f.key.Bind(cmd)
	return cmd
}

// change reads the flags. It is empty if they only show the stock.
func (f *stockFlags) change(cmd *cobra.Command) (change api.StockChange, err error) {
	changed := cmd.Flags().Changed
	given := 0
	for _, flag := range []string{"add", "set", "unlimited"} {
		if changed(flag) {
			given++
		}
	}
	switch {
	case given > 1:
		return change, command.Usagef("Give one of --add, --set and --unlimited.")
	case changed("add"):
		change.Add = api.Some(f.add)
	case changed("set"):
		change.Set = api.Some(&f.set)
	case f.unlimited:
		change.Set = api.Some[*int64](nil)
	case changed("dry-run") || changed(command.KeyFlag):
		return change, command.Usagef("Nothing to change: give --add, --set or --unlimited.")
	}
	if given == 1 {
		body, _ := json.Marshal(change) // numbers always encode
		_, err = api.ParseStockChange(body)
	}
	if invalid, is := errors.AsType[*api.Error](err); is {
		for flag, problems := range invalid.Fields {
			return change, command.Usagef("--%s %s.", flag, problems[0])
		}
	}
	return change, err
}

func (f *stockFlags) run(cmd *cobra.Command, id string) error {
	ctx, s := cmd.Context(), f.session
	change, err := f.change(cmd)
	if err != nil {
		return err
	}
	printer, err := output.New[stocked](s.Output, s.Streams, output.View{ID: "id"})
	if err != nil {
		return err
	}
	if change == (api.StockChange{}) {
		c, _, err := s.Connect()
		if err != nil {
			return err
		}
		stock, err := c.PerkStock(ctx, id)
		if err != nil {
			return err
		}
		return printer.One(ctx, stocked{id, stock})
	}
	again, err := f.key.Take(cmd)
	if err != nil {
		return err
	}
	if f.dryRun {
		return s.PredictedDryRun(ctx, func(c *client.Client) error {
			_, _, err := c.ChangePerkStock(ctx, id, change, f.key.Value)
			return err
		}, func(c *client.Client, _ int) operation.Prediction { return predictStock(ctx, c, id, change) })
	}
	c, connection, err := s.ConnectToChange(ctx)
	if err != nil {
		return err
	}
	changing := operation.NewChangingStock(id, change, f.key.Value).Send(ctx, c)
	if changing.Err != nil {
		look := s.CommandLine("perk", "stock", id)
		retry := append(slices.Clone(look), again...)
		return record.AdviseRetry(ctx, c, changing.Err, "changed", f.key.Value, retry, look)
	}
	if changing.Replayed {
		s.Streams.Warn("Nothing was changed now: this key was used before. This is the response from then.")
	} else {
		s.Streams.Note("The stock of perk %s at %s is %s.", id, connection, units(changing.Result))
	}
	return printer.Done(ctx, stocked{id, changing.Result})
}

// units says what a stock is.
func units(stock api.PerkStock) string {
	if stock.Stock == nil {
		return fmt.Sprintf("unlimited, %d held", stock.Held)
	}
	return fmt.Sprintf("%d, %d held and %d left", *stock.Stock, stock.Held, *stock.Left)
}

// predictStock compares the stock with what the change would leave.
func predictStock(ctx context.Context, c *client.Client, id string, change api.StockChange) (p operation.Prediction) {
	now, err := c.PerkStock(ctx, id)
	var after *int64
	if err == nil {
		after, err = change.Apply(now.Stock)
	}
	if err == nil && after != nil && *after < now.Held {
		err = api.Errorf(api.CodeStockBelowHeld, "Redemptions hold %d of the units of perk %s, so its stock cannot be "+
			"%d.",
			now.Held, id, *after)
	}
	if err != nil {
		return operation.Prediction{Err: err}
	}
	from, _ := json.Marshal(now.Stock) // numbers and null always encode
	to, _ := json.Marshal(after)
	return operation.Prediction{
		Message: fmt.Sprintf("Perk %s would change: stock from %s to %s.", id, from, to),
		Changes: []operation.FieldChange{{Field: "stock", From: from, To: to}},
	}
}
