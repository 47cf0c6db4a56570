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

var doneView = output.View{ID: "propertyId"}

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

// name is how messages call a property.
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

type getOptions struct {
	session *session.Session
	ids     []int64
}

func newGet(s *session.Session) *cobra.Command {
	o := &getOptions{session: s}
	return &cobra.Command{
		Use:   "get ID...",
		Short: "Show properties by their ids",
		Long: "Show one property, or several as a list. If one of them cannot be read, none is shown. The field etag names the\n" +
			"version that was read. Give it to update or delete, by --if-match or in a file, and they refuse any later version.",
		Example: "  perksctl property get 42\n" +
			"  perksctl property get 41 42 --output csv\n" +
			"  perksctl property delete 42 --if-match \"$(perksctl property get 42 --jq .etag)\"",
		Args: command.AtLeastOne("ID"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.ids, err = parseIDs(args); err != nil {
				return err
			}
			return runGet(cmd.Context(), o)
		},
	}
}

func runGet(ctx context.Context, o *getOptions) error {
	s := o.session
	printer, err := output.New[versioned](s.Output, s.Streams, listView)
	if err != nil {
		return err
	}
	c, _, err := s.Connect()
	if err != nil {
		return err
	}
	properties, plain, guarded := make([]versioned, len(o.ids)), make([]api.Property, len(o.ids)), false
	for i, id := range o.ids {
		property, etag, err := c.Property(ctx, id)
		if err != nil {
			return command.Among(len(o.ids), name(id), err)
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

type updateOptions struct {
	session *session.Session
	id      int64
	patch   api.PropertyPatch
	ifMatch string
	dryRun  bool
}

func newUpdate(s *session.Session) *cobra.Command {
	o := &updateOptions{session: s}
	changes := &changes{}
	file := &bulk.Flags{}
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
			if err := checkUpdateFile(cmd, file); err != nil {
				return err
			}
			if file.File != "" {
				return runUpdateFile(cmd.Context(), s, bulk.Options{Flags: *file, DryRun: o.dryRun})
			}
			ids, err := parseIDs(args)
			if err != nil {
				return err
			}
			o.id = ids[0]
			if o.ifMatch, err = guard(cmd, o.ifMatch); err != nil {
				return err
			}
			if o.patch, o.ifMatch, err = changes.read(cmd, target{o.id, o.ifMatch}, s.Streams.In); err != nil {
				return err
			}
			return runUpdate(cmd.Context(), o)
		},
	}
	changes.bind(cmd)
	cmd.Flags().StringVar(&o.ifMatch, ifMatchFlag, "", "change it only while this `ETag` names its current version")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "show the request and what it would do, or with --file what each row would do; change nothing")
	file.Bind(cmd)
	return cmd
}

func runUpdate(ctx context.Context, o *updateOptions) error {
	s := o.session
	printer, err := output.New[done](s.Output, s.Streams, doneView)
	if err != nil {
		return err
	}
	if err := checkNotSandbox(s); err != nil {
		return err
	}
	if o.dryRun {
		return s.RehearseWith(ctx, func(c *client.Client) error {
			_, err := c.UpdateProperty(ctx, o.id, o.patch, o.ifMatch)
			return err
		}, func(c *client.Client, _ int) (string, []session.Change, error) {
			return (&updateTask{target{o.id, o.ifMatch}, connected(c), o.patch}).Check(ctx)
		})
	}
	c, connection, err := s.Connect()
	if err != nil {
		return err
	}
	message, err := c.UpdateProperty(ctx, o.id, o.patch, o.ifMatch)
	if err != nil && !found(ctx, s, c, o.id, err, o.isHeld) {
		return settle(s, o.id, err)
	}
	s.Streams.Note("Updated %s at %s.", name(o.id), connection)
	return printer.Done(ctx, done{o.id, message.Message})
}

func (o *updateOptions) isHeld(property api.Property, err error) bool {
	return err == nil && o.patch.IsHeldBy(property)
}

const updateFileHelp = "With --file, change one property for each row of a CSV file or of JSON lines. The columns are propertyId (or id) and\n" +
	"the fields to change. A column etag, as property get exports it, or if_match holds the ETag that the property must\n" +
	"still have; its cells must not be empty. In other columns, an empty cell leaves the field as it is, and the text\n" +
	"null clears lat and lng. images are URLs with commas between, or a JSON array. You can edit an export and pass it\n" +
	"to --file, with or without --raw: perksctl property get ... -o csv\n\n" + command.FileHelp

const updateFileExample = "  perksctl property update --file prices.csv --failed again.csv\n" +
	"  perksctl property update --file prices.csv --dry-run"

// checkUpdateFile refuses flags that do not go with --file, and those that do not go without it.
func checkUpdateFile(cmd *cobra.Command, flags *bulk.Flags) error {
	about := []string{"set", "from-file", "if-match"}
	for _, field := range api.PropertyPatchFields() {
		about = append(about, flagOf(field))
	}
	if err := command.NotWithFile(cmd, flags.File, about...); err != nil {
		return err
	}
	return flags.Check(cmd)
}

func runUpdateFile(ctx context.Context, s *session.Session, options bulk.Options) error {
	if err := checkNotSandbox(s); err != nil {
		return err
	}
	connect, known := connectOnce(s), updateColumns()
	return bulk.Run(ctx, s, options, bulk.Work{Name: "property update", Parse: func(row rows.Row) (bulk.Task, error) {
		target, patch, err := parseUpdateRow(known, row)
		if err != nil {
			return nil, err
		}
		return &updateTask{target, connect, patch}, nil
	}})
}

