// Package usage explains mistakes in a command line or a file, for both programs, without the words of the libraries.
package usage

import (
	"errors"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"example.com/perks/api"
)

// WhatFlagTakes says which values a flag takes, where the library's error names its own functions.
func WhatFlagTakes(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	wanted := ""
	switch kind := invalid.GetFlag().Value.Type(); {
	case kind == "bool":
		wanted = "it must be true or false"
	case kind == "duration":
		wanted = "it must be a number with a unit, such as 90s, 15m or 1h"
	case (kind == "int" || kind == "int64" || kind == "uint64") && errors.Is(err, strconv.ErrSyntax):
		wanted = "it must be a whole number"
	case (kind == "float64" || kind == "float32") && errors.Is(err, strconv.ErrSyntax):
		wanted = "it must be a number, such as 2.5"
	case errors.Is(err, strconv.ErrRange):
		wanted = "the number is too large or too small"
	default:
		return err
	}
	return errors.New(strings.TrimSuffix(invalid.Error(), invalid.Unwrap().Error()) + wanted)
}

// Flag returns the flag, with its dashes, that was probably meant by an unknown one, or "".
func Flag(err error, flags *pflag.FlagSet) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || unknown.GetSpecifiedShortnames() != "" {
		return ""
	}
	var names []string
	flags.VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden {
			names = append(names, flag.Name)
		}
	})
	if name := api.Closest(unknown.GetSpecifiedName(), names); name != "" {
		return "--" + name
	}
	return ""
}

// ValueName returns the name of a flag's value as people read it, in capitals, numbers as N and text as TEXT, and what the flag does. A
// list of choices, such as text|json, stays as it is. The name of a switch is "".
func ValueName(flag *pflag.Flag) (name, does string) {
	name, does = pflag.UnquoteUsage(flag)
	switch kind := flag.Value.Type(); {
	case name == "", strings.ContainsAny(name, "|/"):
		return name, does
	case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "float"):
		return "N", does
	case name == "string":
		return "TEXT", does
	}
	return strings.ToUpper(name), does
}

// WithPlaceholders names the values of all flags in a help as ValueName does.
func WithPlaceholders(help string, flags *pflag.FlagSet) string {
	line := regexp.MustCompile(`(?m)^( +(?:-\w, +)?--([\w-]+) )(\S+?(?: \S+?)*?)((?:\[=\S+\])?   )`)
	return line.ReplaceAllStringFunc(help, func(match string) string {
		parts := line.FindStringSubmatch(match)
		flag := flags.Lookup(parts[2])
		if flag == nil {
			return match
		}
		name, _ := ValueName(flag)
		return parts[1] + name + parts[4] + strings.Repeat(" ", max(0, len(parts[3])-len(name)))
	})
}

// AboutFile returns the text of an error, with plainer words for the system's about a file.
func AboutFile(err error) string {
	text := err.Error()
	var failed *fs.PathError
	if !errors.As(err, &failed) {
		return text
	}
	reason := ": " + failed.Err.Error()
	switch {
	case errors.Is(failed, fs.ErrNotExist):
		reason = " does not exist"
	case errors.Is(failed, fs.ErrExist):
		reason = " exists already"
	case errors.Is(failed, fs.ErrPermission):
		reason = ": permission denied"
	case errors.Is(failed, syscall.EISDIR):
		reason = " is a folder"
	case errors.Is(failed, syscall.ENOTDIR):
		reason = ": a part of this path is a file, not a folder"
	case errors.Is(failed, syscall.ENOSPC):
		reason = ": the disk is full"
	case errors.Is(failed, syscall.EROFS):
		reason = ": the disk is read-only"
	}
	if strings.HasPrefix(reason, " ") { // the text may name the file before
		text = strings.Replace(text, failed.Path+": "+failed.Error(), failed.Path+": it"+reason, 1)
	}
	text = strings.Replace(text, failed.Path+": "+failed.Error(), failed.Path+reason, 1)
	return strings.Replace(text, failed.Error(), failed.Path+reason, 1)
}
