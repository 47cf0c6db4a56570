// Package redemption is the commands about redemptions: find, read and decide them.
package redemption

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

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

var view = output.View{
	Columns: []string{"id", "perk_id", "user_id", "status", "redeemed_at", "client_id", "actor"},
	Least:   []string{"client_id", "actor"},
	ID:      "id",
}

// New makes the group.
func New(s *session.Session) *cobra.Command {
	return command.Group(cobra.Command{
		Use:     "redemption",
		Aliases: []string{"redemptions"},
		Short:   "Find, approve, reject and void redemptions",
		Example: "  perksctl redemption list --status pending\n" +
			"  perksctl redemption approve 0199d8c4-5b7e-7c8a-9d10-2f6b8e4a1c33",
	}, newList(s), newGet(s), newDecide(s, approve), newDecide(s, reject), newDecide(s, void), newWait(s))
}

// values completes the flags of filters.
func values(s *session.Session) list.Values {
	return list.Values{"perk": completion.Perks(s), "user": completion.Users(s)}
}

func newList(s *session.Session) *cobra.Command {
	var flags list.Flags
	var metadata []string
	var isRefused bool
	var onlyRefused []api.FilterField[api.RefusedFilter]
	refused := refusals()
	made := list.Kind[api.RedemptionFilter, api.RedemptionRecord]{
		Fields: api.RedemptionFilterFields, Sort: api.RedemptionRecordSortFields(), View: view,
		Query:  "only redemptions that this `text` asks for, such as \"pending user:alice\"",
		Values: values(s),
		Check: func(filter api.RedemptionFilter) error {
			if _, problem := filter.Problem(); problem != "" {
				return command.Usagef("--until must be later than --since.")
			}
			return nil
		},
		More: func(filter *api.RedemptionFilter) ([]api.FilterField[api.RedemptionFilter], error) {
			read, err := api.ReadMetadataFilter(metadata)
			if err != nil {
				return nil, command.Usagef("--metadata %s.", err)
			}
			filter.Metadata = read
			return api.WithMetadata(nil, read.Keys()), nil
		},
		Pages: (*client.Client).RedemptionPages,
	}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List redemptions, the newest first",
		Long: "List redemptions, newest first: those of your client, or of all clients with the scope\n" +
			"redemptions:read-all. Counts stop at 200; --all shows all redemptions.\n\n" +
			"--query takes filters in one line: perk: user: actor: status: since: until: +own. A status needs no " +
			"key.\n\n" +
			"--metadata finds redemptions by a whole value of their metadata, without regard to case, if the service\n" +
			"searches the key. --refused lists the redemptions of the last 30 days that were refused instead.",
		Example: "  perksctl redemption list --status pending --sort redeemed_at\n" +
			"  perksctl redemption list --status pending --watch --output jsonl\n" +
			"  perksctl redemption list --query 'pending user:alice since:2026-01-31'\n" +
			"  perksctl redemption list --actor alice --since 2026-03-02\n" +
			"  perksctl redemption list --metadata ticket=4711\n" +
			"  perksctl redemption list --refused --user alice --reason sold_out\n" +
			"  perksctl redemption list --perk spa-day --since 2026-01-01 --until 2026-02-01 --all --output csv",
		Args: command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, name := range []string{"status", "metadata"} {
				if isRefused && cmd.Flags().Changed(name) {
					return command.Usagef("--%s is not about --refused redemptions. Leave one of them out.", name)
				}
			}
			for _, field := range onlyRefused {
				if !isRefused && cmd.Flags().Changed(field.Flag) {
					return command.Usagef("--%s needs --refused.", field.Flag)
				}
			}
			if isRefused {
				return refused.Show(cmd, s, flags)
			}
			return made.Show(cmd, s, flags)
		},
	}
	made.Bind(cmd, &flags)
	onlyRefused = slices.DeleteFunc(slices.Clone(refused.Fields), func(field api.FilterField[api.RefusedFilter]) bool {
		return cmd.Flags().Lookup(field.Flag) != nil
	})
	list.BindFilter(cmd, onlyRefused, nil)
	cmd.Flags().StringArrayVar(&metadata, "metadata", nil,
		"only redemptions whose metadata has this `KEY=VALUE`; can be repeated")
	cmd.Flags().BoolVar(&isRefused, "refused", false, "list redemptions that were refused")
	return s.Writing(cmd, func() []string {
		if isRefused {
			return output.FieldsOf(api.RefusedRedemption{})
		}
		return output.FieldsOf(api.RedemptionRecord{})
	})
}

