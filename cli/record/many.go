package record

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/api/operation"
	"example.com/perks/api/rows"
	"example.com/perks/cli/bulk"
	"example.com/perks/cli/command"
	"example.com/perks/cli/completion"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

// many changes or deletes the records that a query finds. It freezes them in a plan, with their ETags, before the
// first change; the plan is then the file of a bulk run. A plan can also be saved, and carried out later.
type many[I ~string, R any, P operation.Patch[R, P]] struct {
	kind    *Kind[I, R, P]
	session *session.Session

	query, round, savePlan, plan string
	max                          int
	yes                          bool

	deletes bool
	changes api.Changes[R, P]
	words   []string // the changes as on a command line
}

// The flags of many records.
const (
	queryFlag = "query"
	roundFlag = "round"
	maxFlag   = "max"
	saveFlag  = "save-plan"
	planFlag  = "plan"
)

const defaultMax = 1000

func (k *Kind[I, R, P]) manyHelp(verb string) string {
	return fmt.Sprintf(`With --query, %s %s that a query finds, as %s list does. They are read first,
and frozen with their ETags in a plan, NAME.plan.csv, so each change is guarded: %s that somebody
changes meanwhile fails (exit code 7) and stays as it is. You see examples and totals, and are asked;
elsewhere --yes is needed. More than --max are refused. The same command again resumes the run. Once the
run is done, it says so and sends nothing; to do it again, give it a name: --job NAME. --results is the
directory for its files.

--save-plan writes the plan and sends nothing; a spreadsheet can show it. --plan carries it out, after
saying which %s have changed since. A plan that was edited, or that is for another command or
server, is refused.

`, verb, k.Mine, k.Name, k.One, k.All)
}

func (m *many[I, R, P]) bind(cmd *cobra.Command) {
	verb, _, _ := strings.Cut(cmd.Use, " ")
	if m.deletes = verb == "delete"; !m.deletes {
		verb = "change"
	}
	flags := cmd.Flags()
	flags.StringVar(&m.query, queryFlag, "", verb+" "+m.kind.Mine+" that this `text` finds, such as city:leeds")
	completion.Flag(cmd, queryFlag, m.kind.CompleteQuery)
	flags.IntVar(&m.max, maxFlag, defaultMax, "refuse more "+m.kind.All+" than this `number`")
	flags.StringVar(&m.savePlan, saveFlag, "", "write what would be done to this `file`, and send nothing")
	flags.StringVar(&m.plan, planFlag, "", "carry out the plan in this `file`")
	completion.Flag(cmd, planFlag, completion.Files("csv"))
	flags.BoolVarP(&m.yes, "yes", "y", false, "do not ask")
	if !m.deletes {
		flags.StringVar(&m.round, roundFlag, "",
			"round changed amounts to a multiple of this `step`, such as 0.50, half up")
	}
}

// isGiven tells whether the command is about many records, and not about those in its arguments or in a file.
func (m *many[I, R, P]) isGiven(cmd *cobra.Command) bool {
	return cmd.Flags().Changed(queryFlag) || cmd.Flags().Changed(planFlag)
}

// orArgs allows a query or a plan instead of the arguments.
func (m *many[I, R, P]) orArgs(arguments cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		changed := cmd.Flags().Changed
		given, others := "", []string{roundFlag, maxFlag, saveFlag}
		switch {
		case changed(planFlag):
			given, others = planFlag, append(others, "file", "format", "allow-empty", "from-file", command.IfMatchFlag,
				queryFlag, "set")
			for _, field := range m.kind.names() {
				others = append(others, flagOf(field))
			}
		case changed(queryFlag):
			given, others = queryFlag, []string{"file", "format", "allow-empty", "from-file", command.IfMatchFlag}
		}
		for _, flag := range others {
			switch {
			case changed(flag) && given == "":
				return command.Usagef("--%s needs --%s.", flag, queryFlag)
			case changed(flag):
				return command.Usagef("--%s cannot be combined with --%s.", flag, given)
			}
		}
		switch {
		case given == "":
			return arguments(cmd, args)
		case len(args) > 0:
			return command.Usagef("%q cannot be combined with --%s.", args[0], given)
		case m.max < 1:
			return command.Usagef("--%s must be at least 1.", maxFlag)
		}
		return nil
	}
}

// setChanges reads the changes.
func (m *many[I, R, P]) setChanges(typed []api.Member) (err error) {
	if len(typed) == 0 {
		return command.Usagef("Nothing to change: give at least one field, such as --set %s.", m.kind.ExampleSet)
	}
	m.changes, err = m.kind.Amounts.Parse(api.JoinMembers(typed), m.round)
	if invalid, is := errors.AsType[*api.Error](err); is {
		return &command.UsageError{Message: "Nothing was changed, because some values are not valid.",
			Fields: invalid.Fields}
	}
	for _, field := range m.changes.Fields() {
		for _, member := range typed {
			var text string
			if problem := member.Value.Text(&text); member.Name == field && problem == "" {
				m.words = append(m.words, "--set", field+"="+text)
			}
		}
	}
	if m.round != "" {
		m.words = append(m.words, "--"+roundFlag, m.round)
	}
	return nil
}

