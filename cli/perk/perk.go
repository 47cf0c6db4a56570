// Package perk is the commands about perks and the users who redeem them: browse, read, redeem, create, change.
package perk

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/cli/command"
	"example.com/perks/cli/completion"
	"example.com/perks/cli/list"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

var listView = output.View{
	Columns: []string{"id", "title", "category", "merchant_name", "discount_text", "city", "valid_to"},
	Least:   []string{"category", "merchant_name", "city"},
	ID:      "id",
}

// New makes the group of commands about perks.
func New(s *session.Session) *cobra.Command {
	return command.Group(cobra.Command{
		Use:     "perk",
		Aliases: []string{"perks"},
		Short:   "Browse, read, redeem, create and change perks",
		Example: "  perksctl perk list --city Berlin\n  perksctl perk redeem coffee-2for1 --user alice",
	}, newList(s), newGet(s), newCategories(s), NewRedeem(s), newHistory(s), newCreate(s),
		newUpdate(s), Kind.NewEdit(s), newStock(s))
}

func newList(s *session.Session) *cobra.Command {
	return perks(s).Command(s, cobra.Command{
		Use:   "list",
		Short: "List perks",
		Long: "List perks: one page, or more with --limit or --all.\n\n" +
			"--query takes words and filters: city: category: near: <5km +expired. Keys may be shortened " +
			"(cat:arts). Quotes hold\n" +
			"blanks (city:\"New York\").\n\n" +
			"Near takes a position, a city (the middle of its perks) or the id of a perk.\n\n" +
			"With --all and --output jsonl, any number of perks needs little memory.",
		Example: "  perksctl perk list --category \"Food & Drink\" --sort title\n" +
			"  perksctl perk list --near 51.5072,-0.1276 --radius 5 --sort distance\n" +
			"  perksctl perk list --near berlin --sort distance\n" +
			"  perksctl perk list --query 'coffee city:berlin near:52.52,13.405 <5km'\n" +
			"  perksctl perk list --all --output jsonl > perks.jsonl\n" +
			"  perksctl perk list --city Berlin --watch=10s",
		PreRunE: func(cmd *cobra.Command, _ []string) error { return checkRadius(cmd) },
	})
}

func checkRadius(cmd *cobra.Command) error {
	if changed := cmd.Flags().Changed; changed("radius") && !changed("near") && !changed("query") {
		return command.Usagef("--radius needs --near PLACE.")
	}
	return nil
}

func perks(s *session.Session) list.Kind[api.PerkFilter, api.Perk] {
	return list.Kind[api.PerkFilter, api.Perk]{
		Fields: api.PerkFilterFields, Sort: api.PerkSortFields(), View: listView,
		Values: list.Values{"category": completion.Categories(s), "city": completion.Cities(s),
			"near": completion.Cities(s)},
		Pages: (*client.Client).PerkPages,
	}
}

func newCategories(s *session.Session) *cobra.Command {
	return session.Reading(s, output.View{ID: "id"}, cobra.Command{
		Use:   "categories",
		Short: "List the categories of perks",
		Example: "  perksctl perk categories\n  perksctl perk list --category \"$(perksctl perk categories " +
			"--output id | head -1)\"",
		Args: command.NoArgs,
	}, func(cmd *cobra.Command, _ []string, printer *output.Printer[api.Category], c *client.Client) error {
		categories, err := c.Categories(cmd.Context())
		if err != nil {
			return err
		}
		return printer.List(cmd.Context(), output.Each(categories))
	})
}

// NewUser makes the group of commands about users.
func NewUser(s *session.Session) *cobra.Command {
	return command.Group(cobra.Command{
		Use:     "user",
		Aliases: []string{"users"},
		Short:   "See what users can redeem and have redeemed",
		Example: "  perksctl user perks alice\n  perksctl user perks alice --type redeemed\n  perksctl user can " +
			"alice spa-day",
	}, newUsers(s), newPerks(s), newCan(s))
}

func newUsers(s *session.Session) *cobra.Command {
	return list.Kind[api.UserFilter, api.User]{
		Fields: api.UserFilterFields, View: output.View{ID: "id"}, Pages: (*client.Client).UserPages,
	}.Command(s, cobra.Command{
		Use:   "list",
		Short: "List users by id",
		Long: "List the ids of all users, or of those that begin with --prefix, in the order of their ids. Counts " +
			"stop at 200. It needs\n" +
			"the scope redemptions:read-all, because all clients share the users.",
		Example: "  perksctl user list --prefix ali\n  perksctl user list --all --output id > users.txt",
	})
}

