package perk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"example.com/perks/api"
	"example.com/perks/api/rows"
	"example.com/perks/cli/bulk"
)

// metadataFamily begins the names of CSV columns that hold one member of the metadata each, as text.
const metadataFamily = "metadata."

// readMetadata returns the metadata of a row as a compact object, nil if the row has none.
func readMetadata(row rows.Row, values bulk.Row, problems api.FieldErrors) json.RawMessage {
	whole, isWhole := values["metadata"]
	members := metadataMembers(values)
	column := "metadata"
	var metadata json.RawMessage
	switch {
	case isWhole && len(members) > 0:
		problems.Add(column, "must be empty where a column such as %sKEY holds something", metadataFamily)
	case isWhole:
		metadata = rawMember(row, whole)
	case len(members) > 0:
		column = metadataFamily + "KEY"
		metadata, _ = encode(members) // cannot fail: it is texts by texts
	}
	if metadata == nil {
		return nil
	}
	metadata, problem := compactMetadata(metadata)
	if problem != "" {
		problems.Add(column, "%s", problem)
	}
	return metadata
}

func metadataMembers(values bulk.Row) map[string]string {
	members := map[string]string{}
	for name, value := range values {
		if key, ok := strings.CutPrefix(name, metadataFamily); ok {
			var text string
			_ = value.Text(&text) // a cell always is a text
			members[key] = text
		}
	}
	return members
}

// rawMember returns the metadata as it stands in the cell or in the object.
func rawMember(row rows.Row, value bulk.Value) json.RawMessage {
	if row.Object == nil {
		var text string
		_ = value.Text(&text)
		return json.RawMessage(text)
	}
	var object struct {
		Metadata json.RawMessage `json:"metadata"`
	}
	_ = json.Unmarshal(row.Object, &object) // it was read once already
	return object.Metadata
}

// compactMetadata applies the service's rules. The problem is the end of a sentence, "" if nothing is wrong.
func compactMetadata(metadata json.RawMessage) (compact json.RawMessage, problem string) {
	var text bytes.Buffer
	switch err := json.Compact(&text, metadata); {
	case err != nil:
		return nil, "must be a JSON object"
	case text.String() == "null":
		return nil, ""
	case text.Bytes()[0] != '{':
		return nil, "must be a JSON object"
	case text.Len() > api.MaxMetadata:
		return nil, fmt.Sprintf("must be at most %d bytes", api.MaxMetadata)
	}
	return text.Bytes(), ""
}

// encode leaves < > & as they are: escaped they are six times as long, and metadata has a longest length.
func encode(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return text.Bytes(), err
}