// name is the command, by which its results are told apart from others.
func (m *many[I, R, P]) name() string {
	if m.deletes {
		return m.kind.Name + " delete"
	}
	return m.kind.Name + " update"
}

// purpose says what a plan is for. The words are those of the command; without them, it is how every purpose of the
// command and the server begins.
func (m *many[I, R, P]) purpose(c session.Connection, words ...string) string {
	return m.name() + " at " + c.APIURL + ": " + command.Quote(words)
}

// run carries out the command.
func (m *many[I, R, P]) run(cmd *cobra.Command, file *bulk.Flags) error {
	flags := *file
	if err := m.kind.checkMayChange(m.session); err != nil {
		return err
	}
	connection, err := m.session.Connection()
	if err != nil {
		return err
	}
	if cmd.Flags().Changed(planFlag) {
		return m.runPlan(cmd, flags, connection)
	}
	find, err := m.kind.Find(cmd)
	if err != nil {
		return err
	}
	purpose := m.purpose(connection, append([]string{"--" + queryFlag, m.query}, m.words...)...)
	if err := m.place(&flags, purpose); err != nil {
		return err
	}
	if err := flags.Check(cmd); err != nil {
		return err
	}
	_, err = os.Lstat(flags.File)
	switch isThere := err == nil; {
	case isThere && m.savePlan != "":
		return planExists(m.savePlan)
	case isThere:
		return m.resume(cmd.Context(), flags, connection, purpose)
	case m.savePlan == "" && !flags.DryRun:
		if err := m.mayAsk(cmd.Context(), "the "+m.kind.Plural+" that the query finds", connection); err != nil {
			return err
		}
	}
	return m.freeze(cmd.Context(), flags, connection, find, purpose)
}

// place finds the names of the plan and of the results. Without a job's name they follow from what is done, so that the
// same command resumes the run.
func (m *many[I, R, P]) place(flags *bulk.Flags, purpose string) error {
	if m.savePlan != "" {
		flags.File = m.savePlan
		return nil
	}
	dir := cmp.Or(flags.Results, ".")
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return command.Usagef("With --query, --results names the directory for the plan and the results, and %s is "+
			"not a directory.", dir)
	}
	name := flags.Job
	if name == "" {
		sum := sha256.Sum256([]byte(purpose))
		name, flags.Results = fmt.Sprintf("%s-%x", strings.ReplaceAll(m.name(), " ", "-"), sum[:6]), ""
	}
	flags.File = filepath.Join(dir, name+planSuffix)
	return nil
}

// mayAsk refuses a command that may not change anything, or would have to ask and cannot, before it reads anything.
func (m *many[I, R, P]) mayAsk(ctx context.Context, what string, c session.Connection) error {
	if !m.yes && !m.session.Streams.CanAsk() {
		return command.Confirm(ctx, m.session.Streams, false, m.question(what, c))
	}
	return m.session.MayChange(ctx)
}

func (m *many[I, R, P]) question(what string, c session.Connection) string {
	verb := "Update"
	if m.deletes {
		verb = "Delete"
	}
	return fmt.Sprintf("%s %s at %s?", verb, what, c)
}

// ask shows what a plan does, and asks whether to do it.
func (m *many[I, R, P]) ask(ctx context.Context, p plan, c session.Connection) error {
	s := m.session.Streams
	if m.yes {
		for _, line := range p.sums() {
			s.Note("%s", line)
		}
		return nil
	}
	s.Show(strings.Join(append(p.firstRows(), p.sums()...), "\n") + "\n")
	return command.Confirm(ctx, s, false, m.question(m.kind.plural(p.rows), c))
}

// resume continues the run of a plan that the same command has made.
func (m *many[I, R, P]) resume(ctx context.Context, flags bulk.Flags, c session.Connection, purpose string) error {
	p, err := m.kind.readPlan(flags.File)
	if err != nil {
		return err
	}
	if p.purpose != purpose {
		return command.Usagef("%s is for another command: %s. Give this run another name: --job NAME",
			p.path, p.purpose)
	}
	return m.carryOut(ctx, flags, func(ctx context.Context, start bulk.Start) error {
		if start.Done == start.Rows {
			return nil
		}
		m.session.Streams.Note("Resuming the plan in %s: %s of %s done.", p.path, display.Count(start.Done),
			display.Plural(start.Rows, "row", "rows"))
		return m.ask(ctx, p, c)
	})
}

