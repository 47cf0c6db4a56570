package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/cli/command"
	"example.com/perks/cli/completion"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
	http.MethodDelete}

type apiOptions struct {
	session  *session.Session
	request  client.Request
	paginate bool
	include  bool
	dryRun   bool
}

func newAPI(s *session.Session) *cobra.Command {
	o := &apiOptions{session: s}
	fields := &apiFields{stdin: s.Streams.In}
	var headers []string
	var method, input string
	cmd := &cobra.Command{
		Use:   "api [METHOD] PATH",
		Short: "Send any request to the service",
		Long: "Send a request with your token and print the response. PATH is relative to the address of the API,\n" +
			"with or without a leading slash; perks and redemptions are short for partners/perks and\n" +
			"partners/redemptions. A whole URL must be on the same server. METHOD is GET by default, also with\n" +
			"fields.\n\n" +
			"With GET and HEAD, and beside --input, fields become the query. Otherwise they become a JSON object,\n" +
			"where a[b]=1 is a member of an object in it, a[]=1 an item of an array, and a[] an empty array.\n" +
			"--field sends true, false, null and numbers as JSON, and for @FILE the text of the file, or of\n" +
			"standard input for @-. --raw-field sends text always, as --field did in earlier versions. In both,\n" +
			"key:=JSON is any JSON.\n\n" +
			"--include shows the headers of the response, also of a refusal: before the body, or with --output and\n" +
			"--jq as status, headers and body. --cache saves responses to GET in files that only you can read, for\n" +
			"your profile and client alone. Logging out deletes them.\n\n" + output.TemplateHelp,
		Example: "  perksctl api perks --field city=Berlin --cache 1h\n" +
			"  perksctl api PATCH update-property/42 --field title=Loft --field bedrooms=2\n" +
			"  perksctl api -X POST perks/spa-day/redeem --raw-field user_id=42 --field metadata[seats][]=7\n" +
			"  perksctl api get-property/42 --include --jq .headers.Etag\n" +
			"  perksctl api POST partners/properties/42/restore --field as_of=2026-01-31T09:00:00Z\n" +
			"  perksctl api PATCH update-property/42 --header 'If-Match: \"1f2e3d\"' --field title=Loft\n" +
			"  perksctl api partners/perks --paginate --output jsonl",
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: completion.InOrder(completeMethod),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if method != "" {
				args = append([]string{method}, args...)
			}
			if o.request, err = parseRequest(args, fields, input); err != nil {
				return err
			}
			if o.request.Header, err = parseHeaders(headers); err != nil {
				return err
			}
			if o.paginate && o.include {
				return command.Usagef("--include shows the headers of one response: leave out --paginate.")
			}
			if o.paginate && o.request.Method != http.MethodGet {
				return command.Usagef("--paginate needs GET.")
			}
			if cmd.Flags().Changed("cache") && (o.request.Method != http.MethodGet || s.CacheFor <= 0) {
				return command.Usagef("--cache needs GET, and a time above 0.")
			}
			return callAPI(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&method, "method", "X", "", "the `METHOD`, if it is not the first argument")
	completion.Flag(cmd, "method", completeMethod)
	bindFields(flags, fields)
	flags.StringArrayVarP(&headers, "header", "H", nil, "send this header: `Name: value`, repeatable")
	flags.BoolVarP(&o.include, "include", "i", false, "show the status and headers of the response too")
	flags.StringVar(&input, "input", "", "send this `file` as the body, - for standard input")
	flags.DurationVar(&s.CacheFor, "cache", 0,
		"for this `duration`, such as 10m, use the saved response of the same GET")
	flags.BoolVar(&o.paginate, "paginate", false, "write the items of all pages as one list")
	flags.BoolVar(&o.dryRun, "dry-run", false, "show the request and send nothing")
	return cmd
}

// completeMethod completes a method in upper or lower case, as it is typed.
func completeMethod(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	names := strings.Join(methods, " ")
	if typed != "" && typed == strings.ToLower(typed) {
		names = strings.ToLower(names)
	}
	return completion.Fixed(strings.Fields(names)...)(cmd, args, typed)
}

func callAPI(ctx context.Context, o *apiOptions) error {
	if o.dryRun {
		return o.session.DryRun(ctx, func(c *client.Client) error {
			_, err := c.Do(ctx, o.request)
			return err
		})
	}
	s := o.session
	options := s.Output
	if options.Format == "" && options.IsTable() {
		options.Format = output.JSON // the default: the body as it came
	}
	printer, err := output.New[json.RawMessage](options, s.Streams, output.View{ID: "id"})
	if err != nil {
		return err
	}
	connect := func(context.Context) (*client.Client, session.Connection, error) { return s.Connect() }
	if o.request.Method != http.MethodGet && o.request.Method != http.MethodHead {
		connect = s.ConnectToChange
	}
	c, _, err := connect(ctx)
	if err != nil {
		return err
	}
	if o.paginate {
		return hint(printer.List(ctx, items(c.DoPages(ctx, o.request))), c.BaseURL(), o.request.Path)
	}
	reply, err := c.Do(ctx, o.request)
	refused := hint(err, c.BaseURL(), o.request.Path)
	switch {
	case err != nil && (reply == nil || !o.include):
		return refused
	case !o.include:
		return o.write(ctx, printer, reply.Body)
	case s.Output.IsTable() && s.Output.Format == "":
		if err := writeHead(s.Streams.Out, reply); err != nil {
			return err
		}
		return errors.Join(refused, o.write(ctx, printer, reply.Body))
	}
	withHead, err := output.New[replyRecord](options, s.Streams, output.View{ID: "status"})
	if err != nil {
		return err
	}
	record := replyRecord{Status: reply.Status, Headers: map[string]string{}, Body: asJSON(reply.Body)}
	for name := range reply.Header {
		record.Headers[name] = strings.Join(reply.Header.Values(name), ", ")
	}
	return errors.Join(refused, withHead.One(ctx, record))
}

// replyRecord is a reply with --include and --output.
type replyRecord struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    json.RawMessage   `json:"body"` // a JSON string if it is not JSON, null if there is none
}