func connectOnce(s *session.Session) connector {
	return sync.OnceValues(func() (*client.Client, error) {
		c, _, err := s.Connect()
		return c, err
	})
}

func connected(c *client.Client) connector {
	return func() (*client.Client, error) { return c, nil }
}

// maxPatchFile bounds what is read of a patch file. The server takes no larger body.
const maxPatchFile = 1 << 20

// changes gathers the fields of a patch from the flags of the command and a file.
type changes struct {
	fields map[string]*string // by the names of the wire
	set    []string
	file   string
}

// fieldHelp is what the flags' help says of each field.
var fieldHelp = map[string]string{
	"title":       "the title",
	"description": "the description",
	"address":     "street and number",
	"city":        "the city",
	"postcode":    "the postcode",
	"images":      "addresses of images, comma-separated; they replace all that are there",
	"price_pw":    "the price for a week, such as 295.50; its digits are kept",
	"bedrooms":    "how many bedrooms",
	"bathrooms":   "how many bathrooms",
	"lat":         "the latitude in degrees; empty for none",
	"lng":         "the longitude in degrees; empty for none",
	"deposit":     "the deposit",
}

func (c *changes) bind(cmd *cobra.Command) {
	c.fields = map[string]*string{}
	for _, field := range api.PropertyPatchFields() {
		c.fields[field] = cmd.Flags().String(flagOf(field), "", fieldHelp[field])
	}
	cmd.Flags().StringArrayVar(&c.set, "set", nil, "set a field: `field=value`, repeatable")
	cmd.Flags().StringVar(&c.file, "from-file", "", "read a JSON object of fields from this `file`, - for standard input")
}

func flagOf(field string) string { return strings.ReplaceAll(field, "_", "-") }

// read reads and checks everything that was given, and returns the patch and the ETag that guards it. Nothing given, a field
// given twice and a value that breaks its field's rule are wrong usage.
func (c *changes) read(cmd *cobra.Command, meant target, stdin io.Reader) (api.PropertyPatch, string, error) {
	members, err := c.typed(cmd)
	if err != nil {
		return api.PropertyPatch{}, "", err
	}
	object, err := c.inFile(stdin)
	if err != nil {
		return api.PropertyPatch{}, "", err
	}
	problems := api.FieldErrors{}
	fields, ifMatch := takeTarget(object, meant, problems)
	members = append(members, fields...)
	if len(members) == 0 && len(problems) == 0 {
		return api.PropertyPatch{}, "", command.Usagef("Nothing to change: give at least one field, such as --title, --set field=value or --from-file.")
	}
	patch, err := api.ParsePropertyPatch(mergeRepeats(members))
	var invalid *api.Error
	if errors.As(err, &invalid) {
		maps.Copy(problems, invalid.Fields)
	} else if err != nil {
		return patch, "", err
	}
	if len(problems) > 0 {
		return patch, "", &command.UsageError{Message: "The property was not changed, because some values are not valid.", Fields: problems}
	}
	return patch, ifMatch, nil
}

// takeTarget takes out what an exported property says beside its fields: which one it is, and the ETag of its version. They
// must agree with what the command line says.
func takeTarget(members []api.Member, meant target, problems api.FieldErrors) (fields []api.Member, ifMatch string) {
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
		if id := int64(0); value.Int(&id) != "" || id != meant.id {
			problems.Add("propertyId", "is not %d, the property to change", meant.id)
		}
	}
	ifMatch = readGuard(said, problems)
	if ifMatch != "" && meant.ifMatch != "" && ifMatch != meant.ifMatch {
		problems.Add(etagColumn, "differs from --if-match; leave one of them out")
	}
	return fields, cmp.Or(meant.ifMatch, ifMatch)
}

// typed returns the fields that the command line sets.
func (c *changes) typed(cmd *cobra.Command) ([]api.Member, error) {
	var members []api.Member
	for _, field := range api.PropertyPatchFields() {
		if cmd.Flags().Changed(flagOf(field)) {
			members = append(members, api.Member{Name: field, Value: api.TextValue(*c.fields[field])})
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

// inFile returns the members of the object in --from-file.
func (c *changes) inFile(stdin io.Reader) ([]api.Member, error) {
	if c.file == "" {
		return nil, nil
	}
	text, err := readPatch(c.file, stdin)
	if err != nil {
		return nil, err
	}
	object, err := api.ParseObject(text)
	if err != nil {
		return nil, command.Usagef("%s cannot be read. %s", fileName(c.file), err)
	}
	return object, nil
}

func readPatch(path string, stdin io.Reader) ([]byte, error) {
	source := stdin
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, command.Usagef("The patch cannot be read: %s.", err)
		}
		defer file.Close()
		source = file
	}
	text, err := io.ReadAll(io.LimitReader(source, maxPatchFile+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", fileName(path), err)
	}
	if len(text) > maxPatchFile {
		return nil, command.Usagef("%s is longer than %d bytes.", fileName(path), maxPatchFile)
	}
	return text, nil
}

func fileName(path string) string {
	if path == "-" {
		return "Standard input"
	}
	return path
}

// mergeRepeats marks fields that came from more than one place, as a repeat within one object is marked.
func mergeRepeats(members []api.Member) []api.Member {
	var merged []api.Member
	index := map[string]int{}
	for _, member := range members {
		if i, seen := index[member.Name]; seen {
			merged[i].Repeated = true
			continue
		}
		index[member.Name] = len(merged)
		merged = append(merged, member)
	}
	return merged
}
