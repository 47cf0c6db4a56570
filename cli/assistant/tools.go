package assistant

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/perks/api"
	"example.com/perks/api/client"
)

// tool is a row of the tables of tools.
type tool struct {
	name, title, does string
	params            []param
	changes           bool // what the service keeps
	run               func(ctx context.Context, a *assistant, args arguments) (answer, error)
}

// kind is the kind of an argument's value.
type kind int

const (
	text   kind = iota // or a number, by its digits
	flag               // true or false
	object             // with any members, unless the param names them
)

// param is an argument of a tool.
type param struct {
	name, does string
	kind       kind
	required   bool
	values     []string         // all that it takes; nil for any text
	members    []map[string]any // of an object, each with its name; nil for any
}

// schema describes a param in JSON Schema.
func (p param) schema() map[string]any {
	schema := map[string]any{"description": p.does}
	switch {
	case p.kind == flag:
		schema["type"] = "boolean"
	case p.kind == object:
		schema["type"] = "object"
		if p.members != nil {
			members := map[string]any{}
			for _, member := range p.members {
				members[member["name"].(string)] = map[string]any{"description": member["description"]}
			}
			schema["properties"], schema["additionalProperties"] = members, false
		}
	case p.values != nil:
		schema["type"], schema["enum"] = "string", p.values
	default:
		schema["type"] = []string{"string", "number"}
	}
	return schema
}

// described is the tool as the protocol has it.
func (t tool) described() *mcp.Tool {
	properties, required := map[string]any{}, []string{}
	for _, p := range t.params {
		properties[p.name] = p.schema()
		if p.required {
			required = append(required, p.name)
		}
	}
	return &mcp.Tool{
		Name: t.name, Title: t.title, Description: t.does,
		InputSchema: map[string]any{
			"type": "object", "properties": properties, "required": required, "additionalProperties": false,
		},
		Annotations: &mcp.ToolAnnotations{
			Title: t.title, ReadOnlyHint: !t.changes, DestructiveHint: &t.changes, IdempotentHint: true,
		},
	}
}

// handler runs the tool. Every failure is a result that the assistant can read.
func (a *assistant) handler(t tool) mcp.ToolHandler {
	return func(ctx context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		args, err := t.read(request.Params.Arguments)
		if err != nil {
			return failure(err), nil
		}
		found, err := t.run(ctx, a, args)
		if err != nil {
			return failure(a.session.Advise(err)), nil
		}
		return found.result()
	}
}

// arguments are the JSON values of a call by their names, without those that are null.
type arguments map[string]json.RawMessage

// read checks the arguments of a call.
func (t tool) read(raw json.RawMessage) (arguments, error) {
	if len(raw) == 0 || string(raw) == "null" {
		raw = json.RawMessage("{}")
	}
	members, err := api.ParseObject(raw) // which refuses repeated names and broken texts
	args := arguments{}
	if err == nil {
		err = json.Unmarshal(raw, &args)
	}
	if err != nil {
		return nil, err
	}
	problems := api.FieldErrors{}
	for _, member := range members {
		at := slices.IndexFunc(t.params, func(p param) bool { return p.name == member.Name })
		switch {
		case at < 0:
			problems.Add(member.Name, "is not an argument of %s; %s", t.name, t.takes())
		case member.Repeated:
			problems.Add(member.Name, "is given more than once")
		case member.Value.IsNull():
			delete(args, member.Name)
		default:
			if problem := t.params[at].problem(args, member.Value); problem != "" {
				problems.Add(member.Name, "%s", problem)
			}
		}
	}
	for _, p := range t.params {
		if _, given := args[p.name]; p.required && !given {
			problems.Add(p.name, "is required: %s", p.does)
		}
	}
	return args, problems.Err()
}

// takes names the arguments.
func (t tool) takes() string {
	if len(t.params) == 0 {
		return "it takes none"
	}
	var names []string
	for _, p := range t.params {
		names = append(names, p.name)
	}
	return "it takes " + strings.Join(names, ", ")
}

// problem says what is wrong with a value, or "".
func (p param) problem(args arguments, value api.Value) string {
	first := args[p.name][0]
	var number float64
	switch {
	case p.kind == object && first != '{':
		return "must be an object"
	case p.kind == flag && first != 't' && first != 'f':
		return "must be true or false"
	case p.kind == text && first != '"' && value.Float(&number) != "":
		return "must be a text"
	case p.values != nil && !slices.Contains(p.values, args.text(p.name)):
		return "must be one of " + strings.Join(p.values, ", ")
	}
	return ""
}

