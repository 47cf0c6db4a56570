// Package property is the commands about properties, the rental listings: read, update, delete.
package property

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/rows"
	"example.com/perks/cli/bulk"
	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

var listView = output.View{Columns: []string{"propertyId", "title", "address", "city", "postcode", "price_pw", "bedrooms"}, ID: "propertyId"}

// versioned is a property as it is exported: with the ETag of its version, by which an update from the export is guarded.
type versioned struct {
	api.Property
	ETag string `json:"etag"`
}

// done is what a change of a property gives to programs.
type done struct {
	ID      int64  `json:"propertyId"`
	Message string `json:"message"`
}

// New makes the group.
func New(s *session.Session) *cobra.Command {
	return command.Group(cobra.Command{
		Use:     "property",
		Aliases: []string{"properties"},
		Short:   "Read, update and delete properties",
		Example: "  perksctl property get 42\n  perksctl property update 42 --price-pw 295.50 --bedrooms 2",
	}, newGet(s), newUpdate(s), newEdit(s), newDelete(s))
}

func parseIDs(args []string) ([]int64, error) {
	ids := make([]int64, len(args))
	for i, arg := range args {
		id, err := strconv.ParseInt(arg, 10, 64)
		if err != nil || id <= 0 {
			return nil, command.Usagef("%q is not the id of a property: it must be a whole number above 0.", arg)
		}
		ids[i] = id
	}
	return ids, nil
}

func name(id int64) string { return "property " + strconv.FormatInt(id, 10) }

// checkNotSandbox keeps a change that was meant for the sandbox away from live data: the sandbox has no properties.
func checkNotSandbox(s *session.Session) error {
	connection, err := s.Connection()
	if err == nil && connection.Sandbox {
		return command.Usagef("The sandbox has no properties; this would change the live one. Add --sandbox=false if that is what you want.")
	}
	return err
}

// entityTag puts the quotes around an ETag (RFC 9110, section 8.8.3) that a shell took off.
func entityTag(tag string) string {
	if tag == "" || tag == "*" || tag[0] == '"' || len(tag) > 2 && tag[:2] == "W/" {
		return tag
	}
	return `"` + tag + `"`
}

// guard returns the ETag of --if-match with its quotes, "" if the flag is not given. An empty one is refused: it is what a
// script's failed search leaves, and the change would go out unguarded.
func guard(cmd *cobra.Command, tag string) (string, error) {
	if !cmd.Flags().Changed(ifMatchFlag) {
		return "", nil
	}
	if problem := entityTagRule(tag); problem != "" {
		return "", command.Usagef("--%s %s.", ifMatchFlag, problem)
	}
	return entityTag(tag), nil
}

const ifMatchFlag = "if-match"

// begin makes what a command that changes properties works with.
func begin(s *session.Session) (*output.Printer[done], error) {
	printer, err := output.New[done](s.Output, s.Streams, output.View{ID: "propertyId"})
	if err != nil {
		return nil, err
	}
	return printer, checkNotSandbox(s)
}

func newGet(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "get ID...",
		Short: "Show properties by their ids",
		Long: "Show one property, or several as a list. If one of them cannot be read, none is shown. The field etag names the\n" +
			"version that was read. Give it to update or delete, by --if-match or in a file, and they refuse any later version.",
		Example: "  perksctl property get 42\n" +
			"  perksctl property get 41 42 --output csv\n" +
			"  perksctl property delete 42 --if-match \"$(perksctl property get 42 --jq .etag)\"",
		Args: command.AtLeastOne("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ids, err := parseIDs(args)
			if err != nil {
				return err
			}
			return runGet(cmd.Context(), s, ids)
		},
	}
}

func runGet(ctx context.Context, s *session.Session, ids []int64) error {
	printer, c, err := session.Begin[versioned](s, listView)
	if err != nil {
		return err
	}
	properties, plain, guarded := make([]versioned, len(ids)), make([]api.Property, len(ids)), false
	for i, id := range ids {
		property, etag, err := c.Property(ctx, id)
		if err != nil {
			return command.Among(len(ids), name(id), err)
		}
		properties[i], plain[i] = versioned{property, etag}, property
		guarded = guarded || etag != ""
	}
	if guarded || slices.Contains(s.Output.Fields, etagColumn) {
		return printer.Few(ctx, properties)
	}
	// A server without ETags has nothing to guard with: a column of empty ones would have every row of an update fail.
	without, err := output.New[api.Property](s.Output, s.Streams, listView)
	if err != nil {
		return err
	}
	return without.Few(ctx, plain)
}

