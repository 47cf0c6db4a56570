package webhook

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.com/perks/api/webhook"
	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

// mostVerified bounds what is read: a delivery is much smaller.
const mostVerified = 8 << 20

// verified is a delivery that the service has signed.
type verified struct {
	ID string    `json:"id"`
	At time.Time `json:"at"` // when it was sent
}

func newVerify(s *session.Session) *cobra.Command {
	var secretStdin, anyAge bool
	var headers, body string
	cmd := session.Command(s, output.View{ID: "id"}, cobra.Command{
		Use:   "verify --secret-stdin --headers FILE",
		Short: "Check the signature of what was posted to a webhook",
		Long: "Check, without asking the service, that it has signed a delivery and when. The exit code is 0 if the\n" +
			"delivery is valid, and 1 if not; the error says which check failed.\n\n" +
			"The first line of standard input is the secret, and the body follows, byte by byte as it came. With\n" +
			"--body, the body is in a file. --headers is a file with lines such as webhook-id: VALUE; others are\n" +
			"ignored.",
		Example: "  (cat secret.txt; cat body.json) | perksctl webhook verify --secret-stdin --headers headers.txt\n" +
			"  perksctl webhook verify --secret-stdin --headers headers.txt --body body.json < secret.txt",
		Args: command.NoArgs,
	}, func(cmd *cobra.Command, _ []string, printer *output.Printer[verified]) error {
		switch {
		case !secretStdin:
			return command.Usagef("Pass the secret on standard input, and add --secret-stdin.")
		case headers == "":
			return command.Usagef("--headers is missing. Give a file with the headers of the delivery.")
		case headers == "-" || body == "-":
			return command.Usagef("Standard input has the secret. Give --headers and --body as files.")
		}
		piped, err := command.ReadInput("standard input", "-", s.Streams.In, mostVerified)
		if err != nil {
			return err
		}
		first, content, hasBody := bytes.Cut(piped, []byte("\n"))
		secret, err := webhook.ParseSecret(strings.TrimSpace(string(first)))
		if err != nil {
			return command.Usagef("The first line of standard input is not a secret: %s.", err)
		}
		if body != "" {
			if content, err = command.ReadInput("--body", body, nil, mostVerified); err != nil {
				return err
			}
		} else if !hasBody {
			return command.Usagef("Standard input has no body after the line of the secret. Add it, or give --body FILE.")
		}
		text, err := command.ReadInput("--headers", headers, nil, mostVerified)
		if err != nil {
			return err
		}
		header := headersOf(string(text))
		seconds, _ := strconv.ParseInt(header.Get(webhook.HeaderTimestamp), 10, 64) // Verify refuses others
		sent, now := time.Unix(seconds, 0).UTC(), time.Now()
		if anyAge {
			now = sent
		}
		if err := webhook.Verify(header, content, now, secret); err != nil {
			return &command.Failure{Exit: command.ExitFailed, Code: "not_valid",
				Message: fmt.Sprintf("This delivery is not valid: %s.", err)}
		}
		done := verified{header.Get(webhook.HeaderID), sent}
		s.Streams.Note("Delivery %s is valid. It was sent at %s.", done.ID, sent.Format(time.RFC3339))
		return printer.Done(cmd.Context(), done)
	})
	cmd.Flags().BoolVar(&secretStdin, "secret-stdin", false, "read the secret from the first line of standard input")
	cmd.Flags().StringVar(&headers, "headers", "", "the `file` with the headers")
	cmd.Flags().StringVar(&body, "body", "", "the `file` with the body")
	cmd.Flags().BoolVar(&anyAge, "any-age", false, "do not check when it was sent")
	return cmd
}

// headersOf reads lines with a name, a colon and a value.
func headersOf(text string) http.Header {
	header := http.Header{}
	for line := range strings.Lines(text) {
		if name, value, found := strings.Cut(line, ":"); found {
			header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
		}
	}
	return header
}
