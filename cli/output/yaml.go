package output

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"example.com/perks/api/display"
)

// yamlEncoder writes one mapping, or a sequence with a mapping at a time.
type yamlEncoder struct {
	out   *bufio.Writer
	begun bool
}

func (e *yamlEncoder) one(r record) error {
	node, err := yamlNode(r.raw)
	if err != nil {
		return err
	}
	return e.write(node)
}

func (e *yamlEncoder) item(r record) error {
	e.begun = true
	node, err := yamlNode(r.raw)
	if err != nil {
		return err
	}
	return e.write(&yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{node}})
}

func (e *yamlEncoder) end() error {
	if e.begun {
		return nil
	}
	_, err := e.out.WriteString("[]\n")
	return err
}

// stop leaves a line that is not YAML, because the items before it would be a whole sequence.
func (e *yamlEncoder) stop() error {
	_, err := e.out.WriteString("%incomplete\n")
	return err
}

func (e *yamlEncoder) write(node *yaml.Node) error {
	var text bytes.Buffer
	enc := yaml.NewEncoder(&text)
	enc.SetIndent(len(indent))
	if err := enc.Encode(node); err != nil {
		return fmt.Errorf("write YAML: %w", err)
	}
	_, err := e.out.Write(display.JSON(text.Bytes()))
	return err
}

// yamlNode turns JSON into YAML's tree, with members in their order and numbers as they were written.
func yamlNode(raw json.RawMessage) (*yaml.Node, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	return readNode(dec)
}

func readNode(dec *json.Decoder) (*yaml.Node, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	switch token := token.(type) {
	case json.Delim:
		return readNested(dec, token)
	case string:
		return stringNode(token), nil
	case json.Number:
		return scalar(numberTag(token), token.String()), nil
	case bool:
		return scalar("!!bool", fmt.Sprint(token)), nil
	}
	return scalar("!!null", "null"), nil
}

// readNested reads to the end of an array or an object; an object's names are tokens like its values.
func readNested(dec *json.Decoder, start json.Delim) (*yaml.Node, error) {
	node := &yaml.Node{Kind: yaml.MappingNode}
	if start == '[' {
		node.Kind = yaml.SequenceNode
	}
	for dec.More() {
		child, err := readNode(dec)
		if err != nil {
			return nil, err
		}
		node.Content = append(node.Content, child)
	}
	if len(node.Content) == 0 {
		node.Style = yaml.FlowStyle // [] and {}, which block style cannot write
	}
	_, err := dec.Token()
	return node, err
}

// oldScalar matches what YAML 1.1 takes for a boolean or a base-60 number and the library, which follows YAML 1.2, writes
// without quotes.
var oldScalar = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?i:y|yes|on|n|no|off)$|^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?$`)
})

// stringNode quotes what would be read as something else, and what display.JSON may then escape inside the quotes.
func stringNode(text string) *yaml.Node {
	node := scalar("!!str", text)
	if oldScalar().MatchString(text) || strings.ContainsFunc(text, display.IsLoose) {
		node.Style = yaml.DoubleQuotedStyle
	}
	return node
}

func scalar(tag, value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
}

func numberTag(number json.Number) string {
	if strings.ContainsAny(number.String(), ".eE") {
		return "!!float"
	}
	return "!!int"
}