func newUpdate(s *session.Session) *cobra.Command {
	var e client.Editing
	changes, file := &changes{}, &bulk.Flags{}
	cmd := &cobra.Command{
		Use:   "update {ID | --file FILE}",
		Short: "Change fields of a property, or of many",
		Long: "Change the fields that are given, by flags, --set or a file; all others stay as they are. Values are checked\n" +
			"before anything is sent, and a field that is given twice is refused. The etag of an exported property in --from-file\n" +
			"guards the change as --if-match does.\n\n" + updateFileHelp,
		Example: "  perksctl property update 42 --price-pw 295.50 --bedrooms 2\n" +
			"  perksctl property update 42 --set city=Leeds --set lat=\n" +
			"  perksctl property update 42 --from-file patch.json --if-match 1f2e3d\n" +
			updateFileExample,
		Args: command.OrFile(&file.File, command.Exactly("ID")),
		RunE: func(cmd *cobra.Command, args []string) error {
			about := []string{"set", "from-file", ifMatchFlag}
			for _, field := range api.PropertyPatchFields() {
				about = append(about, flagOf(field))
			}
			if err := file.Check(cmd, about...); err != nil {
				return err
			}
			if file.File != "" {
				if err := checkNotSandbox(s); err != nil {
					return err
				}
				return runFile(cmd.Context(), s, *file, "property update", updateColumns(), parseUpdateRow)
			}
			ids, err := parseIDs(args)
			if err != nil {
				return err
			}
			e.ID = ids[0]
			if e.ETag, err = guard(cmd, e.ETag); err != nil {
				return err
			}
			if err := changes.read(cmd, &e, s.Streams.In); err != nil {
				return err
			}
			return runUpdate(cmd.Context(), s, e, file.DryRun)
		},
	}
	changes.bind(cmd)
	cmd.Flags().StringVar(&e.ETag, ifMatchFlag, "", "change it only while this `ETag` names its current version")
	file.Bind(cmd)
	return cmd
}

func runUpdate(ctx context.Context, s *session.Session, e client.Editing, dryRun bool) error {
	printer, err := begin(s)
	if err != nil {
		return err
	}
	if dryRun {
		return runDry(ctx, s, e)
	}
	c, connection, err := s.Connect()
	if err != nil {
		return err
	}
	if e = carryOut(ctx, s, c, connection, e); e.Err != nil {
		return adviseReading(s, e.ID, e.Err)
	}
	return printer.Done(ctx, done{e.ID, e.Message})
}

// runDry shows the requests that the changes would make, and what would become of each.
func runDry(ctx context.Context, s *session.Session, edits ...client.Editing) error {
	return s.RehearseWith(ctx, func(c *client.Client) error {
		for _, e := range edits {
			if err := e.Try(ctx, c).Err; !errors.Is(err, client.ErrRehearsed) {
				return err
			}
		}
		return nil
	}, func(c *client.Client, at int) (string, []session.Change, error) {
		return (&task{edits[at], func() (*client.Client, error) { return c, nil }}).Check(ctx)
	})
}

// carryOut makes a change, and finds out what became of it if no answer tells.
func carryOut(ctx context.Context, s *session.Session, c *client.Client, connection session.Connection, e client.Editing) client.Editing {
	e = e.Send(ctx, c)
	if e.Err != nil {
		return e
	}
	if e.Lost {
		e.Message = "The reply was lost, but the change was made."
		s.Streams.Note("The reply was lost, but the change of %s was made.", name(e.ID))
	}
	verb := "Updated"
	if e.Delete {
		verb = "Deleted"
	}
	s.Streams.Note("%s %s at %s.", verb, name(e.ID), connection)
	return e
}

// adviseReading adds to an unknown outcome how to find out. Updating or deleting again does no harm, but reading tells.
func adviseReading(s *session.Session, id int64, err error, advice ...string) error {
	if client.OutcomeUnknown(err) {
		look := s.CommandLine("property", "get", strconv.FormatInt(id, 10))
		advice = append(advice, "See how it is now:\n  "+command.Quote(look))
	}
	if len(advice) == 0 {
		return err
	}
	return &command.Advised{Err: err, Advice: strings.Join(advice, "\n")}
}

