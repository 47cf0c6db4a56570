package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"example.com/perks/api/rows"
)

// source is a file that is imported, or stdin.
type source struct {
	io.Reader
	name   string // as messages name it
	format rows.Format
	file   *os.File // nil for stdin, which is not ours to close

	allowEmpty bool // a source without rows is valid
}

// openSource opens what an argument names. An empty format is told from the file's name.
func (p *program) openSource(cmd *cobra.Command, name, format string) (*source, error) {
	if name == "-" && format == "" {
		return nil, usagef(cmd, "reading from stdin needs --format csv, json or jsonl")
	}
	s := &source{Reader: p.stdin, name: "stdin"}
	var err error
	if format != "" {
		s.format, err = rows.ParseFormat(format)
	} else {
		s.format, err = rows.FormatOf(name)
	}
	if err != nil {
		return nil, usagef(cmd, "%w", err)
	}
	if name != "-" {
		if s.file, err = os.Open(name); err != nil {
			return nil, usageError{err}
		}
		if info, err := s.file.Stat(); err == nil && info.IsDir() {
			s.Close()
			return nil, usageError{fmt.Errorf("%s is a folder", name)}
		}
		s.Reader, s.name = s.file, name
	}
	return s, nil
}

// Close closes the file. What was read from it is not changed by an error of that.
func (s *source) Close() {
	if s.file != nil {
		_ = s.file.Close()
	}
}
