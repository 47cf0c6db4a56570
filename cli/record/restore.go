package record

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
	"example.com/perks/cli/list"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

// restoration is what the flags of restore say.
type restoration[I ~string, R any, P operation.Patch[R, P]] struct {
	kind    *Kind[I, R, P]
	session *session.Session
	file    bulk.Flags
	key     command.IdempotencyKey
	again   []string            // the flags that run it again under the same key
	to      api.PropertyRestore // zero is the last version before the deletion
	yes     bool
}

const toColumn = "to"

// NewRestore makes the command restore.
func (k *Kind[I, R, P]) NewRestore(s *session.Session) *cobra.Command {
	r := &restoration[I, R, P]{kind: k, session: s}
	line := "  perksctl " + k.Name + " restore "
	var to, ifMatch string
	cmd := session.Writes[Versioned[R]](s, &cobra.Command{
		Use:   "restore {ID... | --file FILE}",
		Short: "Bring back deleted " + k.Plural + ", or earlier versions",
		Long: "Bring back deleted " + k.Plural + " of your client, in the order given, or with --to the version " +
			"with an\n" +
			"ETag or of a time, as " + k.Name + " history shows them. --to also overwrites a " + k.Name +
			" that is not\n" +
			"deleted: on a terminal you see what would change and are asked first; elsewhere --yes is needed. What\n" +
			"you are asked about is guarded: if somebody else changes it meanwhile, it is not restored. With --yes\n" +
			"it is not guarded unless you add --if-match. The first failure ends the command, and the error says\n" +
			"which " + k.Plural + " were not tried.\n\n" + k.restoreFileHelp(),
		Example: line + k.ExampleID + "\n" + line + k.ExampleID + " --to 2026-01-31T09:00:00Z\n" +
			line + k.ExampleID + " --to \"$(perksctl " + k.Name + " history " + k.ExampleID +
			" --jq '.[1].etag')\" --yes\n" + line + "--file deleted.csv --yes",
		Args:              command.OrFile(&r.file.File, command.AtLeastOne("ID")),
		ValidArgsFunction: k.IDs(s, true),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := r.file.Check(cmd, toColumn, command.IfMatchFlag, command.KeyFlag); err != nil {
				return err
			}
			if r.file.File != "" {
				columns := k.restoreColumns()
				work := bulk.Work{Name: k.Name + " restore", Parse: func(row rows.Row) (operation.Task, error) {
					return k.parseRestoreRow(columns, row)
				}}
				return k.runAskedFile(cmd.Context(), s, r.file, r.yes, "restore", work)
			}
			ids, err := k.parseIDs(args)
			if err != nil {
				return err
			}
			if ifMatch, err = command.IfMatchOf(cmd, ifMatch); err != nil {
				return err
			}
			if cmd.Flags().Changed(toColumn) {
				problem := ""
				if r.to, problem = k.parseVersion(to); problem != "" {
					return command.Usagef("--to %q: %s.", to, problem)
				}
			}
			if r.again, err = r.key.Take(cmd); err != nil {
				return err
			}
			for _, flag := range []string{command.IfMatchFlag, command.KeyFlag} {
				if len(ids) > 1 && cmd.Flags().Changed(flag) {
					return command.Usagef("--%s is about one %s, but %d are given.", flag, k.Name, len(ids))
				}
			}
			if len(ids) > 1 && r.to.ETag != "" {
				return command.Usagef("--to names a version of one %s, but %d are given. Name a time.", k.Name,
					len(ids))
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
func (k *Kind[I, R, P]) parseVersion(text string) (version api.PropertyRestore, problem string) {
	if version.AsOf, problem = api.ParseTime(text); problem == "" {
		return version, ""
	}
	version = api.PropertyRestore{ETag: command.EntityTag(text)}
	if command.EntityTagRule(text) != "" || strings.ContainsAny(text, " ,*") {
		return version, "must be an ETag as " + k.Name + " history shows it, " + strings.TrimPrefix(problem, "must be ")
	}
	return version, ""
}

func (r *restoration[I, R, P]) run(ctx context.Context, ids []I, ifMatch string) error {
	k, s := r.kind, r.session
	printer, err := output.New[Versioned[R]](s.Output, s.Streams, k.View)
	if err == nil {
		err = k.checkMayChange(s)
	}
	if err != nil {
		return err
	}
	edits := make([]operation.Saving[I, R, P], len(ids))
	for i, id := range ids {
		edits[i] = k.saving(id)
		edits[i].Restore, edits[i].ETag, edits[i].Key = &r.to, ifMatch, r.key.Value
		if i > 0 {
			edits[i].Key = uuid.NewString()
		}
	}
	if r.file.DryRun {
		return k.runDry(ctx, s, edits...)
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
	return list.Each(ctx, printer, k.Name, ids, func(I) (Versioned[R], error) {
		sent := edits[next].SendReading(ctx, c)
		next++
		if sent.Err != nil {
			return Versioned[R]{}, r.advise(c, sent, len(ids) == 1)
		}
		return r.note(connection, sent), nil
	})
}

// ask shows what would change, and asks. It guards each change by the version that it has shown.
func (r *restoration[I, R, P]) ask(ctx context.Context, edits []operation.Saving[I, R, P]) error {
	s := r.session
	connection, err := s.Connection()
	if err != nil {
		return err
	}
	names := make([]string, len(edits))
	for i, e := range edits {
		names[i] = r.kind.Named(e.ID)
	}
	question := fmt.Sprintf("Restore %s at %s?", strings.Join(names, ", "), connection)
	if s.Streams.CanAsk() {
		c, _, err := s.Connect()
		if err != nil {
			return err
		}
		for i, e := range edits {
			p, now := r.kind.predictRestore(ctx, c, e)
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
func (r *restoration[I, R, P]) advise(c *client.Client, sent operation.Saving[I, R, P], isOnly bool) error {
	if !isOnly || !client.OutcomeUnknown(sent.Err) {
		return r.kind.adviseReading(r.session, sent.ID, sent.Err)
	}
	again := append(r.session.CommandLine(r.kind.Name, "restore", string(sent.ID)), r.again...)
	return AdviseRetry(context.Background(), c, sent.Err, "restored", sent.Key, again,
		r.session.CommandLine(r.kind.Name, "get", string(sent.ID)))
}

// note says what was restored, and what that has changed where it is certain.
func (r *restoration[I, R, P]) note(connection session.Connection, sent operation.Saving[I, R, P]) Versioned[R] {
	k, s, now := r.kind, r.session, sent.Current
	k.noteLost(s, sent)
	what := fmt.Sprintf("Restored %s, %q, at %s.", k.Named(sent.ID), k.title(now.Record), connection)
	switch {
	case sent.Replayed:
		s.Streams.Warn("Nothing was restored now: this key was used before. This is the response from then.")
		what = ""
	case sent.Replaced != nil:
		changes, _ := k.changesOf(*sent.Replaced, now.Record)
		what = fmt.Sprintf("Restored %s at %s: %s.", k.Named(sent.ID), connection,
			cmp.Or(listed(changes, widestInMessage), "it was like this already"))
	}
	if what != "" {
		s.Streams.Note("%s", what)
	}
	return Versioned[R](now)
}

// predictRestore compares the record with the version that would be restored, and returns it as it is now.
func (k *Kind[I, R, P]) predictRestore(
	ctx context.Context, c *client.Client, e operation.Saving[I, R, P],
) (p operation.Prediction, now client.Version[R]) {
	e = e.Read(ctx, c)
	now = e.Current
	isDeleted := client.IsNotFound(e.ReadErr)
	switch {
	case e.ReadErr != nil && !isDeleted:
		p.Err = e.ReadErr
	case e.HasCurrent && *e.Restore == (api.PropertyRestore{}):
		p.Err = api.Errorf(api.CodeNotDeleted, "%s is not deleted. Say which version to restore, with --to.",
			k.Titled(e.ID))
	case e.HasCurrent:
		p.Err = k.checkGuard(e)
	}
	if p.Err != nil {
		return p, now
	}
	version, err := k.versionOf(ctx, c, e.ID, *e.Restore)
	switch {
	case err != nil:
		p.Err = err
	case isDeleted:
		p.Message = fmt.Sprintf("%s, %q, would be restored.", k.Titled(e.ID), k.title(version))
	default:
		p.Changes, p.Err = k.changesOf(now.Record, version)
		p.Message = k.sentenceOf(e.ID, p.Changes)
	}
	return p, now
}

// versionOf reads a version of a record: of a time, with an ETag, or the last before the deletion.
func (k *Kind[I, R, P]) versionOf(
	ctx context.Context, c *client.Client, id I, of api.PropertyRestore,
) (version R, err error) {
	switch {
	case !of.AsOf.IsZero():
		version, _, err = k.AsOf(c, ctx, id, of.AsOf)
		return version, err
	case of.ETag == "":
		deletion, err := k.Deletion(ctx, c, id)
		if err != nil {
			return version, err
		}
		return version, k.Decode(deletion.Before, &version)
	}
	for page, err := range k.Pages(c, ctx, id, client.ListOptions{PerPage: api.MaxPerPage}) {
		if err != nil {
			return version, err
		}
		for _, v := range page.Data {
			if v.ETag != nil && client.SameVersion(*v.ETag, of.ETag) {
				found, _, err := k.ReadVersion(ctx, c, id, v)
				return found.Record, err
			}
		}
	}
	return version, api.Errorf(api.CodeNotFound, "%s has no version with the ETag %s.", k.Titled(id), of.ETag)
}

func (k *Kind[I, R, P]) restoreFileHelp() string {
	return "With --file, restore the " + k.Name + " of each row of a CSV file or of JSON lines. The columns\n" +
		"are " + k.idHelp() + ", to with an ETag or a time, and etag or if_match, which guards the row as\n" +
		"--if-match does. Without to, or where it is empty, the " + k.Name +
		" must be deleted. The other columns of\n" +
		"an export are ignored, so you can pass the file of a deletion.\n\n" + command.FileHelp
}

// restoreColumns are the columns of a file of records to restore.
func (k *Kind[I, R, P]) restoreColumns() *bulk.KnownColumns {
	known := k.deleteColumns()
	known.Columns = append(known.Columns, bulk.Column{Name: toColumn})
	return known
}

func (k *Kind[I, R, P]) parseRestoreRow(known *bulk.KnownColumns, row rows.Row) (operation.Task, error) {
	values, err := known.Read(row)
	if err != nil {
		return nil, err
	}
	problems := api.FieldErrors{}
	r := &restoreRow[I, R, P]{k.newTask(k.readTarget(values, problems))}
	r.Restore = &api.PropertyRestore{}
	if value, given := values[toColumn]; given {
		text := ""
		problem := value.Text(&text)
		if problem == "" {
			*r.Restore, problem = k.parseVersion(text)
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
type restoreRow[I ~string, R any, P operation.Patch[R, P]] struct{ task[I, R, P] }

// Send restores the version, and says of which one it took the place, so that it can be undone.
func (r *restoreRow[I, R, P]) Send(
	ctx context.Context, c *client.Client, key string,
) (o operation.Outcome, replayed bool, err error) {
	for tries := 1; ; tries++ {
		ifMatch, before, err := r.guard(ctx, c)
		if err != nil {
			return o, false, err
		}
		_, etag, replayed, err := r.kind.Restore(c, ctx, r.ID, *r.Restore, ifMatch, key)
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

// guard returns the ETag that guards the row, and that of the version that it replaces; "" if the record is deleted.
// Without a version to restore, the service restores nothing else.
func (r *restoreRow[I, R, P]) guard(ctx context.Context, c *client.Client) (ifMatch, replaced string, err error) {
	if *r.Restore == (api.PropertyRestore{}) {
		return r.ETag, "", nil
	}
	now := r.Read(ctx, c)
	if !client.IsNotFound(now.ReadErr) {
		return cmp.Or(r.ETag, now.Current.ETag), now.Current.ETag, now.ReadErr
	}
	page, err := r.kind.History(ctx, c, r.ID, client.ListOptions{PerPage: 2})
	if len(page.Data) == 2 && page.Data[0].Action == api.VersionDeleted && page.Data[1].ETag != nil {
		return cmp.Or(r.ETag, *page.Data[1].ETag), "", err
	}
	return r.ETag, "", err
}

// replaced returns the ETag of the version that an earlier request under the row's key has replaced, as the history
// tells it.
func (r *restoreRow[I, R, P]) replaced(ctx context.Context, c *client.Client, etag string) (string, error) {
	if *r.Restore == (api.PropertyRestore{}) {
		return "", nil
	}
	versions, err := r.kind.Since(c, ctx, r.ID, r.since)
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

// LookUp finds the version restored, or the record alive. Only the row's key tells whose restoration that is.
func (r *restoreRow[I, R, P]) LookUp(
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

// Predict compares the record with the version to restore.
func (r *restoreRow[I, R, P]) Predict(ctx context.Context, c *client.Client) operation.Prediction {
	p, _ := r.kind.predictRestore(ctx, c, r.Saving)
	return p
}

// After says that a record is not deleted any more, or that a restoration makes the ETag of a later row outdated.
func (r *restoreRow[I, R, P]) After(line int) error {
	if *r.Restore == (api.PropertyRestore{}) {
		return api.Errorf(api.CodeNotDeleted, "Line %d already restores %s.", line, r.kind.Named(r.ID))
	}
	return r.task.After(line)
}
