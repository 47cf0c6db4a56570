// Package property is the commands about properties, the rental listings: list, read, create, update, delete.
package property

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
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

var listView = output.View{
	Columns: []string{"propertyId", "title", "address", "city", "postcode", "price_pw", "bedrooms"}, ID: "propertyId",
}

// versioned is a property with its ETag, which guards an update from an export.
type versioned struct {
	api.Property
	ETag string `json:"etag"`
}

// MarshalJSON writes the property as the service wrote it, with what could not be read.
func (v versioned) MarshalJSON() ([]byte, error) {
	return api.JoinObjects(v.Property, struct {
		ETag string `json:"etag"`
	}{v.ETag})
}

// done is the output of a change.
type done struct {
	ID      api.PropertyID `json:"propertyId"`
	Message string         `json:"message"`
}

// updated is the output of an update.
type updated struct {
	done
	Changes []operation.FieldChange `json:"changes"` // null if it is not certain what the update has replaced
}

// New makes the group.
func New(s *session.Session) *cobra.Command {
	return command.Group(cobra.Command{
		Use:     "property",
		Aliases: []string{"properties"},
		Short:   "List, create, update and delete properties",
		Example: "  perksctl property list --city Leeds\n  perksctl property get 42\n  perksctl property update 42 " +
			"--price-pw 295.50 --bedrooms 2",
	}, newList(s), newGet(s), newHistory(s), newCreate(s), newUpdate(s), newEdit(s), newDelete(s),
		newRestore(s))
}

func parseIDs(args []string) ([]api.PropertyID, error) {
	ids := make([]api.PropertyID, len(args))
	for i, arg := range args {
		if problem := api.AnyIDRule(arg); problem != "" {
			return nil, command.Usagef("%q is not the id of a property: it %s.", arg, problem)
		}
		ids[i] = api.PropertyID(arg)
	}
	return ids, nil
}

func name(id api.PropertyID) string { return "property " + string(id) }

// checkNotSandbox refuses a change with --sandbox, which would change live data: the sandbox has no properties.
func checkNotSandbox(s *session.Session) error {
	connection, err := s.Connection()
	if err == nil && connection.Sandbox {
		return command.Usagef("The sandbox has no properties; this " +
			"would change the live one. To do that, add --sandbox=false.")
	}
	return err
}

// begin makes the printer of a command that changes properties, and checks that it may.
func begin[T any](s *session.Session) (*output.Printer[T], error) {
	printer, err := output.New[T](s.Output, s.Streams, output.View{ID: "propertyId"})
	if err != nil {
		return nil, err
	}
	return printer, checkNotSandbox(s)
}

func newGet(s *session.Session) *cobra.Command {
	var asOf string
	var at time.Time
	get := func(ctx context.Context, c *client.Client, id string) (v versioned, err error) {
		if asOf == "" {
			v.Property, v.ETag, err = c.Property(ctx, api.PropertyID(id))
		} else {
			v.Property, v.ETag, err = c.PropertyAsOf(ctx, api.PropertyID(id), at)
		}
		return v, err
	}
	show := func(ctx context.Context, printer *output.Printer[versioned], properties []versioned) error {
		isGuarded := func(v versioned) bool { return v.ETag != "" }
		if slices.ContainsFunc(properties, isGuarded) || slices.Contains(s.Output.Fields, etagColumn) {
			return printer.OneOrList(ctx, properties)
		}
		// Without ETags, leave the column out: empty cells would make every row of an update fail.
		without, err := output.New[api.Property](s.Output, s.Streams, listView)
		if err != nil {
			return err
		}
		plain := make([]api.Property, len(properties))
		for i, v := range properties {
			plain[i] = v.Property
		}
		return without.OneOrList(ctx, plain)
	}
	cmd := list.Getter[versioned]{View: listView, Noun: "property", Get: get, Show: show}.Command(s, cobra.Command{
		Use:   "get ID...",
		Short: "Show properties by their ids",
		Long: "Show one property, or several as a list. If one cannot be " +
			"read, none is shown. The field etag names the version.\n" +
			"Pass it to update or delete, by --if-match or in a file, and they refuse any later version.\n" +
			"--as-of shows an earlier version of your own properties, also of those that are deleted now.",
		Example: "  perksctl property get 42\n" +
			"  perksctl property get 42 --as-of 2026-01-31\n" +
			"  perksctl property get 41 42 --output csv\n" +
			"  perksctl property delete 42 --if-match \"$(perksctl property get 42 --jq .etag)\"",
		Args: func(cmd *cobra.Command, args []string) error {
			_, invalid := parseIDs(args)
			if problem := ""; cmd.Flags().Changed("as-of") {
				if at, problem = api.ParseTime(asOf); problem != "" {
					invalid = cmp.Or(invalid, command.Usagef("--as-of %q: %s.", asOf, problem))
				}
			}
			return cmp.Or(command.AtLeastOne("ID")(cmd, args), invalid)
		},
		ValidArgsFunction: completion.Properties(s, false),
	})
	cmd.Flags().StringVar(&asOf, "as-of", "",
		"show your properties as they were at this `TIME`, such as 2026-01-31 or 2026-01-31T09:00:00Z")
	return cmd
}

