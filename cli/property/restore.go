package property

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
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

// restoration is what the flags of restore say.
type restoration struct {
	session *session.Session
	file    bulk.Flags
	key     command.IdempotencyKey
	again   []string            // the flags that run it again under the same key
	to      api.PropertyRestore // zero is the last version before the deletion
	yes     bool
}

const toColumn = "to"

func newRestore(s *session.Session) *cobra.Command {
	r := &restoration{session: s}
	var to, ifMatch string
	cmd := session.Writes[versioned](s, &cobra.Command{
		Use:   "restore {ID... | --file FILE}",
		Short: "Bring back deleted properties, or earlier versions",
		Long: "Bring back deleted properties of your client, in the order given, or with --to the version with an\n" +
			"ETag or of a time, as property history shows them. --to also overwrites a property that is not\n" +
			"deleted: on a terminal you see what would change and are asked first; elsewhere --yes is needed. What\n" +
			"you are asked about is guarded: if somebody else changes it meanwhile, it is not restored. With --yes\n" +
			"it is not guarded unless you add --if-match. The first failure ends the command, and the error says\n" +
			"which properties were not tried.\n\n" + restoreFileHelp,
		Example: "  perksctl property restore 42\n" +
			"  perksctl property restore 42 --to 2026-01-31T09:00:00Z\n" +
			"  perksctl property restore 42 --to \"$(perksctl property history 42 --jq '.[1].etag')\" --yes\n" +
			"  perksctl property restore --file deleted.csv --yes",
		Args:              command.OrFile(&r.file.File, command.AtLeastOne("ID")),
		ValidArgsFunction: completion.Properties(s, true),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := r.file.Check(cmd, toColumn, command.IfMatchFlag, command.KeyFlag); err != nil {
				return err
			}
			if r.file.File != "" {
				columns := restoreColumns()
				work := bulk.Work{Name: bulk.RestoreProperties, Parse: func(row rows.Row) (operation.Task, error) {
					return parseRestoreRow(columns, row)
				}}
				return runAskedFile(cmd.Context(), s, r.file, r.yes, "restore", work)
			}
			ids, err := parseIDs(args)
			if err != nil {
				return err
			}
			if ifMatch, err = command.IfMatchOf(cmd, ifMatch); err != nil {
				return err
			}
			if cmd.Flags().Changed(toColumn) {
				problem := ""
				if r.to, problem = parseVersion(to); problem != "" {
					return command.Usagef("--to %q: %s.", to, problem)
				}
			}
			if r.again, err = r.key.Take(cmd); err != nil {
				return err
			}
			for _, flag := range []string{command.IfMatchFlag, command.KeyFlag} {
				if len(ids) > 1 && cmd.Flags().Changed(flag) {
					return command.Usagef("--%s is about one property, but %d are given.", flag, len(ids))
				}
			}
			if len(ids) > 1 && r.to.ETag != "" {
				return command.Usagef("--to names a version of one property, but %d are given. Name a time.", len(ids))
			}
			return r.run(cmd.Context(), ids, ifMatch)
		},
	})
	cmd.Flags().StringVar(&to, toColumn, "",
		"restore the `VERSION` with this ETag, or of this time, such as 2026-01-31 or 2026-01-31T09:00:00Z")
	cmd.Flags().StringVar(&ifMatch, command.IfMatchFlag, "",
		"restore it only if this `ETag` is current, or was when it was deleted")
	bindUnguarded(cmd, s)
	cmd.Flags().BoolVarP(&r.yes, "yes", "y", false, "do not ask")
	r.key.Bind(cmd)
	r.file.Bind(cmd)
	return cmd
}

// parseVersion reads an ETag or a time.
func parseVersion(text string) (version api.PropertyRestore, problem string) {
	if version.AsOf, problem = api.ParseTime(text); problem == "" {
		return version, ""
	}
	version = api.PropertyRestore{ETag: command.EntityTag(text)}
	if command.EntityTagRule(text) != "" || strings.ContainsAny(text, " ,*") {
		return version, "must be an ETag as property history shows it, " + strings.TrimPrefix(problem, "must be ")
	}
	return version, ""
}

func (r *restoration) run(ctx context.Context, ids []api.PropertyID, ifMatch string) error {
	s := r.session
	printer, err := output.New[versioned](s.Output, s.Streams, listView)
	if err == nil {
		err = checkNotSandbox(s)
	}
	if err != nil {
		return err
	}
	edits := make([]operation.PropertySaving, len(ids))
	for i, id := range ids {
		edits[i] = operation.PropertySaving{
			Kind: operation.Properties, ID: id, Restore: &r.to, ETag: ifMatch, Key: r.key.Value}
		if i > 0 {
			edits[i].Key = uuid.NewString()
		}
	}
	if r.file.DryRun {
		return runDry(ctx, s, edits...)
	}
	if r.to != (api.PropertyRestore{}) && !r.yes {
		if err := r.ask(ctx, edits); err != nil {
			return err
		}
	}
	c, connection, err := s.ConnectToChange(ctx)
	if err != nil {
		return err
	}
	next := 0
	return list.Each(ctx, printer, "property", ids, func(api.PropertyID) (versioned, error) {
		sent := edits[next].SendReading(ctx, c)
		next++
		if sent.Err != nil {
			return versioned{}, r.advise(c, sent, len(ids) == 1)
		}
		return r.note(connection, sent), nil
	})
}