// text is a text, or the digits of a number; "" if it was not given.
func (a arguments) text(name string) string {
	var text string
	if json.Unmarshal(a[name], &text) != nil {
		return string(a[name])
	}
	return text
}

// The params that many tools have.
func id(name, does string) param { return param{name: name, does: does, required: true} }

var cursor = param{name: "cursor", does: "next_cursor of the result before this page; repeat the other arguments"}

// ids returns arguments that are ids, each checked.
func (a arguments) ids(names ...string) ([]string, error) {
	problems := api.FieldErrors{}
	values := make([]string, len(names))
	for i, name := range names {
		values[i] = a.text(name)
		if problem := api.AnyIDRule(values[i]); problem != "" {
			problems.Add(name, "%s", problem)
		}
	}
	return values, problems.Err()
}

// filterParams are the params of a filter, and those of the order if there are fields to sort by.
func filterParams[F any](fields []api.FilterField[F], sort []string) []param {
	all := []param{{name: "query", does: "words and filters in one line, such as \"word key:value\""}}
	plain := strings.NewReplacer("`", "", "--", "")
	for _, field := range fields {
		p := param{name: nameOf(field), does: plain.Replace(field.Usage), values: field.Values}
		if field.IsSwitch {
			p.kind = flag
		}
		if p.name == all[0].name {
			all[0] = p
		} else {
			all = append(all, p)
		}
	}
	if sort != nil {
		all = append(all, param{name: "sort", does: "the fields to sort by, separated by commas, each with - in front for " +
			"the other direction: " + strings.Join(sort, ", ")})
	}
	return append(all, cursor)
}

func nameOf[F any](field api.FilterField[F]) string { return strings.ReplaceAll(field.Flag, "-", "_") }

// filterOf reads a filter.
func filterOf[F any](fields []api.FilterField[F], args arguments) (filter F, err error) {
	problems := api.FieldErrors{}
	if query := args.text("query"); query != "" {
		var wrong []api.QueryProblem
		filter, wrong = api.ParseQuery(fields, query)
		for _, problem := range wrong {
			problems.Add("query", "%s", problem.Text)
		}
	}
	for _, field := range fields {
		name := nameOf(field)
		value := args.text(name)
		if name == "query" || value == "" || field.IsSwitch && value == "false" {
			continue
		}
		if problem := field.Set(&filter, value); problem != "" {
			problems.Add(name, "%s", problem)
		}
	}
	return filter, problems.Err()
}

// optionsOf reads which page is asked for, and in which order.
func optionsOf(args arguments, sort []string) (options client.ListOptions, err error) {
	options = client.ListOptions{PerPage: rowsOfPage, Sort: args.text("sort")}
	for name := range strings.SplitSeq(options.Sort, ",") {
		if name = strings.TrimPrefix(strings.TrimSpace(name), "-"); options.Sort != "" && !slices.Contains(sort, name) {
			return options, api.FieldErrorf("sort", "has no field %q; the fields are %s", name, strings.Join(sort, ", "))
		}
	}
	options.Page, err = pageOf(args.text("cursor"))
	return options, err
}

// lister makes a tool's run from a list of records.
func lister[F, T any](
	fields []api.FilterField[F], sort []string,
	pages func(c *client.Client, ctx context.Context, args arguments, filter F, o client.ListOptions) client.Pages[T],
) func(context.Context, *assistant, arguments) (answer, error) {
	return func(ctx context.Context, a *assistant, args arguments) (answer, error) {
		filter, err := filterOf(fields, args)
		if err != nil {
			return answer{}, err
		}
		options, err := optionsOf(args, sort)
		if err != nil {
			return answer{}, err
		}
		check := api.CheckFilter[F, T](fields, filter)
		return list(a, pages(a.client, ctx, args, filter, options), func(shown []T) error {
			check.Page(shown)
			for _, ignored := range check.Ignored() {
				return fmt.Errorf("this service ignores %s: %d of the records do not fit", ignored.Flag, ignored.Misfits)
			}
			return nil
		})
	}
}
