package command

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"example.com/perks/api"
)

// phrase replaces a library's words by a person's. The pattern matches the library's text, or a part of it.
type phrase struct {
	pattern *regexp.Regexp
	words   string
}

func phrases(pairs ...string) []phrase {
	list := make([]phrase, 0, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		list = append(list, phrase{regexp.MustCompile(pairs[i]), pairs[i+1]})
	}
	return list
}

// first returns the words for the first pattern that the text has, or "".
func first(list []phrase, text string) string {
	for _, one := range list {
		if at := one.pattern.FindStringSubmatchIndex(text); at != nil {
			return string(one.pattern.ExpandString(nil, one.words, text, at))
		}
	}
	return ""
}

// ExplainYAML says why YAML is wrong, and in which line, if the library knows it. Most of its errors have no type.
func ExplainYAML(err error) string {
	known := phrases(
		`expected ',' or '\]'`, "a [ is not closed",
		`expected ',' or '\}'`, "a { is not closed",
		`expected node content`, "a value is not complete",
		`expected (key|'-' indicator)`, "the line does not fit those above it; check its indentation",
		`expected <document start>|unexpected document indicator`, "there is text behind the end",
		`expected ':'`, "a name has no colon and value",
		`cannot start any token`,
		"a value begins with a tab or a character such as @; indent with blanks, and put the value in quotes",
		`unexpected end of stream`, "a quote is not closed",
		`[mM]apping values are not allowed`,
		"a value has a colon in it; put the value in quotes, or check the indentation",
		`sequence entries are not allowed`,
		"a list is not expected there; put the value in quotes, or check the indentation",
		`unknown anchor '(.*)' referenced`, "*$1 refers to nothing; put the value in quotes",
		`tab character`, "a line is indented with a tab; use blanks",
		`field (.*) not found`, `"$1" is not known`,
		`mapping key "(.*)" already defined at (line \d+)`, `"$1" is already in $2`,
		"cannot unmarshal !!\\S+ `(.*)`", `"$1" is not valid here`,
		`cannot unmarshal`, "this is not valid here",
		`control characters|UTF-8|UTF-16`, "a character is not valid",
	)
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	text = strings.TrimPrefix(text, "unmarshal errors:\n")
	var problems []string
	for line := range strings.Lines(text) {
		line, where := strings.TrimSpace(line), ""
		if strings.HasPrefix(line, "line ") {
			where, line, _ = strings.Cut(line, ": ")
			where += ": "
		}
		problems = append(problems, where+cmp.Or(first(known, line), line))
	}
	return strings.Join(problems, "; ")
}

// ExplainTemplate says what is wrong with a Go template, and where. functions are those that it may call.
func ExplainTemplate(err error, functions []string) string {
	place := regexp.MustCompile(`^template: [^:]*:(?:(\d+):)?(?:\d+:)? `)
	action := regexp.MustCompile(`^executing ".*?" at <(.*?)>: (?:error calling \w+: )?`)
	text, at := err.Error(), ""
	if found := place.FindStringSubmatch(text); found != nil {
		text = text[len(found[0]):]
		if found[1] != "1" {
			at = "in line " + found[1]
		}
	}
	if found := action.FindStringSubmatch(text); found != nil {
		text = text[len(found[0]):]
		at = "in {{" + strings.Trim(found[1], "{}") + "}}"
	}
	known := phrases(
		`^unexpected EOF$`, "an {{end}} is missing",
		`^unclosed action`, "a {{ is not closed by }}",
		`^unterminated quoted string`, "a quote is not closed",
		`^unterminated (raw|character)`, "a quote is not closed",
		`^non executable command in pipeline`, "only a function can follow |",
		`^can't evaluate field (\w+) in type \[\]interface \{\}`, "a list has no field $1",
		`^(?:can't evaluate field|nil pointer evaluating interface \{\}\.) ?(\w+)`, "the value there has no field $1",
		`^index out of range: (\d+)`, "the list has no item $1",
		`^map has no entry for key "(.*)"`, "the record has no field $1",
		`^len of `, "len needs a text, a list or a record",
		`^can't index item of type |^cannot index |value has type .*; should be `,
		"index needs a list and a number, or a record and the name of a field",
		`^range can't iterate over `, "range needs a list or a record",
		`^wrong number of args for (\w+): want (.*) got (\d+)`, "$1 takes $2, but got $3",
		`^can't handle (.*) for arg of type \[\]`, "$1 is not a list",
	)
	if text = cmp.Or(first(known, text), text); strings.HasPrefix(text, "function ") {
		name := strings.Trim(strings.Fields(text)[1], `"`)
		text = fmt.Sprintf("there is no function %s", name)
		if meant := api.Closest(name, functions); meant != "" {
			text += "; perhaps " + meant
		}
	}
	text = strings.NewReplacer("[]interface {}", "a list", "map[string]interface {}", "a record", "interface {}",
		"a value", "of type string", "that is a text").Replace(text)
	if at != "" {
		return at + ", " + text
	}
	return text
}

// ExplainJQ says why a jq expression is wrong or has failed, in jq's own words, which its authors know.
func ExplainJQ(err error) string {
	var halt interface {
		error
		Value() any
	}
	if errors.As(err, &halt) { // error(...) and halt_error
		text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "halt error: "), "error: ")
		if short := []rune(text); len(short) > 200 {
			text = string(short[:200]) + "…"
		}
		return "it ended with the error " + text
	}
	known := phrases(
		`^unexpected EOF$`, "it ends too early",
		`^unterminated string literal`, "a quote is not closed",
		`invalid regular expression "(.*)": `, `"$1" is not a regular expression`,
		`^(.*): illegal base64 data`, "$1: it is not Base64",
		`^(.*cannot be applied to .*): invalid character .*`, "$1: it is not JSON",
		`^function not defined: (.*)`, "there is no function $1",
		`^variable not defined: (.*)`, "there is no variable $1",
	)
	return cmp.Or(first(known, err.Error()), err.Error())
}