// refusals returns the list of refused redemptions.
func refusals() list.Kind[api.RefusedFilter, api.RefusedRedemption] {
	return list.Kind[api.RefusedFilter, api.RefusedRedemption]{
		Fields: api.RefusedFilterFields(), Sort: api.RefusedSortFields(),
		View: output.View{
			Columns: []string{"at", "user_id", "perk_id", "code", "message", "client_id", "actor"},
			Least:   []string{"actor", "client_id", "message"}, ID: "at",
		},
		Check: func(filter api.RefusedFilter) error {
			if _, problem := filter.Problem(); problem != "" {
				return command.Usagef("--until must be later than --since.")
			}
			return nil
		},
		Pages: (*client.Client).RefusedPages,
	}
}

// versioned is a redemption with its ETag, which guards a decision.
type versioned struct {
	api.RedemptionRecord
	ETag string `json:"etag"`
}

// MarshalJSON adds the ETag, which that of the embedded type would drop.
func (v versioned) MarshalJSON() ([]byte, error) {
	return api.JoinObjects(v.RedemptionRecord, struct {
		ETag string `json:"etag"`
	}{v.ETag})
}

func newGet(s *session.Session) *cobra.Command {
	return list.Getter[versioned]{View: view, Noun: "redemption", Get: func(
		ctx context.Context, c *client.Client, id string,
	) (versioned, error) {
		record, etag, err := c.Redemption(ctx, id)
		return versioned{record, etag}, err
	}}.Command(s, cobra.Command{
		Use:   "get ID...",
		Short: "Show redemptions by their ids",
		Long: "Show one redemption, or several as a list. If one of them cannot be read, none is shown. The field\n" +
			"etag names the version; with it as --if-match, a decision refuses any later one.",
		Example:           "  perksctl redemption get 0199d8c4-5b7e-7c8a-9d10-2f6b8e4a1c33",
		ValidArgsFunction: completion.Redemptions(s, ""),
	})
}

func newWait(s *session.Session) *cobra.Command {
	return session.Reading(s, view, cobra.Command{
		Use:   "wait ID",
		Short: "Wait until a redemption is decided",
		Long: "Wait until a redemption is decided, and show it. The exit code is 0 if it is approved, and 1 if it\n" +
			"is rejected or voided. With --timeout, the command ends after that time with exit code 8 if it is\n" +
			"still pending.",
		Example: "  perksctl redemption wait 0199d8c4-5b7e-7c8a-9d10-2f6b8e4a1c33 --timeout 10m && echo approved",
		Args:    command.Exactly("ID"),

		ValidArgsFunction: completion.InOrder(completion.Redemptions(s, api.StatusPending)),
	}, func(cmd *cobra.Command, args []string, printer *output.Printer[api.RedemptionRecord], c *client.Client) error {
		record, err := Await(cmd.Context(), s, c, args[0])
		if record.ID == "" {
			return err
		}
		return errors.Join(err, printer.One(cmd.Context(), record))
	})
}

// Await waits until a redemption is decided. It fails, with the redemption, if that is not approved.
func Await(ctx context.Context, s *session.Session, c *client.Client, id string) (api.RedemptionRecord, error) {
	s.Streams.Note("Waiting until redemption %s is decided.", id)
	record, err := c.AwaitDecision(ctx, id)
	if s.IsTimeUp(err) {
		if record.ID != "" {
			err = command.TimeUp(fmt.Sprintf("Redemption %s is still %s after %s.", id, record.Status, s.Flags.Timeout))
		}
		again := command.Quote(s.CommandLine("redemption", "wait", id))
		return api.RedemptionRecord{}, &command.Advised{Err: err, Advice: "Keep waiting: " + again, Retry: again}
	}
	if err != nil {
		return api.RedemptionRecord{}, err
	}
	if record.Status == api.StatusApproved {
		return record, nil
	}
	because := ""
	if record.Reason != nil {
		because = ": " + *record.Reason
	}
	return record, fmt.Errorf("redemption %s of %s by %s is %s%s", record.ID, record.PerkID, record.UserID,
		record.Status, because)
}

// verb is a decision as a command, about redemptions in one status.
type verb struct {
	name, short, effect, example string
	from, status                 api.RedemptionStatus
	needsReason, asks            bool
}

const isFreeAgain = "The unit returns to the perk's stock, and the user can redeem it again."