// runPlan carries out a saved plan, after saying which of its rows do not fit any more.
func (m *many[I, R, P]) runPlan(cmd *cobra.Command, flags bulk.Flags, c session.Connection) error {
	p, err := m.kind.readPlan(m.plan)
	if err != nil {
		return err
	}
	if mine := m.purpose(c); !strings.HasPrefix(p.purpose, mine) {
		return command.Usagef("%s is a plan for %s. It cannot be carried out by %s", p.path, p.purpose,
			strings.TrimSuffix(mine, ": ")+".")
	}
	flags.File, flags.Format = m.plan, "csv"
	if err := flags.Check(cmd); err != nil {
		return err
	}
	return m.carryOut(cmd.Context(), flags, func(ctx context.Context, start bulk.Start) error {
		if start.Done == start.Rows {
			return nil
		}
		if err := m.mayAsk(ctx, "the "+m.kind.Plural+" of "+p.path, c); err != nil {
			return err
		}
		left, misfits := int64(0), int64(0)
		for row, err := range start.Left {
			if err != nil {
				return err
			}
			left++
			if row.Err != nil && !row.State.MayBeDone() { // what an earlier run has changed does not fit either
				misfits++
				m.session.Streams.Warn("line %d: %s", row.Number, session.NewPrediction(row.Prediction).Message)
			}
		}
		m.session.Streams.Note("Rows that still fit: %s of %s.", display.Count(left-misfits), display.Count(left))
		return m.ask(ctx, p, c)
	})
}

// carryOut is the bulk run of a plan.
func (m *many[I, R, P]) carryOut(
	ctx context.Context, flags bulk.Flags, confirm func(context.Context, bulk.Start) error,
) error {
	parse := m.kind.parseUpdateRow
	if m.deletes {
		parse = m.kind.parseDeleteRow
	}
	work := m.kind.workOf(m.name(), m.kind.planColumns(), parse)
	work.Confirm = confirm
	return bulk.Run(ctx, m.session, flags, work)
}

// frozen says what a plan has left out.
type frozen struct {
	found, gone, unchanged int64
	others                 string // how many that the query finds belong to others; "" for none
}

func (k *Kind[I, R, P]) tell(s *command.Streams, f frozen) {
	s.Note("The query finds %s%s.", k.plural(f.found), k.Whose)
	if f.others != "" {
		s.Note("Left out, because others own them: %s.", f.others)
	}
	if f.gone > 0 {
		s.Note("Left out, because the query no longer finds them: %s.", display.Count(f.gone))
	}
	if f.unchanged > 0 {
		s.Note("Left out, because they would stay as they are: %s.", display.Count(f.unchanged))
	}
}

// planned is the output of a command that saves a plan.
type planned struct {
	Plan      string `json:"plan"`
	Rows      int64  `json:"rows"`
	Unchanged int64  `json:"unchanged"` // would stay as they are, and are not in the plan
}

// freeze makes the plan, and carries it out unless it is only to be saved or tried.
func (m *many[I, R, P]) freeze(
	ctx context.Context, flags bulk.Flags, c session.Connection, find search[I, R], purpose string,
) error {
	w := &planWriter[I, R, P]{kind: m.kind, purpose: purpose, changes: m.changes.Fields()}
	isChanged := func(field string) bool { return slices.Contains(w.changes, field) }
	w.shows = m.kind.Shown
	if !m.deletes {
		w.shows = w.shows[:1]
	}
	w.shows = slices.DeleteFunc(slices.Clone(w.shows), isChanged)
	dir := filepath.Dir(flags.File)
	if flags.DryRun {
		dir = os.TempDir()
	}
	if err := w.open(dir); err != nil {
		return err
	}
	defer w.discard()
	f, err := m.read(ctx, &flags, find, w)
	if err != nil {
		return err
	}
	s := m.session.Streams
	if m.kind.tell(s, f); w.rows == 0 {
		s.Note("There is nothing to change, and nothing was sent.")
		return nil
	}
	temporary, err := w.finish()
	if err != nil {
		return err
	}
	if flags.DryRun {
		flags.File, flags.Format = temporary, "csv"
		return m.carryOut(ctx, flags, nil)
	}
	p, err := m.kind.readPlan(temporary)
	if err != nil {
		return err
	}
	if m.savePlan != "" {
		return m.save(ctx, p, f)
	}
	if err := m.ask(ctx, p, c); err != nil {
		return err
	}
	switch err := rows.PlaceFile(temporary, flags.File); {
	case errors.Is(err, fs.ErrExist): // the same command was run twice at once
		return m.resume(ctx, flags, c, purpose)
	case err != nil:
		return err
	}
	return m.carryOut(ctx, flags, nil)
}

