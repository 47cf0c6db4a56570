package cli

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

type options struct {
	session  *session.Session
	request  client.Request
	paginate bool
	include  bool
	dryRun   bool
}

// New makes the command.
func newAPI(s *session.Session) *cobra.Command {
	o := &options{session: s}
	var fields []string
	var headers []string
	var input string
	cmd := &cobra.Command{
		Use:   "api [METHOD] PATH",
		Short: "Send any request to the service",
		Long: "Send a request with the token and write the answer. PATH is relative to the address of the API. METHOD is GET\n" +
			"unless given. With GET, fields become the query; with other methods they become a JSON object, where key=value is\n" +
			"a string and key:=value is JSON as it stands. --header sends a header, such as If-Match or Idempotency-Key, and\n" +
			"--include shows those of the answer: before the body, or with --output and --jq as status, headers and body.",
		Example: "  perksctl api partners/perks --field city=Berlin\n" +
			"  perksctl api PATCH update-property/42 --field title=Loft --field bedrooms:=2\n" +
			"  perksctl api get-property/42 --include --jq .headers.Etag\n" +
			"  perksctl api PATCH update-property/42 --header 'If-Match: \"1f2e3d\"' --field title=Loft\n" +
			"  perksctl api partners/perks --paginate --output jsonl",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.request, err = parseRequest(args, fields, input, s.Streams.In); err != nil {
				return err
			}
			if o.request.Header, err = parseHeaders(headers); err != nil {
				return err
			}
			if o.paginate && o.include {
				return command.Usagef("--include shows the headers of one answer; it does not go with --paginate.")
			}
			if o.paginate && o.request.Method != http.MethodGet {
				return command.Usagef("--paginate reads a list; it goes with GET alone.")
			}
			return callAPI(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&fields, "field", "f", nil, "add a field: `key=value` or key:=JSON, repeatable")
	flags.StringArrayVarP(&headers, "header", "H", nil, "send this header: `Name: value`, repeatable")
	flags.BoolVarP(&o.include, "include", "i", false, "show the status and the headers of the answer too")
	flags.StringVar(&input, "input", "", "send this `file` as the body, - for standard input")
	flags.BoolVar(&o.paginate, "paginate", false, "write the items of all pages as one list")
	flags.BoolVar(&o.dryRun, "dry-run", false, "show the request and send nothing")
	return cmd
}

func callAPI(ctx context.Context, o *options) error {
	if o.dryRun {
		return o.session.Rehearse(ctx, func(c *client.Client) error {
			_, err := c.Do(ctx, o.request)
			return err
		})
	}
	printer, err := output.New[json.RawMessage](o.format(), o.session.Streams, output.View{ID: "id"})
	if err != nil {
		return err
	}
	c, _, err := o.session.Connect()
	if err != nil {
		return err
	}
	if o.paginate {
		return hint(printer.List(ctx, items(c.DoPages(ctx, o.request))), c.BaseURL(), o.request.Path)
	}
	answer, err := c.Do(ctx, o.request)
	if err != nil {
		return hint(err, c.BaseURL(), o.request.Path)
	}
	if !o.include {
		return o.write(ctx, printer, answer.Body)
	}
	if o.session.Output.IsTable() && o.session.Output.Format == "" {
		if err := o.writeHead(answer); err != nil {
			return err
		}
		return o.write(ctx, printer, answer.Body)
	}
	whole, err := output.New[included](o.format(), o.session.Streams, output.View{ID: "status"})
	if err != nil {
		return err
	}
	return whole.One(ctx, newIncluded(answer))
}

// format makes JSON the default: what came is shown as it came.
func (o *options) format() output.Options {
	options := o.session.Output
	if options.Format == "" {
		options.Format = output.JSON
		if options.JQ != "" || options.Template != "" {
			options.Format = ""
		}
	}
	return options
}

// write shows an array as a list, other JSON as one record, and anything else as it is, or as a JSON string where JSON was
// asked for.
func (o *options) write(ctx context.Context, printer *output.Printer[json.RawMessage], body []byte) error {
	var list []json.RawMessage
	if page := struct{ Data []json.RawMessage }{}; o.session.Output.Format == output.IDs && json.Unmarshal(body, &page) == nil && page.Data != nil {
		return printer.List(ctx, output.Each(page.Data)) // the ids are those of the items
	}
	switch {
	case len(body) == 0 && !o.session.Output.WantsJSON():
		return nil
	case len(body) == 0:
		return printer.One(ctx, json.RawMessage("null"))
	case json.Unmarshal(body, &list) == nil && list != nil:
		return printer.List(ctx, output.Each(list))
	case json.Valid(body):
		return printer.One(ctx, body)
	case o.session.Output.WantsJSON():
		text, err := json.Marshal(string(body))
		if err != nil {
			return err
		}
		return printer.One(ctx, text)
	}
	return o.writeText(body)
}

func items(pages iter.Seq2[api.Page[json.RawMessage], error]) iter.Seq2[json.RawMessage, error] {
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

// parseRequest reads the arguments and the flags that make up the request.
func parseRequest(args, fields []string, input string, stdin io.Reader) (client.Request, error) {
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
		return request, command.Usagef("%q is not a method.%s The methods are %s.", args[0], command.DidYouMean(request.Method, methods), strings.Join(methods, ", "))
	}
	reads := request.Method == http.MethodGet || request.Method == http.MethodHead
	if input != "" && (reads || len(fields) > 0) {
		return request, command.Usagef("--input is a whole body; it goes neither with --field nor with %s.", request.Method)
	}
	var err error
	switch {
	case input != "":
		request.Body, err = readInput(input, stdin)
		request.ContentType = "application/json"
	case reads:
		request.Query, err = query(fields)
	case len(fields) > 0:
		request.Body, err = object(fields)
		request.ContentType = "application/json"
	}
	return request, err
}