const (
	available = "available"
	redeemed  = "redeemed"
)

func newPerks(s *session.Session) *cobra.Command {
	var kind string
	flags := &list.Flags{SortFields: func() []string {
		if kind == redeemed {
			return api.RedemptionSortFields()
		}
		return api.PerkSortFields()
	}}
	redeemable := perks(s)
	redemptions := list.Kind[struct{}, api.Redemption]{
		Sort: api.RedemptionSortFields(),
		View: output.View{Columns: []string{"id", "perk_id", "status", "redeemed_at"}, ID: "id"},
	}
	cmd := &cobra.Command{
		Use:   "perks USER",
		Short: "List what a user can redeem, or has redeemed",
		Long: "List the perks that a user can redeem now, or with --type redeemed the user's redemptions in every " +
			"status.\n" +
			"Redemptions can be sorted by their own fields and those of their perks; the filters are for perks alone.",
		Example: "  perksctl user perks alice --near 52.52,13.405\n" +
			"  perksctl user perks alice --query 'tour city:rome'\n" +
			"  perksctl user perks alice --type redeemed --output json",
		Args:              command.Exactly("USER"),
		ValidArgsFunction: completion.InOrder(completion.Users(s)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if kinds := []string{available, redeemed}; !slices.Contains(kinds, kind) {
				return command.Usagef("--type must be available or redeemed, not %q.%s", kind,
					command.DidYouMean(kind, kinds))
			}
			if kind == available {
				if err := checkRadius(cmd); err != nil {
					return err
				}
				redeemable.Pages = func(
					c *client.Client, ctx context.Context, filter api.PerkFilter, options client.ListOptions,
				) client.Pages[api.Perk] {
					return c.UserPerkPages(ctx, args[0], filter, options)
				}
				return redeemable.Show(cmd, s, *flags)
			}
			for _, field := range api.PerkFilterFields {
				if cmd.Flags().Changed(field.Flag) {
					return command.Usagef("--%s filters perks, so it does not go with --type redeemed.", field.Flag)
				}
			}
			redemptions.Pages = func(
				c *client.Client, ctx context.Context, _ struct{}, options client.ListOptions,
			) client.Pages[api.Redemption] {
				return c.UserRedemptionPages(ctx, args[0], options)
			}
			return redemptions.Show(cmd, s, *flags)
		},
	}
	cmd.Flags().StringVar(&kind, "type", available, "what to list: available or redeemed")
	completion.Flag(cmd, "type", completion.Fixed(
		available+"\twhat the user can redeem now", redeemed+"\twhat the user has redeemed"))
	redeemable.Bind(cmd, flags)
	return s.Writing(cmd, func() []string {
		if kind == redeemed {
			return output.FieldsOf(api.Redemption{})
		}
		return output.FieldsOf(api.Perk{})
	})
}

func newCan(s *session.Session) *cobra.Command {
	return session.Reading(s, output.View{ID: "perk_id"}, cobra.Command{
		Use:   "can USER PERK",
		Short: "Say whether a user can redeem a perk now, and if not, why",
		Long: "Say whether a user can redeem a perk now, and if not, why, by the rules that redeeming uses. " +
			"Nothing is redeemed.\n" +
			"The status is pending if the redemption would need approval.\n" +
			"The exit code is 0 if the user can, 6 if not, and 5 if there is no such user or perk.",
		Example: "  perksctl user can alice spa-day\n" +
			"  perksctl user can alice spa-day --quiet && perksctl perk redeem spa-day --user alice",
		Args:              command.Exactly("USER", "PERK"),
		ValidArgsFunction: completion.InOrder(completion.Users(s), completion.Perks(s)),
	}, func(cmd *cobra.Command, args []string, printer *output.Printer[api.Eligibility], c *client.Client) error {
		answer, err := c.Eligibility(cmd.Context(), args[1], args[0])
		if err != nil {
			return err
		}
		return errors.Join(answer.Refusal(), printer.One(cmd.Context(), answer))
	})
}