// ask shows what would change, and asks. It guards each change by the version that it has shown.
func (r *restoration) ask(ctx context.Context, edits []operation.PropertySaving) error {
	s := r.session
	connection, err := s.Connection()
	if err != nil {
		return err
	}
	names := make([]string, len(edits))
	for i, e := range edits {
		names[i] = name(e.ID)
	}
	question := fmt.Sprintf("Restore %s at %s?", strings.Join(names, ", "), connection)
	if s.Streams.CanAsk() {
		c, _, err := s.Connect()
		if err != nil {
			return err
		}
		for i, e := range edits {
			p, now := predictRestore(ctx, c, e)
			if p.Err != nil {
				return command.ErrorOf(len(edits), names[i], p.Err)
			}
			s.Streams.Show(p.Message + "\n")
			edits[i].ETag = cmp.Or(e.ETag, now.ETag)
		}
		s.RestartTimeout() // a person takes their time
	}
	return command.Confirm(ctx, s.Streams, false, question)
}

// advise adds to an unknown outcome how to retry or to check it.
func (r *restoration) advise(c *client.Client, sent operation.PropertySaving, isOnly bool) error {
	if !isOnly || !client.OutcomeUnknown(sent.Err) {
		return adviseReading(r.session, sent.ID, sent.Err)
	}
	again := command.Quote(append(r.session.CommandLine("property", "restore", string(sent.ID)), r.again...))
	return &command.Advised{
		Err: sent.Err, Retry: again, Key: sent.Key,
		Advice: command.RetryAdvice(c.HonoursKeys(), "restored", again,
			command.Quote(r.session.CommandLine("property", "get", string(sent.ID)))),
	}
}

// note says what was restored, and what that has changed where it is certain.
func (r *restoration) note(connection session.Connection, sent operation.PropertySaving) versioned {
	s, now := r.session, sent.Current
	noteLost(s, sent)
	what := fmt.Sprintf("Restored %s, %q, at %s.", name(sent.ID), now.Record.Title, connection)
	switch {
	case sent.Replayed:
		s.Streams.Warn("Nothing was restored now: this key was used before. This is the response from then.")
		what = ""
	case sent.Replaced != nil:
		changes, _ := changesOf(*sent.Replaced, now.Record)
		what = fmt.Sprintf("Restored %s at %s: %s.", name(sent.ID), connection,
			cmp.Or(listed(changes, widestInMessage), "it was like this already"))
	}
	if what != "" {
		s.Streams.Note("%s", what)
	}
	return versioned{now.Record, now.ETag}
}

// predictRestore compares the property with the version that would be restored, and returns it as it is now.
func predictRestore(
	ctx context.Context, c *client.Client, e operation.PropertySaving,
) (p operation.Prediction, now operation.PropertyVersion) {
	e = e.Read(ctx, c)
	now = e.Current
	isDeleted := client.IsNotFound(e.ReadErr)
	switch {
	case e.ReadErr != nil && !isDeleted:
		p.Err = e.ReadErr
	case e.HasCurrent && *e.Restore == (api.PropertyRestore{}):
		p.Err = api.Errorf(api.CodeNotDeleted, "Property %s is not deleted. Say which version to restore, with --to.",
			e.ID)
	case e.HasCurrent:
		p.Err = checkGuard(e)
	}
	if p.Err != nil {
		return p, now
	}
	version, err := versionOf(ctx, c, e.ID, *e.Restore)
	switch {
	case err != nil:
		p.Err = err
	case isDeleted:
		p.Message = fmt.Sprintf("Property %s, %q, would be restored.", e.ID, version.Title)
	default:
		p.Changes, p.Err = changesOf(now.Record, version)
		p.Message = sentenceOf(e.ID, p.Changes)
	}
	return p, now
}

// versionOf reads a version of a property: of a time, with an ETag, or the last before the deletion.
func versionOf(
	ctx context.Context, c *client.Client, id api.PropertyID, of api.PropertyRestore,
) (version api.Property, err error) {
	switch {
	case !of.AsOf.IsZero():
		version, _, err = c.PropertyAsOf(ctx, id, of.AsOf)
		return version, err
	case of.ETag == "":
		deletion, err := operation.Properties.Deletion(ctx, c, id)
		if err != nil {
			return version, err
		}
		return version, api.ReadProperty(deletion.Before, &version)
	}
	for page, err := range c.PropertyHistoryPages(ctx, id, client.ListOptions{PerPage: api.MaxPerPage}) {
		if err != nil {
			return version, err
		}
		for _, v := range page.Data {
			if v.ETag != nil && client.SameVersion(*v.ETag, of.ETag) {
				found, _, err := operation.Properties.ReadVersion(ctx, c, id, v)
				return found.Record, err
			}
		}
	}
	return version, api.Errorf(api.CodeNotFound, "Property %s has no version with the ETag %s.", id, of.ETag)
}

