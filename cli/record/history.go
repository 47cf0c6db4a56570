package record

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/operation"
	"example.com/perks/cli/command"
	"example.com/perks/cli/completion"
	"example.com/perks/cli/list"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

// entry is an entry of a history, with what changed from what to what.
type entry struct {
	api.PropertyVersion
	Changes []operation.FieldChange `json:"changes"`
}

// MarshalJSON adds the changes, which that of the embedded type would drop.
func (v entry) MarshalJSON() ([]byte, error) {
	return api.JoinObjects(v.PropertyVersion, struct {
		Changes []operation.FieldChange `json:"changes"`
	}{v.Changes})
}

func newEntry(of api.PropertyVersion) entry {
	var before, after map[string]json.RawMessage
	_, _ = json.Unmarshal(of.Before, &before), json.Unmarshal(of.After, &after) // objects or null, as the client checks
	changes := []operation.FieldChange{}
	for _, field := range of.Changed {
		changes = append(changes, operation.FieldChange{Field: field, From: before[field], To: after[field]})
	}
	return entry{of, changes}
}

// widestInTable is the width of the longest value that a table shows in full, so that both sides of a change fit.
const widestInTable = 24

// historyView shows the versions of a record. Their times are whole, because --as-of and --to take them.
var historyView = output.View{
	Columns: []string{"at", "client_id", "actor", "action", "changes"}, Least: []string{"client_id", "actor"}, ID: "at",
	Texts: map[string]func(json.RawMessage) string{"changes": func(value json.RawMessage) string {
		var changes []operation.FieldChange
		_ = json.Unmarshal(value, &changes) // newEntry made it
		return listed(changes, widestInTable)
	}},
}

// NewHistory makes the command history. long is what it says beside the actions of the kind.
func (k *Kind[I, R, P]) NewHistory(s *session.Session, long string) *cobra.Command {
	var flags list.Flags
	line := "  perksctl " + k.Name + " history " + k.ExampleID
	cmd := session.Writes[entry](s, &cobra.Command{
		Use:   "history ID",
		Short: "Show what changed in a " + k.Name + ", when, and by whom",
		Long:  long,
		Example: line + "\n" + line + " --all --output jsonl\n" +
			line + " --limit 5 --jq '.[] | [.at, .etag, .changed]'",
		Args: func(cmd *cobra.Command, args []string) error {
			_, invalid := k.parseIDs(args)
			return cmp.Or(command.Exactly("ID")(cmd, args), invalid)
		},
		ValidArgsFunction: completion.InOrder(k.IDs(s, true)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flags.Check(cmd); err != nil {
				return err
			}
			return list.Connect(cmd, s, flags, historyView, nil, func(c *client.Client) client.Pages[entry] {
				return k.historyOf(cmd.Context(), c, I(args[0]), flags.Options())
			})
		},
	})
	flags.Bind(cmd, nil)
	return cmd
}

func (k *Kind[I, R, P]) historyOf(
	ctx context.Context, c *client.Client, id I, options client.ListOptions,
) client.Pages[entry] {
	return func(yield func(api.Page[entry], error) bool) {
		for page, err := range k.Pages(c, ctx, id, options) {
			shown := api.Page[entry]{Meta: page.Meta, Next: page.Next}
			for _, of := range page.Data {
				shown.Data = append(shown.Data, newEntry(of))
			}
			if !yield(shown, err) {
				return
			}
		}
	}
}
