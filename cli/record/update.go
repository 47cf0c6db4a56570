package record

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/operation"
	"example.com/perks/api/rows"
	"example.com/perks/cli/bulk"
	"example.com/perks/cli/command"
	"example.com/perks/cli/completion"
	"example.com/perks/cli/session"
)

// NewUpdate makes the command update. examples are lines.
func (k *Kind[I, R, P]) NewUpdate(s *session.Session, examples string) *cobra.Command {
	e := k.saving("")
	changes, file, many := &changes{}, &bulk.Flags{}, &many[I, R, P]{kind: k, session: s}
	cmd := session.Writes[updated[I]](s, &cobra.Command{
		Use:   "update {ID | --file FILE | --query TEXT | --plan FILE}",
		Short: "Change fields of a " + k.Name + ", or of many",
		Long: "Change the fields given by flags, --set or a file; all others stay as they are. Values are checked\n" +
			"before anything is sent, and a field given twice is refused. Standard error shows what has changed,\n" +
			"from what to what.\n\n" +
			"Without --if-match an update is not guarded: it also changes a " + k.Name +
			" that somebody else has just\n" +
			"changed. The etag of an exported " + k.Name + " in --from-file guards it as --if-match does.\n\n" +
			k.manyHelp("change") + k.relativeHelp() + k.updateFileHelp(),
		Example:           examples,
		Args:              many.orArgs(command.OrFile(&file.File, command.Exactly("ID"))),
		ValidArgsFunction: completion.InOrder(k.IDs(s, true)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if many.isGiven(cmd) {
				typed, err := changes.typed(cmd, k.names())
				if err == nil && !cmd.Flags().Changed(planFlag) {
					err = many.setChanges(typed)
				}
				if err != nil {
					return err
				}
				return many.run(cmd, file)
			}
			if err := file.Check(cmd, append(aboutOne(k.Fields()), command.IfMatchFlag)...); err != nil {
				return err
			}
			if file.File != "" {
				if err := k.checkMayChange(s); err != nil {
					return err
				}
				work := k.workOf(k.Name+" update", k.updateColumns(), k.parseUpdateRow)
				return bulk.Run(cmd.Context(), s, *file, work)
			}
			ids, err := k.parseIDs(args)
			if err != nil {
				return err
			}
			e.ID = ids[0]
			if e.ETag, err = command.IfMatchOf(cmd, e.ETag); err != nil {
				return err
			}
			if err := k.read(cmd, changes, &e, s.Streams.In); err != nil {
				return err
			}
			return k.runUpdate(cmd.Context(), s, e, file.DryRun)
		},
	})
	changes.bind(cmd, k.Fields())
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

func (k *Kind[I, R, P]) runUpdate(
	ctx context.Context, s *session.Session, e operation.Saving[I, R, P], dryRun bool,
) error {
	printer, err := begin[updated[I]](k, s)
	if err != nil {
		return err
	}
	if dryRun {
		return k.runDry(ctx, s, e)
	}
	c, connection, err := s.ConnectToChange(ctx)
	if err != nil {
		return err
	}
	sent := e.SendReading(ctx, c)
	if sent.Err != nil {
		return k.adviseReading(s, e.ID, sent.Err)
	}
	return printer.Done(ctx, k.noteUpdate(s, connection, sent))
}

// runDry shows the requests of the changes, and predicts the outcome of each.
func (k *Kind[I, R, P]) runDry(ctx context.Context, s *session.Session, edits ...operation.Saving[I, R, P]) error {
	return s.PredictedDryRun(ctx, func(c *client.Client) error {
		for _, e := range edits {
			if err := e.Try(ctx, c).Err; !errors.Is(err, client.ErrDryRun) {
				return err
			}
		}
		return nil
	}, func(c *client.Client, at int) operation.Prediction {
		t := k.newTask(edits[at])
		if t.Restore != nil {
			return (&restoreRow[I, R, P]{t}).Predict(ctx, c)
		}
		return t.Predict(ctx, c)
	})
}

// noteUpdate says which values an update has changed, from what to what. Where that is not certain, it says only what
// was set.
func (k *Kind[I, R, P]) noteUpdate(
	s *session.Session, connection session.Connection, sent operation.Saving[I, R, P],
) updated[I] {
	output := updated[I]{done: k.noteLost(s, sent)}
	set, _ := membersOf(sent.Patch) // it was sent, so it can be encoded
	var texts []string
	for _, field := range sent.Patch.Fields() {
		texts = append(texts, field+" to "+shown(set[field]))
	}
	what := "set " + strings.Join(texts, "; ")
	if sent.Replaced != nil {
		output.changes, _ = k.changesOf(*sent.Replaced, with(*sent.Replaced, sent.Patch))
		what = cmp.Or(listed(output.changes, widestInMessage), "it had these values already")
	}
	s.Streams.Note("Updated %s at %s: %s.", k.Named(sent.ID), connection, what)
	return output
}

// noteLost says that a change was made although its reply was lost.
func (k *Kind[I, R, P]) noteLost(s *session.Session, sent operation.Saving[I, R, P]) done[I] {
	if sent.Lost {
		sent.Message = "The reply was lost, but the change was made."
		s.Streams.Note("The reply was lost, but the change to %s was made.", k.Named(sent.ID))
	}
	return done[I]{sent.ID, sent.Message}
}

// adviseReading adds to an unknown outcome how to check it.
func (k *Kind[I, R, P]) adviseReading(s *session.Session, id I, err error) error {
	if !client.OutcomeUnknown(err) {
		return err
	}
	get := command.Quote(s.CommandLine(k.Name, "get", string(id)))
	return &command.Advised{Err: err, Advice: "Check how it is now:\n  " + get}
}

func (k *Kind[I, R, P]) relativeHelp() string {
	return "Values can be relative with --query:\n" + k.Amounts.Help() + `.
The arithmetic is exact: an amount keeps its decimals, and gets more only where it needs them. --round rounds it.

`
}

func (k *Kind[I, R, P]) updateFileHelp() string {
	lists := ""
	for _, field := range k.Fields() {
		if field.Kind == api.ListField {
			lists = " " + field.Name + "\nare URLs separated by commas, or a JSON array."
		}
	}
	return "With --file, change one " + k.Name + " for each row of a CSV file or of JSON lines. The columns are\n" +
		k.idHelp() + " and the fields to change. A column etag, as " + k.Name + " get exports it, or if_match\n" +
		"holds the ETag that the " + k.Name + " must still have, and guards the row; its cells must not be empty.\n" +
		"In other columns, an empty cell leaves the field as it is, and the text null clears " + k.nullable() + "." +
		lists + " You can edit an export and pass it to --file, with or\n" +
		"without --raw: perksctl " + k.Name + " get ... -o csv\n\n" + command.FileHelp
}

// nullable names the fields that can be empty.
func (k *Kind[I, R, P]) nullable() string {
	var names []string
	for _, field := range k.Fields() {
		if field.Nullable {
			names = append(names, field.Name)
		}
	}
	if last := len(names) - 1; last > 1 {
		names = []string{strings.Join(names[:last], ", "), names[last]}
	}
	return strings.Join(names, " and ")
}

type rowParser[I ~string, R any, P operation.Patch[R, P]] func(*bulk.KnownColumns, rows.Row) (*task[I, R, P], error)

// workOf is what a run does. Its rows may also be those of a plan that have failed.
func (k *Kind[I, R, P]) workOf(name string, known *bulk.KnownColumns, parse rowParser[I, R, P]) bulk.Work {
	planned, service := k.planColumns(), &serviceOfRows{}
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

func (c *changes) bind(cmd *cobra.Command, fields []api.Field) {
	for _, field := range fields {
		cmd.Flags().String(flagOf(field.Name), "", field.Help)
	}
	cmd.Flags().StringArrayVar(&c.set, "set", nil, "set a field: `field=value`, repeatable")
	completion.Flag(cmd, "set", func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		var names []string
		for _, field := range fields {
			names = append(names, field.Name+"=")
		}
		return completion.Beginning(names, typed), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
	cmd.Flags().StringVar(&c.file, "from-file", "", "read a JSON object of fields from this `file`, - for standard "+
		"input")
	completion.Flag(cmd, "from-file", completion.Files("json"))
}

// aboutOne returns the flags that changes declares.
func aboutOne(fields []api.Field) []string {
	flags := []string{"set", "from-file"}
	for _, field := range fields {
		flags = append(flags, flagOf(field.Name))
	}
	return flags
}

func flagOf(field string) string { return strings.ReplaceAll(field, "_", "-") }

// read checks everything given, and sets the patch of the edit and the ETag that guards it. No field, a field given
// twice and an invalid value are usage errors.
func (k *Kind[I, R, P]) read(
	cmd *cobra.Command, c *changes, e *operation.Saving[I, R, P], stdin io.Reader,
) error {
	typed, object, err := c.given(cmd, k.names(), stdin)
	if err != nil {
		return err
	}
	problems := api.FieldErrors{}
	members := api.JoinMembers(typed, k.takeTarget(object, e, problems))
	if len(members) == 0 && len(problems) == 0 {
		return command.Usagef("Nothing to change: give at least one " +
			"field, such as --title, --set field=value or --from-file.")
	}
	var invalid *api.Error
	if e.Patch, err = k.Parse(members); errors.As(err, &invalid) {
		maps.Copy(problems, invalid.Fields)
	}
	if len(problems) > 0 {
		return &command.UsageError{Message: "The " + k.Name + " was " +
			"not changed, because some values are not valid.", Fields: problems}
	}
	return nil
}

// given returns what flags and the file say.
func (c *changes) given(cmd *cobra.Command, fields []string, stdin io.Reader) (typed, object []api.Member, err error) {
	if typed, err = c.typed(cmd, fields); err == nil {
		object, err = c.inFile(stdin)
	}
	return typed, object, err
}

// takeTarget removes the id and the ETag of an exported record from the members. They must agree with the command
// line.
func (k *Kind[I, R, P]) takeTarget(
	members []api.Member, e *operation.Saving[I, R, P], problems api.FieldErrors,
) (fields []api.Member) {
	idName := k.IDColumn.Name
	said := bulk.Row{}
	for _, m := range members {
		switch {
		case slices.Contains(k.Ignored, m.Name):
		case slices.Contains([]string{idName, ifMatchColumn, etagColumn}, m.Name):
			if m.Repeated {
				problems.Add(m.Name, "is given more than once")
			}
			said[m.Name] = bulk.Value{Value: m.Value, Name: m.Name}
		default:
			fields = append(fields, m)
		}
	}
	if value, given := said[idName]; given {
		if id := I(""); k.ReadID(value.Value, &id) != "" || id != e.ID {
			problems.Add(idName, "must be %s, the %s to change", e.ID, k.Name)
		}
	}
	ifMatch := readIfMatch(said, problems)
	if ifMatch != "" && e.ETag != "" && ifMatch != e.ETag {
		problems.Add(etagColumn, "differs from --if-match; leave one of them out")
	}
	e.ETag = cmp.Or(e.ETag, ifMatch)
	return fields
}

func (c *changes) typed(cmd *cobra.Command, fields []string) ([]api.Member, error) {
	var members []api.Member
	for _, field := range fields {
		if flag := cmd.Flags().Lookup(flagOf(field)); flag.Changed {
			members = append(members, api.Member{Name: field, Value: api.TextValue(flag.Value.String())})
		}
	}
	for _, setting := range c.set {
		field, value, ok := strings.Cut(setting, "=")
		if !ok {
			return nil, command.Usagef("--set %q must look like "+
				"field=value.%s", setting, command.DidYouMean(setting, fields))
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