const restoreFileHelp = "With --file, restore the property of each row of a CSV file or of JSON lines. The columns\n" +
	"are propertyId (or id), to with an ETag or a time, and etag or if_match, which guards the row as\n" +
	"--if-match does. Without to, or where it is empty, the property must be deleted. The other columns of\n" +
	"an export are ignored, so you can pass the file of a deletion.\n\n" + command.FileHelp

// restoreColumns are the columns of a file of properties to restore.
func restoreColumns() *bulk.KnownColumns {
	known := deleteColumns()
	known.Columns = append(known.Columns, bulk.Column{Name: toColumn})
	return known
}

func parseRestoreRow(known *bulk.KnownColumns, row rows.Row) (operation.Task, error) {
	values, err := known.Read(row)
	if err != nil {
		return nil, err
	}
	problems := api.FieldErrors{}
	r := &restoreRow{task{PropertySaving: readTarget(values, problems)}}
	r.Restore = &api.PropertyRestore{}
	if value, given := values[toColumn]; given {
		text := ""
		problem := value.Text(&text)
		if problem == "" {
			*r.Restore, problem = parseVersion(text)
		}
		if problem != "" {
			problems.Add(value.Name, "%s", problem)
		}
	}
	if len(problems) > 0 {
		return nil, problems.Err()
	}
	return r, nil
}

// restoreRow is the restoration that a row asks for.
type restoreRow struct{ task }

// Send restores the version, and says of which one it took the place, so that it can be undone.
func (r *restoreRow) Send(
	ctx context.Context, c *client.Client, key string,
) (o operation.Outcome, replayed bool, err error) {
	for tries := 1; ; tries++ {
		ifMatch, before, err := r.guard(ctx, c)
		if err != nil {
			return o, false, err
		}
		_, etag, replayed, err := c.RestoreProperty(ctx, r.ID, *r.Restore, ifMatch, key)
		switch {
		case ifMatch != r.ETag && operation.IsVersionConflict(err) && tries <= maxMerges:
			continue
		case err == nil && replayed:
			before, err = r.replaced(ctx, c, etag)
		}
		if err != nil {
			return o, false, err
		}
		return operation.Outcome{ID: string(r.ID), Status: http.StatusOK, Action: operation.Restored, ETag: etag,
			ETagBefore: before}, replayed, nil
	}
}

// guard returns the ETag that guards the row, and that of the version that it replaces; "" if the property is deleted.
// Without a version to restore, the service restores nothing else.
func (r *restoreRow) guard(ctx context.Context, c *client.Client) (ifMatch, replaced string, err error) {
	if *r.Restore == (api.PropertyRestore{}) {
		return r.ETag, "", nil
	}
	now := r.Read(ctx, c)
	if !client.IsNotFound(now.ReadErr) {
		return cmp.Or(r.ETag, now.Current.ETag), now.Current.ETag, now.ReadErr
	}
	page, err := c.PropertyHistory(ctx, r.ID, client.ListOptions{PerPage: 2})
	if len(page.Data) == 2 && page.Data[0].Action == api.VersionDeleted && page.Data[1].ETag != nil {
		return cmp.Or(r.ETag, *page.Data[1].ETag), "", err
	}
	return r.ETag, "", err
}

// replaced returns the ETag of the version that an earlier request under the row's key has replaced, as the history
// tells it.
func (r *restoreRow) replaced(ctx context.Context, c *client.Client, etag string) (string, error) {
	if *r.Restore == (api.PropertyRestore{}) {
		return "", nil
	}
	versions, err := c.PropertyVersionsSince(ctx, r.ID, r.since)
	for i, version := range versions {
		if version.Action != api.VersionRestored || version.ETag == nil || !client.SameVersion(*version.ETag, etag) {
			continue
		}
		if i+1 < len(versions) && versions[i+1].ETag != nil {
			return *versions[i+1].ETag, nil
		}
		return "", nil
	}
	return etag, err // it was like this already
}

// LookUp finds the version restored, or the property alive. Only the row's key tells whose restoration that is.
func (r *restoreRow) LookUp(
	ctx context.Context, c *client.Client, since time.Time, _ func(string) bool,
) (o operation.Outcome, event operation.Event, err error) {
	r.since = since
	now := r.Read(ctx, c)
	switch {
	case now.IsApplied():
		o.ID = string(r.ID)
		return o, operation.Match, nil
	case now.ReadErr != nil && !client.IsNotFound(now.ReadErr):
		return o, operation.Unread, now.ReadErr
	}
	return o, operation.Absent, nil
}

// Predict compares the property with the version to restore.
func (r *restoreRow) Predict(ctx context.Context, c *client.Client) operation.Prediction {
	p, _ := predictRestore(ctx, c, r.PropertySaving)
	return p
}

// After says that a property is not deleted any more, or that a restoration makes the ETag of a later row outdated.
func (r *restoreRow) After(line int) error {
	if *r.Restore == (api.PropertyRestore{}) {
		return api.Errorf(api.CodeNotDeleted, "Line %d already restores property %s.", line, r.ID)
	}
	return r.task.After(line)
}