func newUpdate(s *session.Session) *cobra.Command {
	e := operation.PropertySaving{Kind: operation.Properties}
	changes, file, many := &changes{}, &bulk.Flags{}, &many{session: s}
	cmd := session.Writes[updated](s, &cobra.Command{
		Use:   "update {ID | --file FILE | --query TEXT | --plan FILE}",
		Short: "Change fields of a property, or of many",
		Long: "Change the fields given by flags, --set or a file; all others stay as they are. Values are checked\n" +
			"before anything is sent, and a field given twice is refused. Standard error shows what has changed,\n" +
			"from what to what.\n\n" +
			"Without --if-match an update is not guarded: it also changes a property that somebody else has just\n" +
			"changed. The etag of an exported property in --from-file guards it as --if-match does.\n\n" +
			fmt.Sprintf(manyHelp, "change") + relativeHelp + updateFileHelp,
		Example: "  perksctl property update 42 --price-pw 295.50 --bedrooms 2\n" +
			"  perksctl property update 42 --set city=Leeds --set lat=\n" +
			"  perksctl property update 42 --from-file patch.json --if-match 1f2e3d\n" +
			"  perksctl property update --query 'city:leeds bedrooms:2' --set price_pw=+5% --round 0.50\n" +
			"  perksctl property update --query city:leeds --set price_pw=+5% --save-plan rise.csv\n" +
			"  perksctl property update --plan rise.csv\n" +
			updateFileExample,
		Args:              many.orArgs(command.OrFile(&file.File, command.Exactly("ID"))),
		ValidArgsFunction: completion.InOrder(completion.Properties(s, true)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if many.isGiven(cmd) {
				typed, err := changes.typed(cmd)
				if err == nil && !cmd.Flags().Changed(planFlag) {
					err = many.setChanges(typed)
				}
				if err != nil {
					return err
				}
				return many.run(cmd, file)
			}
			if err := file.Check(cmd, append(aboutOne(), command.IfMatchFlag)...); err != nil {
				return err
			}
			if file.File != "" {
				if err := checkNotSandbox(s); err != nil {
					return err
				}
				return runFile(cmd.Context(), s, *file, bulk.UpdateProperties, updateColumns(), parseUpdateRow)
			}
			ids, err := parseIDs(args)
			if err != nil {
				return err
			}
			e.ID = ids[0]
			if e.ETag, err = command.IfMatchOf(cmd, e.ETag); err != nil {
				return err
			}
			if err := changes.read(cmd, &e, s.Streams.In); err != nil {
				return err
			}
			return runUpdate(cmd.Context(), s, e, file.DryRun)
		},
	})
	changes.bind(cmd)
	many.bind(cmd)
	cmd.Flags().StringVar(&e.ETag, command.IfMatchFlag, "", "change it only if this `ETag` is current")
	bindUnguarded(cmd, s)
	file.Bind(cmd)
	return cmd
}

func bindUnguarded(cmd *cobra.Command, s *session.Session) {
	cmd.Flags().BoolVar(&s.Unguarded, "unguarded", false,
		"send ETags even to a server that gives none, where they guard nothing")
}

func runUpdate(ctx context.Context, s *session.Session, e operation.PropertySaving, dryRun bool) error {
	printer, err := begin[updated](s)
	if err != nil {
		return err
	}
	if dryRun {
		return runDry(ctx, s, e)
	}
	c, connection, err := s.ConnectToChange(ctx)
	if err != nil {
		return err
	}
	sent := e.SendReading(ctx, c)
	if sent.Err != nil {
		return adviseReading(s, e.ID, sent.Err)
	}
	return printer.Done(ctx, noteUpdate(s, connection, sent))
}

