package property

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"example.com/perks/api"
)

// reading is a sheet as it came back from the editor.
type reading struct {
	sheet sheet
	lines map[string]int // where each field begins, from 1

	syntax error           // the text is no YAML, and nothing else is known
	line   int             // of the syntax error; 0 if the text as a whole is meant
	wrong  api.FieldErrors // of fields whose values cannot even be told
}

// readSheet reads what a person has written. Values that nobody can be sure of, such as a bare yes, are taken letter by
// letter as they stand.
func readSheet(text string) reading {
	r := reading{sheet: sheet{}, lines: map[string]int{}, wrong: api.FieldErrors{}}
	root, err := parseOne(text)
	if err != nil {
		r.syntax, r.line = err, lineOf(err)
		return r
	}
	if root == nil {
		return r
	}
	if root.Kind != yaml.MappingNode {
		r.syntax = errors.New("the text must be fields, each as name: value")
		return r
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		r.read(root.Content[i], root.Content[i+1])
	}
	return r
}

// parseOne returns the one document that there may be, nil for a text without any.
func parseOne(text string) (*yaml.Node, error) {
	if !utf8.ValidString(text) {
		return nil, errors.New("the text is not UTF-8")
	}
	if strings.ContainsRune(text, '\ufeff') {
		return nil, errors.New("the text has a byte order mark in it; write it as \"\\uFEFF\"")
	}
	dec := yaml.NewDecoder(bytes.NewReader([]byte(text)))
	var document, second yaml.Node
	if err := dec.Decode(&document); err == io.EOF {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if err := dec.Decode(&second); err == nil {
		return nil, fmt.Errorf("line %d: a second document begins here", second.Line)
	} else if err != io.EOF {
		return nil, err
	}
	root := followed(document.Content[0])
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" && root.Value == "" {
		return nil, nil
	}
	return root, nil
}

func (r *reading) read(key, node *yaml.Node) {
	field := key.Value
	if _, seen := r.lines[field]; seen {
		r.wrong.Add(field, "is given more than once")
		return
	}
	r.lines[field] = key.Line
	v, problem := readValue(kindOf(field), followed(node))
	if problem != "" {
		r.wrong.Add(field, "%s", problem)
	}
	r.sheet[field] = v
}

// readValue takes a field that is empty for an empty text, which for a position is none. An empty list of images may be
// written so too.
func readValue(k api.FieldKind, node *yaml.Node) (value, string) {
	isNull := node.Tag == "!!null"
	switch {
	case node.Kind == yaml.SequenceNode && k == api.ListField:
		return readList(node)
	case node.Kind != yaml.ScalarNode && k == api.ListField:
		return value{}, "must be a list of addresses"
	case node.Kind != yaml.ScalarNode:
		return value{}, "must be a single value"
	case isNull && node.Value == "" && k == api.ListField:
		return value{list: []string{}}, ""
	case isNull && node.Value == "" && k != api.NumberField:
		return value{}, ""
	case isNull:
		return value{null: true}, ""
	case k == api.ListField: // as one text, which the contract allows
		patch, err := api.ParsePropertyPatch([]api.Member{{Name: "images", Value: api.TextValue(node.Value)}})
		if err == nil {
			return value{list: patch.Images.Value}, ""
		}
	}
	return value{text: node.Value}, ""
}

func readList(node *yaml.Node) (value, string) {
	v := value{list: []string{}}
	for _, entry := range node.Content {
		entry = followed(entry)
		if entry.Kind != yaml.ScalarNode {
			return v, "must be a list of addresses"
		}
		v.list = append(v.list, entry.Value)
	}
	return v, ""
}

func followed(node *yaml.Node) *yaml.Node {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	return node
}

// lineOf reads the line out of an error of the YAML library, which has it nowhere else.
func lineOf(err error) int {
	found := regexp.MustCompile(`line (\d+)`).FindStringSubmatch(err.Error())
	if found == nil {
		return 0
	}
	line, _ := strconv.Atoi(found[1]) // digits; too many of them are no line
	return line
}

// changes returns what the sheet changes, and what is wrong with it by field; what was wrong before and was not touched is
// not asked about. The patch holds exactly the changes if nothing is wrong.
func (r reading) changes(before api.Property) (api.PropertyPatch, api.FieldErrors) {
	wrong, held := maps.Clone(r.wrong), sheetOf(before)
	var members []api.Member
	for field, v := range r.sheet {
		if was, known := held[field]; r.wrong[field] == nil && !(known && reflect.DeepEqual(v, was)) {
			members = append(members, api.Member{Name: field, Value: v.member()})
		}
	}
	patch, err := api.ParsePropertyPatch(members)
	var invalid *api.Error
	if errors.As(err, &invalid) {
		maps.Copy(wrong, invalid.Fields)
	}
	return api.PropertyChanges(before, before.With(patch)), wrong
}

func (r reading) isEmpty() bool { return r.syntax == nil && len(r.sheet) == 0 && len(r.wrong) == 0 }

// sentence is the syntax error without the library's name, and with its line as it is after shift lines were put above.
func (r reading) sentence(shift int) string {
	text := strings.TrimPrefix(r.syntax.Error(), "yaml: ")
	if r.line > 0 {
		text = strings.Replace(text, fmt.Sprintf("line %d", r.line), fmt.Sprintf("line %d", r.line+shift), 1)
	}
	return text
}