// save gives a plan the name that was asked for.
func (m *many[I, R, P]) save(ctx context.Context, p plan, f frozen) error {
	printer, err := output.New[planned](m.session.Output, m.session.Streams, output.View{ID: "plan"})
	if err == nil {
		err = rows.PlaceFile(p.path, m.savePlan)
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return planExists(m.savePlan)
	case err != nil:
		return err
	}
	s := m.session.Streams
	for _, line := range append(p.firstRows(), p.sums()...) {
		s.Note("%s", line)
	}
	again := m.session.CommandLine(append(strings.Fields(m.name()), "--"+planFlag, m.savePlan)...)
	s.Note("The plan of %s is in %s. Nothing was sent. To carry it out:\n  %s", display.Plural(p.rows, "row", "rows"),
		m.savePlan, command.Quote(again))
	return printer.Done(ctx, planned{m.savePlan, p.rows, f.unchanged})
}

// readTask reads a record. It is a task of a batch that is only predicted, which reads many at once and keeps their
// order.
type readTask[I ~string, R any, P operation.Patch[R, P]] struct {
	*task[I, R, P]
	now operation.Saving[I, R, P]
}

func (r *readTask[I, R, P]) Predict(ctx context.Context, c *client.Client) operation.Prediction {
	r.now = r.Read(ctx, c)
	return operation.Prediction{Err: r.now.ReadErr}
}

// read writes the rows of the records that the query finds.
func (m *many[I, R, P]) read(
	ctx context.Context, flags *bulk.Flags, find search[I, R], w *planWriter[I, R, P],
) (f frozen, err error) {
	c, _, err := m.session.Connect()
	if err != nil {
		return f, err
	}
	batch := operation.Batch{
		Connect: func() (*client.Client, error) { return c, nil }, Concurrency: flags.Concurrency, Rate: flags.Rate,
	}
	problems, found := api.FieldErrors{}, find(ctx, c)
	for row, err := range batch.Predict(ctx, m.rows(found)) {
		if f.found++; err == nil && client.IsNotFound(row.Err) {
			f.gone++
			continue
		}
		if err = cmp.Or(err, row.Err); err != nil {
			return f, err
		}
		read := row.Task.(*readTask[I, R, P])
		now := read.now.Current
		if !found.Fits(now.Record) {
			f.gone++
			continue
		}
		if now.ETag == "" && !m.session.Unguarded {
			return f, api.Errorf(client.CodeUnguarded, "This server gives no ETag of %s, so nothing would guard it. "+
				"Nothing was sent. To change it all the same, add --unguarded.", m.kind.Named(read.ID))
		}
		patch, err := m.changes.Of(now.Record)
		after := with(now.Record, patch)
		if invalid, is := errors.AsType[*api.Error](m.kind.checked(after, err)); is {
			problems.Add(m.kind.Named(read.ID), "%s", invalid.Fields)
			continue
		}
		if patch.IsEmpty() && !m.deletes {
			f.unchanged++
			continue
		}
		if err := w.add(read.ID, now, after); err != nil {
			return f, err
		}
	}
	if len(problems) > 0 {
		return f, &command.UsageError{Message: "Nothing was changed, because some " + m.kind.Plural +
			" cannot take the change.", Fields: problems}
	}
	if found.All != nil {
		meta, err := found.All()
		if counted := max(meta.Total, meta.MoreThan); err == nil && counted > f.found {
			f.others = display.Count(counted - f.found)
			if meta.MoreThan > 0 {
				f.others = "more than " + f.others
			}
		}
	}
	if f.found == 0 {
		text := "The query finds " + m.kind.None + "."
		if f.others != "" {
			text += " Of others, it finds " + f.others + "."
		}
		return f, api.Errorf(api.CodeNotFound, "%s Nothing was sent.", text)
	}
	return f, nil
}

// rows yields a row for each record that was found, and an error if there are too many.
func (m *many[I, R, P]) rows(found Found[I, R]) iter.Seq2[*operation.Row, error] {
	return func(yield func(*operation.Row, error) bool) {
		seen := map[string]bool{} // records that are created meanwhile move others to the next page
		for id, err := range found.IDs {
			if err != nil {
				yield(nil, err)
				return
			}
			subject := m.kind.Subject(id)
			if seen[subject] {
				continue
			}
			if seen[subject] = true; len(seen) > m.max {
				yield(nil, command.Usagef("The query finds more than %s%s. Nothing was sent. Narrow it, or "+
					"allow more: --%s NUMBER", m.kind.plural(int64(m.max)), m.kind.Whose, maxFlag))
				return
			}
			t := m.kind.newTask(m.kind.saving(id))
			if !yield(&operation.Row{Task: &readTask[I, R, P]{task: &t}}, nil) {
				return
			}
		}
	}
}