const updateFileHelp = "With --file, change one property for each row of a CSV file or of JSON lines. The columns are propertyId (or id) and\n" +
	"the fields to change. A column etag, as property get exports it, or if_match holds the ETag that the property must\n" +
	"still have; its cells must not be empty. In other columns, an empty cell leaves the field as it is, and the text\n" +
	"null clears lat and lng. images are URLs with commas between, or a JSON array. You can edit an export and pass it\n" +
	"to --file, with or without --raw: perksctl property get ... -o csv\n\n" + command.FileHelp

const updateFileExample = "  perksctl property update --file prices.csv --failed again.csv\n" +
	"  perksctl property update --file prices.csv --dry-run"

func runFile(ctx context.Context, s *session.Session, flags bulk.Flags, name string, known *bulk.KnownColumns, parse func(*bulk.KnownColumns, rows.Row) (client.Editing, error)) error {
	connect := sync.OnceValues(func() (*client.Client, error) {
		c, _, err := s.Connect()
		return c, err
	})
	return bulk.Run(ctx, s, flags, bulk.Work{Name: name, Parse: func(row rows.Row) (bulk.Task, error) {
		e, err := parse(known, row)
		if err != nil {
			return nil, err
		}
		return &task{e, connect}, nil
	}})
}

// maxPatchFile bounds what is read of a patch file. The server takes no larger body.
const maxPatchFile = 1 << 20

// changes gathers the fields of a patch from the flags of the command and a file.
type changes struct {
	set  []string
	file string
}

func (c *changes) bind(cmd *cobra.Command) {
	for _, field := range api.PropertyFields() {
		cmd.Flags().String(flagOf(field.Name), "", field.Help)
	}
	cmd.Flags().StringArrayVar(&c.set, "set", nil, "set a field: `field=value`, repeatable")
	cmd.Flags().StringVar(&c.file, "from-file", "", "read a JSON object of fields from this `file`, - for standard input")
}

func flagOf(field string) string { return strings.ReplaceAll(field, "_", "-") }

// read reads and checks everything that was given, and puts it into the edit: the patch, and the ETag that guards it.
// Nothing given, a field given twice and a value that breaks its field's rule are wrong usage.
func (c *changes) read(cmd *cobra.Command, e *client.Editing, stdin io.Reader) error {
	members, err := c.typed(cmd)
	if err != nil {
		return err
	}
	object, err := c.inFile(stdin)
	if err != nil {
		return err
	}
	problems := api.FieldErrors{}
	members = api.JoinMembers(members, takeTarget(object, e, problems))
	if len(members) == 0 && len(problems) == 0 {
		return command.Usagef("Nothing to change: give at least one field, such as --title, --set field=value or --from-file.")
	}
	var invalid *api.Error
	if e.Patch, err = api.ParsePropertyPatch(members); errors.As(err, &invalid) {
		maps.Copy(problems, invalid.Fields)
	}
	if len(problems) > 0 {
		return &command.UsageError{Message: "The property was not changed, because some values are not valid.", Fields: problems}
	}
	return nil
}

// takeTarget takes out what an exported property says beside its fields: which one it is, and the ETag of its version. They
// must agree with what the command line says.
func takeTarget(members []api.Member, e *client.Editing, problems api.FieldErrors) (fields []api.Member) {
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
		if id := int64(0); value.Int(&id) != "" || id != e.ID {
			problems.Add("propertyId", "is not %d, the property to change", e.ID)
		}
	}
	ifMatch := readGuard(said, problems)
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
			return nil, command.Usagef("--set %q must look like field=value.%s", setting, command.DidYouMean(setting, api.PropertyPatchFields()))
		}
		members = append(members, api.Member{Name: field, Value: api.TextValue(value)})
	}
	return members, nil
}

func (c *changes) inFile(stdin io.Reader) ([]api.Member, error) {
	source, from := stdin, "Standard input"
	switch c.file {
	case "":
		return nil, nil
	case "-":
	default:
		file, err := os.Open(c.file)
		if err != nil {
			return nil, command.Usagef("The patch cannot be read: %s.", err)
		}
		defer file.Close()
		source, from = file, c.file
	}
	text, err := io.ReadAll(io.LimitReader(source, maxPatchFile+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", from, err)
	}
	if len(text) > maxPatchFile {
		return nil, command.Usagef("%s is longer than %d bytes.", from, maxPatchFile)
	}
	object, err := api.ParseObject(text)
	if err != nil {
		return nil, command.Usagef("%s cannot be read. %s", from, err)
	}
	return object, nil
}
