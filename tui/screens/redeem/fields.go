package redeem

import (
	"encoding/json"
	"strconv"
	"strings"

	"example.com/perks/api"
	"example.com/perks/tui/widget"
)

// The names of the fields are the service's, so that its errors find their place; further rows of metadata have a number.
const (
	userField = "user_id"
	firstRow  = "metadata"
)

// fields is the form: for whom, and what to keep with the redemption.
type fields struct{ *widget.Form }

func newFields(look *widget.Theme, userID string) fields {
	f := fields{widget.NewForm(look, widget.Field{
		Name: userField, Label: "User", Value: userID, Hint: "the id of the user",
		Check: func(text string) string { return api.UserIDRule(strings.TrimSpace(text)) },
	})}
	f.addRow()
	return f
}

// addRow appends a blank row of metadata.
func (f fields) addRow() {
	at := len(f.rowNames())
	row := widget.Field{
		Name: firstRow, Label: "Metadata", Hint: "key=value, or nothing",
		Check: func(string) string { return rowProblem(f.rows(), at) },
	}
	if at > 0 {
		row.Name, row.Label, row.Hint = firstRow+strconv.Itoa(at+1), "Metadata "+strconv.Itoa(at+1), "another key=value, or nothing"
	}
	f.Add(row)
}

func (f fields) rowNames() []string { return f.Names()[1:] }

func (f fields) rows() []string {
	names := f.rowNames()
	rows := make([]string, len(names))
	for i, name := range names {
		rows[i] = f.Value(name)
	}
	return rows
}

// keepOneBlankRow makes the last row the only blank one at the end, unless somebody is typing there.
func (f fields) keepOneBlankRow() {
	for {
		names := f.rowNames()
		last := len(names) - 1
		if last < 1 || f.Focus() == names[last] || !isBlank(f.Value(names[last])) || !isBlank(f.Value(names[last-1])) {
			break
		}
		f.Remove(names[last])
	}
	names := f.rowNames()
	if !isBlank(f.Value(names[len(names)-1])) {
		f.addRow()
	}
}

func (f fields) userID() string { return strings.TrimSpace(f.Value(userField)) }

func (f fields) metadata() json.RawMessage { return metadata(f.rows()) }

func (f fields) request() api.RedeemRequest {
	return api.RedeemRequest{UserID: f.userID(), Metadata: f.metadata()}
}

// breaksNoRule shows what is wrong, goes to it, and tells whether nothing is. What the service has said of a value does not
// count: it may say otherwise by now.
func (f fields) breaksNoRule() bool {
	f.Check()
	for _, name := range f.Names() {
		if f.Field(name).Check(f.Value(name)) != "" {
			f.FocusOnName(name)
			return false
		}
	}
	return true
}
