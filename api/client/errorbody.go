package client

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/go-resty/resty/v2"

	"example.com/perks/api"
)

// refusal turns an answer that is not a success into an Error. It understands the service's own bodies, problem details
// (RFC 9457), OAuth errors (RFC 6749, section 5.2) and short plain text; of anything else it says only the status.
func refusal(sent call, e *effort, res *resty.Response) *Error {
	body := parseErrorBody(res.Body())
	refused := &Error{
		Status:    res.StatusCode(),
		Code:      api.Code(body.text("code")),
		Message:   body.firstText("response", "detail", "message", "error_description", "title", "error"),
		Fields:    body.fields(),
		RequestID: res.Header().Get("X-Request-Id"),
		Stray:     body == nil,

		RetryAfter:     retryAfter(res.Header(), res.ReceivedAt()),
		OutcomeUnknown: e.open && sent.changes(),
	}
	if refused.Code == "" {
		refused.Code = codeOfStatus(refused.Status)
		if len(refused.Fields) > 0 {
			refused.Code = api.CodeValidationFailed
		}
	}
	if e.disputed && settles(refused.Code) {
		refused.OutcomeUnknown, refused.KeyUnused = false, true
	}
	if refused.Message == "" {
		refused.Message = statusSentence(res)
	}
	refused.hide(newMask(credentials(asSent(res))))
	return refused
}

// settles tells whether a refusal also says that an earlier attempt under the same key changed nothing. Other conflicts may
// mean that the server is still at work on that attempt.
func settles(code api.Code) bool {
	switch code {
	case api.CodeAlreadyRedeemed, api.CodePerkNotStarted, api.CodePerkExpired, api.CodeSoldOut:
		return true
	}
	return false
}

// statusSentence describes an answer whose body says nothing that can be shown.
func statusSentence(res *resty.Response) string {
	sentence := strings.TrimSpace(fmt.Sprintf("The server answered %d %s", res.StatusCode(), http.StatusText(res.StatusCode())))
	if location := res.Header().Get("Location"); res.StatusCode() < 400 && location != "" {
		return fmt.Sprintf("%s to %s, which was not followed. Is this the address of the API?", sentence, location)
	}
	if text := plainText(res); text != "" {
		return sentence + ": " + text
	}
	return sentence + "."
}

func plainText(res *resty.Response) string {
	text := strings.TrimSpace(string(res.Body()))
	isText := strings.HasPrefix(res.Header().Get("Content-Type"), "text/plain")
	if !isText || len(text) > 200 || strings.Contains(text, "\n") || !utf8.ValidString(text) {
		return ""
	}
	return text
}

// errorBody is the members of an error's JSON object. Each is read on its own, because one of an unexpected type should
// not hide the others.
type errorBody map[string]json.RawMessage

func parseErrorBody(raw []byte) errorBody {
	var body errorBody
	if json.Unmarshal(raw, &body) != nil {
		return nil
	}
	return body
}

func (b errorBody) text(name string) string {
	var text string
	if json.Unmarshal(b[name], &text) != nil {
		return ""
	}
	return strings.TrimSpace(text)
}

func (b errorBody) firstText(names ...string) string {
	for _, name := range names {
		if text := b.text(name); text != "" {
			return text
		}
	}
	return ""
}

// fields reads the errors map, whose entries are arrays of messages or single ones.
func (b errorBody) fields() api.FieldErrors {
	var entries map[string]json.RawMessage
	if json.Unmarshal(b["errors"], &entries) != nil {
		return nil
	}
	fields := api.FieldErrors{}
	for field, raw := range entries {
		var many []string
		var one string
		switch {
		case json.Unmarshal(raw, &many) == nil && len(many) > 0:
			fields[field] = many
		case json.Unmarshal(raw, &one) == nil && one != "":
			fields[field] = []string{one}
		}
	}
	if len(fields) == 0 {
		return nil
	}
	return fields
}