var (
	approve = verb{
		name: "approve", short: "Approve pending redemptions", from: api.StatusPending, status: api.StatusApproved,
	}
	reject = verb{
		name: "reject", short: "Reject pending redemptions", from: api.StatusPending, status: api.StatusRejected,
		effect: isFreeAgain + "\n", example: " --reason 'not a member'", needsReason: true,
	}
	void = verb{
		name: "void", short: "Take back approved redemptions", from: api.StatusApproved, status: api.StatusVoided,
		effect:  isFreeAgain + "\nOn a terminal you are asked first; elsewhere --yes is needed. ",
		example: " --reason 'redeemed for the wrong user'", needsReason: true, asks: true,
	}
)

// decision is what the flags of a verb say.
type decision struct {
	verb
	session         *session.Session
	reason, ifMatch string
	yes, dryRun     bool
}

func newDecide(s *session.Session, v verb) *cobra.Command {
	d := &decision{verb: v, session: s}
	cmd := session.Writes[api.RedemptionRecord](s, &cobra.Command{
		Use:   v.name + " ID...",
		Short: v.short,
		Long: v.short + ", in the order given. " + v.effect +
			"Doing it again changes nothing, so it is safe after a lost reply.\n" +
			"The first failure ends the command, and the error says which were not tried.",
		Example: "  perksctl redemption " + v.name + " 0199d8c4-5b7e-7c8a-9d10-2f6b8e4a1c33" + v.example,
		Args:    command.AtLeastOne("ID"),

		ValidArgsFunction: completion.Redemptions(s, v.from),
		RunE: func(cmd *cobra.Command, ids []string) error {
			problem := api.ReasonRule(d.reason, v.needsReason)
			if problem != "" && v.needsReason && !cmd.Flags().Changed("reason") {
				return command.Usagef("--reason is missing. Say why, for those who look at the redemption later.")
			} else if problem != "" {
				return command.Usagef("--reason %s.", problem)
			}
			tag, err := command.IfMatchOf(cmd, d.ifMatch)
			if err != nil {
				return err
			}
			if d.ifMatch = tag; len(ids) > 1 && tag != "" {
				return command.Usagef("--if-match names a version of one redemption, but %d are given.", len(ids))
			}
			return d.run(cmd.Context(), ids)
		},
	})
	flags := cmd.Flags()
	flags.StringVar(&d.reason, "reason", "", "why, for those who look at the redemption later")
	flags.StringVar(&d.ifMatch, command.IfMatchFlag, "", "decide it only if this `ETag` is current")
	flags.BoolVar(&d.dryRun, "dry-run", false, "show the request and send nothing")
	if v.asks {
		flags.BoolVarP(&d.yes, "yes", "y", false, "do not ask")
	}
	return cmd
}

func (d *decision) run(ctx context.Context, ids []string) error {
	s := d.session
	printer, err := output.New[api.RedemptionRecord](s.Output, s.Streams, view)
	if err != nil {
		return err
	}
	decide := func(c *client.Client, id string) operation.Deciding {
		return operation.Deciding{ID: id, Status: d.status, Reason: d.reason, ETag: d.ifMatch}.Send(ctx, c)
	}
	if d.dryRun {
		return s.DryRun(ctx, func(c *client.Client) error {
			for _, id := range ids {
				if err := decide(c, id).Err; err != nil && !errors.Is(err, client.ErrDryRun) {
					return err
				}
			}
			return nil
		})
	}
	connection, err := s.Connection()
	if err != nil {
		return err
	}
	if d.asks {
		question := fmt.Sprintf("Void redemption %s at %s?", strings.Join(ids, ", "), connection.Target())
		if err := command.Confirm(ctx, s.Streams, d.yes, question); err != nil {
			return err
		}
	}
	c, connection, err := s.ConnectToChange(ctx)
	if err != nil {
		return err
	}
	return list.Each(ctx, printer, "redemption", ids, func(id string) (api.RedemptionRecord, error) {
		done := decide(c, id)
		if done.Err != nil {
			return done.Record(), done.Err
		}
		record, confirmed := done.Result, ""
		if done.Earlier {
			confirmed = " The reply was lost; the service confirmed the decision."
		}
		s.Streams.Note("Redemption %s of %s by %s is %s at %s.%s",
			record.ID, record.PerkID, record.UserID, record.Status, connection.Target(), confirmed)
		return record, nil
	})
}