// runDry shows the requests of the changes, and predicts the outcome of each.
func runDry(ctx context.Context, s *session.Session, edits ...operation.PropertySaving) error {
	return s.PredictedDryRun(ctx, func(c *client.Client) error {
		for _, e := range edits {
			if err := e.Try(ctx, c).Err; !errors.Is(err, client.ErrDryRun) {
				return err
			}
		}
		return nil
	}, func(c *client.Client, at int) operation.Prediction {
		t := task{PropertySaving: edits[at]}
		if t.Restore != nil {
			return (&restoreRow{t}).Predict(ctx, c)
		}
		return t.Predict(ctx, c)
	})
}

// noteUpdate says which values an update has changed, from what to what. Where that is not certain, it says only what
// was set.
func noteUpdate(s *session.Session, connection session.Connection, sent operation.PropertySaving) updated {
	output := updated{done: noteLost(s, sent)}
	set, _ := membersOf(sent.Patch) // it was sent, so it can be encoded
	var texts []string
	for _, field := range sent.Patch.Fields() {
		texts = append(texts, field+" to "+shown(set[field]))
	}
	what := "set " + strings.Join(texts, "; ")
	if sent.Replaced != nil {
		output.Changes, _ = changesOf(*sent.Replaced, sent.Replaced.With(sent.Patch))
		what = cmp.Or(listed(output.Changes, widestInMessage), "it had these values already")
	}
	s.Streams.Note("Updated %s at %s: %s.", name(sent.ID), connection, what)
	return output
}

// noteLost says that a change was made although its reply was lost.
func noteLost(s *session.Session, sent operation.PropertySaving) done {
	if sent.Lost {
		sent.Message = "The reply was lost, but the change was made."
		s.Streams.Note("The reply was lost, but the change to %s was made.", name(sent.ID))
	}
	return done{sent.ID, sent.Message}
}

// adviseReading adds to an unknown outcome how to check it.
func adviseReading(s *session.Session, id api.PropertyID, err error) error {
	if !client.OutcomeUnknown(err) {
		return err
	}
	get := command.Quote(s.CommandLine("property", "get", string(id)))
	return &command.Advised{Err: err, Advice: "Check how it is now:\n  " + get}
}

const relativeHelp = "Values can be relative with --query:\n" + api.RelativeHelp + `.
The arithmetic is exact: an amount keeps its decimals, and gets more only where it needs them. --round rounds it.

`

var updateFileHelp = "With --file, change one property for each row of a CSV file or of JSON lines. The columns are\n" +
	"propertyId (or id) and the fields to change. A column etag, as property get exports it, or if_match\n" +
	"holds the ETag that the property must still have, and guards the row; its cells must not be empty.\n" +
	"In other columns, an empty cell leaves the field as it is, and the text null clears " + nullable() + ". images\n" +
	"are URLs separated by commas, or a JSON array. You can edit an export and pass it to --file, with or\n" +
	"without --raw: perksctl property get ... -o csv\n\n" +
	command.FileHelp

// nullable names the fields that can be empty.
func nullable() string {
	var names []string
	for _, field := range api.PropertyFields() {
		if field.Nullable {
			names = append(names, field.Name)
		}
	}
	return strings.Join(names, " and ")
}

const updateFileExample = "  perksctl property update --file prices.csv --failed again.csv\n" +
	"  perksctl property update --file prices.csv --dry-run"

type rowParser func(*bulk.KnownColumns, rows.Row) (*task, error)

func runFile(
	ctx context.Context, s *session.Session, flags bulk.Flags, name string, known *bulk.KnownColumns, parse rowParser,
) error {
	return bulk.Run(ctx, s, flags, workOf(name, known, parse))
}

// workOf is what a run does. Its rows may also be those of a plan that have failed.
func workOf(name string, known *bulk.KnownColumns, parse rowParser) bulk.Work {
	planned, service := planColumns(), &serviceOfRows{}
	return bulk.Work{Name: name, Parse: func(row rows.Row) (operation.Task, error) {
		columns := known
		if isPlanned(row) {
			columns = planned
		}
		t, err := parse(columns, row)
		if err != nil {
			return nil, err
		}
		t.service = service
		return t, nil
	}}
}

// maxPatchFile is the size of the largest patch file. The server accepts no larger body.
const maxPatchFile = 1 << 20

// changes collects a patch from the flags of the command and a file.
type changes struct {
	set  []string
	file string
}

