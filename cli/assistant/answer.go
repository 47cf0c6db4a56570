package assistant

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
)

// rowsOfPage is the most rows of a result.
const rowsOfPage = 25

// answer is the result of a tool. What others wrote is in Data alone.
type answer struct {
	Source     *source  `json:"source,omitempty"` // of the data; nil where perksctl itself knows it
	Data       any      `json:"data"`
	Total      *int64   `json:"total,omitempty"`
	NextCursor string   `json:"next_cursor,omitempty"`
	Notices    []string `json:"notices,omitempty"` // by perksctl
}

// source says where data comes from, and whose words its texts are.
type source struct {
	Service string `json:"service"`
	Profile string `json:"profile,omitempty"`
	Sandbox bool   `json:"sandbox"`
	Texts   string `json:"texts"`
}

// longest are the characters to which texts are cut: the first of these with which the result is at most maxResult
// bytes long, or the last, with which large objects inside of a row, such as metadata, are left out too.
var longest = []int{8000, 2000, 500, 100, 40}

const (
	maxResult = 64 << 10
	maxInside = 1 << 10 // bytes of an object inside of a row, where a result would be too long
	insideRow = 3       // levels below the result
)

// result makes a result that is safe to show: no control characters, and not too long.
func (a answer) result() (*mcp.CallToolResult, error) {
	whole, err := api.EncodeJSON(a)
	if err != nil {
		return nil, err
	}
	for i, most := range longest {
		var text []byte
		c := cleaner{most: most, isLast: i == len(longest)-1}
		if text, err = c.clean(whole, a.Notices); err != nil || len(text) <= maxResult {
			return resultOf(text, false), err
		}
		whole = text
	}
	return resultOf(whole, false), nil
}

// resultOf gives the JSON as data, and as text for assistants that read no data.
func resultOf(text []byte, isError bool) *mcp.CallToolResult {
	return &mcp.CallToolResult{
		Content:           []mcp.Content{&mcp.TextContent{Text: string(text)}},
		StructuredContent: json.RawMessage(text), IsError: isError,
	}
}

// failure is the result of what failed: a sentence with its code.
func failure(err error) *mcp.CallToolResult {
	report := output.NewReport(err)
	advised, isAdvised := errors.AsType[*command.Advised](err)
	if isAdvised {
		report.Message = strings.TrimSpace(report.Message + " " + advised.Advice)
	}
	report.Retry = "" // is a command line
	text, err := api.EncodeJSON(map[string]output.Report{"error": report})
	if err == nil {
		c := cleaner{most: longest[1]}
		text, err = c.clean(text, nil)
	}
	if err != nil { // a report always encodes
		text = []byte(`{}`)
	}
	return resultOf(text, true)
}

// cleaner makes the texts of a JSON value safe, and cuts long ones.
type cleaner struct {
	most   int
	isLast bool // leave large objects out
	isCut  bool
	isLeft bool // an object was left out
}

// clean writes the JSON anew. If it has cut a text, it says so in the notices.
func (c *cleaner) clean(text []byte, notices []string) ([]byte, error) {
	var value map[string]any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	cleaned := c.value(value, 0).(map[string]any)
	if c.isCut {
		notices = append(notices, fmt.Sprintf("Texts of more than %s characters are cut.", display.Count(c.most)))
	}
	if c.isLeft {
		notices = append(notices, "Large values are left out, as null. Get a record by its id to see them.")
	}
	if notices != nil {
		cleaned["notices"] = notices
	}
	return api.EncodeJSON(cleaned)
}

func (c *cleaner) value(of any, level int) any {
	if c.isLast && level == insideRow {
		if inside, err := api.EncodeJSON(of); err != nil || len(inside) > maxInside {
			c.isLeft = true
			return nil
		}
	}
	switch of := of.(type) {
	case string:
		return c.text(of)
	case []any:
		for i, item := range of {
			of[i] = c.value(item, level+1)
		}
	case map[string]any:
		cleaned := make(map[string]any, len(of))
		for name, member := range of {
			cleaned[c.text(name)] = c.value(member, level+1)
		}
		return cleaned
	}
	return of
}

func (c *cleaner) text(text string) string {
	text = display.Text(text)
	if utf8.RuneCountInString(text) <= c.most {
		return text
	}
	c.isCut = true
	return string([]rune(text)[:c.most-1]) + "…"
}

// cursorOf names a page.
func cursorOf(page int64) string { return "page-" + strconv.FormatInt(page, 10) }

// pageOf reads a cursor; without one it is the first page.
func pageOf(cursor string) (int64, error) {
	if cursor == "" {
		return 1, nil
	}
	page, err := strconv.ParseInt(strings.TrimPrefix(cursor, "page-"), 10, 64)
	if err != nil || page < 1 || cursorOf(page) != cursor {
		return 0, api.FieldErrorf("cursor", "must be the next_cursor of an earlier result, with the same arguments")
	}
	return page, nil
}

// list is the answer with the first of the pages. The check, which may be nil, refuses records that do not fit: a
// service that ignores a filter would show others.
func list[T any](a *assistant, pages client.Pages[T], check func([]T) error) (answer, error) {
	found := answer{Source: &a.from, Data: []T{}}
	for page, err := range pages {
		if err == nil && check != nil {
			err = check(page.Data)
		}
		if err != nil {
			return answer{}, err
		}
		if found.Data = page.Data; page.Meta.MoreThan == 0 {
			found.Total = &page.Meta.Total
		} else {
			found.Notices = append(found.Notices,
				fmt.Sprintf("There are more than %s.", display.Count(page.Meta.MoreThan)))
		}
		if n := len(page.Data); n > rowsOfPage { // of a service that ignores the length of a page
			found.Data = page.Data[:rowsOfPage]
			found.Notices = append(found.Notices, fmt.Sprintf("The service sent %s at once, of which these are the "+
				"first %d. Narrow the search to see the others.", display.Count(n), rowsOfPage))
		} else if page.Next != "" || page.Meta.Page < page.Meta.TotalPages {
			found.NextCursor = cursorOf(cmp.Or(page.Meta.Page, 1) + 1)
		}
		break
	}
	return found, nil
}

// one is the answer with one record.
func one[T any](a *assistant, record T, err error) (answer, error) {
	return answer{Source: &a.from, Data: record}, err
}