func writeHead(out io.Writer, reply *client.Response) error {
	var head strings.Builder
	fmt.Fprintf(&head, "%s %d %s\n", reply.Protocol, reply.Status, http.StatusText(reply.Status))
	for _, name := range slices.Sorted(maps.Keys(reply.Header)) {
		for _, value := range reply.Header[name] {
			fmt.Fprintf(&head, "%s: %s\n", name, display.Line(value))
		}
	}
	_, err := fmt.Fprintln(out, head.String())
	return err
}

// write writes an array as a list, other JSON as one record, and anything else as it is, or as a JSON string if JSON
// was asked for.
func (o *apiOptions) write(ctx context.Context, printer *output.Printer[json.RawMessage], body []byte) error {
	var list []json.RawMessage
	if page := struct{ Data []json.RawMessage }{}; o.session.Output.Format == output.IDs &&
		json.Unmarshal(body, &page) == nil && page.Data != nil {
		return printer.List(ctx, output.Each(page.Data)) // the ids are those of the items
	}
	switch {
	case json.Unmarshal(body, &list) == nil && list != nil:
		return printer.List(ctx, output.Each(list))
	case json.Valid(body) || o.session.Output.WantsJSON():
		return printer.One(ctx, asJSON(body))
	case len(body) == 0:
		return nil
	}
	out := o.session.Streams.Out
	if o.session.Streams.OutTTY {
		out = display.Writer(out)
	}
	_, err := out.Write(body)
	return err
}

// asJSON returns a body that is JSON, any other as a JSON string, and null for none.
func asJSON(body []byte) json.RawMessage {
	switch {
	case len(body) == 0:
		return json.RawMessage("null")
	case json.Valid(body):
		return body
	}
	text, _ := json.Marshal(string(body)) // a string always marshals
	return text
}

func items(pages client.Pages[json.RawMessage]) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		for page, err := range pages {
			if err != nil {
				yield(nil, err)
				return
			}
			for _, item := range page.Data {
				if !yield(item, nil) {
					return
				}
			}
		}
	}
}

func parseRequest(args []string, fields *apiFields, input string) (client.Request, error) {
	request := client.Request{Method: http.MethodGet}
	switch len(args) {
	case 1:
		request.Path = args[0]
	case 2:
		request.Method, request.Path = strings.ToUpper(args[0]), args[1]
	default:
		return request, command.Usagef("Give a path, or a method and a path, such as: perksctl api GET partners/perks")
	}
	if !slices.Contains(methods, request.Method) {
		return request, command.Usagef("%q is not a method.%s The methods are %s.", args[0],
			command.DidYouMean(request.Method, methods), strings.Join(methods, ", "))
	}
	reads := request.Method == http.MethodGet || request.Method == http.MethodHead
	if input != "" && reads {
		return request, command.Usagef("--input is a body, and %s has none. Choose a method, such as POST, or leave "+
			"--input out.", request.Method)
	}
	var err error
	if reads || input != "" {
		request.Query, err = fields.query()
	}
	switch {
	case err != nil:
	case input != "":
		request.Body, err = fields.read("--input", input)
		request.ContentType = "application/json"
	case !reads && len(fields.given) > 0:
		request.Body, err = fields.object()
		request.ContentType = "application/json"
	}
	return request, err
}

// maxInput bounds a body, which is in memory as a whole.
const maxInput = 16 << 20

// read reads a file that a flag names, or standard input, which can be read only once.
func (a *apiFields) read(flag, path string) ([]byte, error) {
	in := a.stdin
	if path == "-" {
		if a.stdin = nil; in == nil {
			return nil, command.Usagef("%s: standard input can be used only once.", flag)
		}
	}
	return command.ReadInput(flag, path, in, maxInput)
}

// ours are the headers that perksctl sets.
var ours = []string{"Authorization", "Connection", "Content-Length", "Host", "Transfer-Encoding"}

// parseHeaders reads "Name: value". It refuses an empty value: an empty If-Match would guard nothing.
func parseHeaders(lines []string) (map[string]string, error) {
	headers := map[string]string{}
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		name, value = http.CanonicalHeaderKey(strings.TrimSpace(name)), strings.TrimSpace(value)
		isName := name != "" && !strings.ContainsFunc(name, func(r rune) bool {
			return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
		})
		switch {
		case !ok || !isName:
			return nil, command.Usagef("--header %q must look like Name: value.", line)
		case slices.Contains(ours, name):
			return nil, command.Usagef("--header cannot set %s: perksctl does.", name)
		case value == "" || strings.ContainsFunc(value, unicode.IsControl):
			return nil, command.Usagef("--header %s must have a value, without control characters.", name)
		case headers[name] != "":
			return nil, command.Usagef("--header has %s twice.", name)
		}
		headers[name] = value
	}
	return headers, nil
}

// hint adds advice if a path was not found and begins with the path of the API's address, to which it is relative.
func hint(err error, base, path string) error {
	address, parseErr := url.Parse(base)
	if parseErr != nil || address.Path == "" || !client.IsNotFound(err) ||
		!strings.HasPrefix("/"+strings.TrimLeft(path, "/")+"/", strings.TrimRight(address.Path, "/")+"/") {
		return err
	}
	return &command.Advised{Err: err, Advice: fmt.Sprintf("PATH is relative to %s: leave %s out.", base, address.Path)}
}