func (c *changes) bind(cmd *cobra.Command) {
	for _, field := range api.PropertyFields() {
		cmd.Flags().String(flagOf(field.Name), "", field.Help)
	}
	cmd.Flags().StringArrayVar(&c.set, "set", nil, "set a field: `field=value`, repeatable")
	completion.Flag(cmd, "set", func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		var names []string
		for _, field := range api.PropertyPatchFields() {
			names = append(names, field+"=")
		}
		return completion.Beginning(names, typed), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
	cmd.Flags().StringVar(&c.file, "from-file", "", "read a JSON object of fields from this `file`, - for standard "+
		"input")
	completion.Flag(cmd, "from-file", completion.Files("json"))
}

// aboutOne returns the flags that changes declares.
func aboutOne() []string {
	flags := []string{"set", "from-file"}
	for _, field := range api.PropertyPatchFields() {
		flags = append(flags, flagOf(field))
	}
	return flags
}

func flagOf(field string) string { return strings.ReplaceAll(field, "_", "-") }

// read checks everything given, and sets the patch of the edit and the ETag that guards it. No field, a field given
// twice and an invalid value are usage errors.
func (c *changes) read(cmd *cobra.Command, e *operation.PropertySaving, stdin io.Reader) error {
	typed, object, err := c.given(cmd, stdin)
	if err != nil {
		return err
	}
	problems := api.FieldErrors{}
	members := api.JoinMembers(typed, takeTarget(object, e, problems))
	if len(members) == 0 && len(problems) == 0 {
		return command.Usagef("Nothing to change: give at least one " +
			"field, such as --title, --set field=value or --from-file.")
	}
	var invalid *api.Error
	if e.Patch, err = api.ParsePropertyPatch(members); errors.As(err, &invalid) {
		maps.Copy(problems, invalid.Fields)
	}
	if len(problems) > 0 {
		return &command.UsageError{Message: "The property was " +
			"not changed, because some values are not valid.", Fields: problems}
	}
	return nil
}

// given returns what flags and the file say.
func (c *changes) given(cmd *cobra.Command, stdin io.Reader) (typed, object []api.Member, err error) {
	if typed, err = c.typed(cmd); err == nil {
		object, err = c.inFile(stdin)
	}
	return typed, object, err
}

// takeTarget removes the id and the ETag of an exported property from the members. They must agree with the command
// line.
func takeTarget(members []api.Member, e *operation.PropertySaving, problems api.FieldErrors) (fields []api.Member) {
	said := bulk.Row{}
	for _, m := range members {
		switch m.Name {
		case "propertyId", ifMatchColumn, etagColumn:
			if m.Repeated {
				problems.Add(m.Name, "is given more than once")
			}
			said[m.Name] = bulk.Value{Value: m.Value, Name: m.Name}
		default:
			fields = append(fields, m)
		}
	}
	if value, given := said["propertyId"]; given {
		if id := api.PropertyID(""); value.PropertyID(&id) != "" || id != e.ID {
			problems.Add("propertyId", "must be %s, the property to change", e.ID)
		}
	}
	ifMatch := readIfMatch(said, problems)
	if ifMatch != "" && e.ETag != "" && ifMatch != e.ETag {
		problems.Add(etagColumn, "differs from --if-match; leave one of them out")
	}
	e.ETag = cmp.Or(e.ETag, ifMatch)
	return fields
}

func (c *changes) typed(cmd *cobra.Command) ([]api.Member, error) {
	var members []api.Member
	for _, field := range api.PropertyPatchFields() {
		if flag := cmd.Flags().Lookup(flagOf(field)); flag.Changed {
			members = append(members, api.Member{Name: field, Value: api.TextValue(flag.Value.String())})
		}
	}
	for _, setting := range c.set {
		field, value, ok := strings.Cut(setting, "=")
		if !ok {
			return nil, command.Usagef("--set %q must look like "+
				"field=value.%s", setting, command.DidYouMean(setting, api.PropertyPatchFields()))
		}
		members = append(members, api.Member{Name: field, Value: api.TextValue(value)})
	}
	return members, nil
}

func (c *changes) inFile(stdin io.Reader) ([]api.Member, error) {
	if c.file == "" {
		return nil, nil
	}
	text, err := command.ReadInput("--from-file", c.file, stdin, maxPatchFile)
	if err != nil {
		return nil, err
	}
	object, err := api.ParseObject(text)
	if err != nil {
		return nil, command.Usagef("--from-file %s cannot be read. %s", c.file, err)
	}
	return object, nil
}
