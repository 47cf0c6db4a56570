package bulk

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
)

// A job is a run that has a name of its own, and all runs that resume it. Without a name, the file with the rows names
// them.

const (
	resultsSuffix = ".results.jsonl"
	recordSuffix  = ".run"
)

// otherName is what to do if the results are not this run's.
const otherName = "Give this run another name: --job NAME"

// record says which command wrote the results. It lies beside them, in a file of its own, because a program expects a
// result on each of their lines.
type record struct {
	Job     string `json:"job,omitempty"`
	File    string `json:"file"`   // with the rows: its absolute path, or - for standard input
	Dir     string `json:"folder"` // where the command was run
	Format  string `json:"format,omitempty"`
	Command string `json:"command"` // that resumes the run
}

// resultsPath is the path of the results, "" for standard output, from where no run can resume.
func (f Flags) resultsPath() string {
	switch {
	case f.Job != "":
		return filepath.Join(cmp.Or(f.Results, filepath.Dir(f.File)), f.Job+resultsSuffix)
	case f.Results == stdout || f.Results == "" && f.File == stdin:
		return ""
	case f.Results != "":
		return f.Results
	}
	return f.File + resultsSuffix
}

// checkName refuses a name that cannot name a file, and results that are not a directory for it.
func (f Flags) checkName() error {
	if !f.flags.Changed("job") {
		return nil
	}
	if err := session.CheckName("job", f.Job); err != nil {
		return command.Usagef("--job %s.", err)
	}
	if info, err := os.Stat(f.Results); f.Results != "" && (err != nil || !info.IsDir()) {
		return command.Usagef("With --job, --results names the directory for %s, and %s is not a directory.",
			f.Job+resultsSuffix, f.Results)
	}
	return nil
}

// checkJob refuses a job that has been run with another file.
func (f Flags) checkJob() error {
	if err := f.checkName(); err != nil || f.Job == "" {
		return err
	}
	earlier, err := readRecord(f.resultsPath())
	if err != nil || earlier.File == "" {
		return err
	}
	if file, err := f.absolute(); err != nil || file != earlier.File {
		return errors.Join(err, command.Usagef("Job %s is for %s, not for %s. To resume it, name that file. %s", f.Job,
			earlier.File, f.File, otherName))
	}
	return nil
}

// absolute is the path of the file with the rows from everywhere.
func (f Flags) absolute() (string, error) {
	if f.File == stdin {
		return stdin, nil
	}
	return filepath.Abs(f.File)
}

// mark tells the results of this work at this server apart from others. The keys of the rows contain it, and so follow
// from the job.
func (f Flags) mark(work string, c session.Connection) uint32 {
	server := fmt.Sprint(c.APIURL, c.Sandbox)
	if f.Job != "" {
		server += "\x00" + f.Job
	}
	return markOf(work, server)
}

// commandLine is the command that resumes the run.
func (f Flags) commandLine(s *session.Session) string {
	words := append(s.CommandLine(strings.Fields(f.cmd.CommandPath())[1:]...), f.cmd.Flags().Args()...)
	return command.Quote(append(words, command.GivenFlags(f.cmd)...))
}

// anew says how to carry out the rows of a run once more.
func (f Flags) anew(s *session.Session) string {
	switch {
	case f.Job != "":
		return "To carry out the rows again, give the run another name: --job NAME"
	case f.Results != "":
		return "To carry out the rows again, name another file for the results: --results FILE"
	}
	return "To carry out the rows again, give the run a name:\n  " + f.commandLine(s) + " --job NAME"
}

// writeRecord records the command beside the results.
func (f Flags) writeRecord(s *session.Session) error {
	path := f.resultsPath()
	if path == "" {
		return nil
	}
	file, err := f.absolute()
	dir, dirErr := os.Getwd()
	if err := errors.Join(err, dirErr); err != nil {
		return err
	}
	return command.WritePrivateJSON(path+recordSuffix, record{f.Job, file, dir, f.Format, f.commandLine(s)})
}

// jobs returns the names of the jobs whose results are in a directory.
func jobs(dir string) (names []string) {
	entries, _ := os.ReadDir(dir) // sorted; none without the directory
	for _, entry := range entries {
		if name, isJob := strings.CutSuffix(entry.Name(), resultsSuffix); isJob {
			made, err := readRecord(filepath.Join(dir, entry.Name()))
			if err == nil && made.Job == name {
				names = append(names, name)
			}
		}
	}
	return names
}

// readRecord reads which command wrote the results. It is empty without results, and for those of a version that did
// not record it.
func readRecord(results string) (r record, err error) {
	if _, err := os.Stat(results); err != nil {
		return r, nil
	}
	text, err := os.ReadFile(results + recordSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		err = command.Usagef("%s cannot be read. Remove it, and name the file with the rows.", results+recordSuffix)
	}
	return r, err
}
