// Package property is the commands about properties, the rental listings: list, read, create, update, delete.
package property

import (
	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/operation"
	"example.com/perks/cli/bulk"
	"example.com/perks/cli/command"
	"example.com/perks/cli/completion"
	"example.com/perks/cli/list"
	"example.com/perks/cli/output"
	"example.com/perks/cli/record"
	"example.com/perks/cli/session"
)

var listView = output.View{
	Columns: []string{"propertyId", "title", "address", "city", "postcode", "price_pw", "bedrooms"}, ID: "propertyId",
}

// Kind is the kind of a property.
var Kind = &record.Kind[api.PropertyID, api.Property, api.PropertyPatch]{
	EditKind: operation.Properties,
	Words: record.Words{
		Plural: "properties", One: "a listing", All: "listings", Mine: "your listings", Whose: " of yours",
		None: "none of your properties", ExampleID: "42", ExampleSet: "price_pw=+5%",
	},
	IDColumn: bulk.Column{Name: "propertyId", Aliases: []string{"id", "property_id"}, Required: true},
	ReadID:   api.Value.PropertyID, Subject: api.PropertyID.Subject, Exported: []string{"owner"},
	New: func(members []api.Member) (api.PropertyID, api.PropertyPatch, error) {
		property, err := api.ParseNewProperty(members)
		fields := api.PropertyChanges(api.Property{}, property)
		fields.PricePW = api.Some(property.PricePW) // required, also where it is 0
		return "", fields, err
	},
	Required: []string{"title", "price_pw"}, SetChange: (*api.PropertyVersion).SetChange, Has: api.Property.Has,
	IsOdd: func(of api.Property, name string) bool { _, isOdd := of.Odd[name]; return isOdd },
	Find: record.Search(api.PropertyFilterFields, (*client.Client).PropertyPages, api.Property.PropertyID,
		func(p api.Property) api.Property { return p }, func(f *api.PropertyFilter) *bool { return &f.Own }),
	OwnList: []string{"--own"}, Shown: []string{"title", "city", "price_pw"}, View: listView,
	CompleteQuery: completion.Query(api.PropertyFilterFields), IDs: completion.Properties, MayChange: checkNotSandbox,
}

// New makes the group.
func New(s *session.Session) *cobra.Command {
	return command.Group(cobra.Command{
		Use:     "property",
		Aliases: []string{"properties"},
		Short:   "List, create, update and delete properties",
		Example: "  perksctl property list --city Leeds\n  perksctl property get 42\n  perksctl property update 42 " +
			"--price-pw 295.50 --bedrooms 2",
	}, newList(s), newGet(s), newHistory(s), newCreate(s), newUpdate(s), Kind.NewEdit(s), Kind.NewDelete(s),
		Kind.NewRestore(s))
}

// checkNotSandbox refuses a change with --sandbox, which would change live data: the sandbox has no properties.
func checkNotSandbox(s *session.Session) error {
	connection, err := s.Connection()
	if err == nil && connection.Sandbox {
		return command.Usagef("The sandbox has no properties; this " +
			"would change the live one. To do that, add --sandbox=false.")
	}
	return err
}

func newList(s *session.Session) *cobra.Command {
	return list.Kind[api.PropertyFilter, api.Property]{
		Fields: api.PropertyFilterFields, Sort: api.PropertySortFields(), View: listView,
		Values: list.Values{"city": completion.CitiesOfProperties(s)},
		Check: func(filter api.PropertyFilter) error {
			switch name, _ := filter.Problem(); name {
			case "max_price":
				return command.Usagef("--max-price must not be below --min-price.")
			case "max_bedrooms":
				return command.Usagef("--max-bedrooms must not be below --min-bedrooms.")
			}
			return nil
		},
		Pages: (*client.Client).PropertyPages,
	}.Command(s, cobra.Command{
		Use:   "list",
		Short: "List properties, the newest first",
		Long: "List properties, newest first: those of all clients, or " +
			"without the scope properties:read, only your own. Counts stop at\n" +
			"200; --all shows all properties.\n\n" +
			"--query takes words and filters: city: price: bedrooms: " +
			"+own. A range is 2..5, 2.. or ..5, with its ends. Keys may be\n" +
			"shortened (bed:2..). Quotes hold blanks (city:\"New York\").",
		Example: "  perksctl property list --city Berlin --max-price 400 --min-bedrooms 2 --sort price_pw\n" +
			"  perksctl property list --query 'garden city:rome price:100..250 bedrooms:2..'\n" +
			"  perksctl property list --own --all --output csv",
	})
}

func newGet(s *session.Session) *cobra.Command {
	return Kind.NewGet(s, cobra.Command{
		Long: "Show one property, or several as a list. If one cannot be " +
			"read, none is shown. The field etag names the version.\n" +
			"Pass it to update or delete, by --if-match or in a file, and they refuse any later version.\n" +
			"--as-of shows an earlier version of your own properties, also of those that are deleted now.",
		Example: "  perksctl property get 42\n" +
			"  perksctl property get 42 --as-of 2026-01-31\n" +
			"  perksctl property get 41 42 --output csv\n" +
			"  perksctl property delete 42 --if-match \"$(perksctl property get 42 --jq .etag)\"",
	}, "show your properties as they were")
}

func newHistory(s *session.Session) *cobra.Command {
	return Kind.NewHistory(s,
		"Show the versions of a property of your client, the newest first: when it was created, imported,\n"+
			"updated, deleted or restored, by which client (none for the operator), and what changed from what\n"+
			"to what. Tables cut long values. It also works for a deleted property. property get --as-of and\n"+
			"property restore --to take the times and ETags of the versions.")
}

func newCreate(s *session.Session) *cobra.Command {
	return Kind.NewCreate(s,
		"Create a property that belongs to your client, and show it. "+
			"It needs a title and a price; the service chooses its id. ",
		"  perksctl property create --title 'Two rooms by "+
			"the canal' --price-pw 295.50 --city Leeds --bedrooms 2\n"+
			"  perksctl property create --from-file flat.json --set lat=53.8 --set lng=-1.55\n"+
			"  perksctl property create --file flats.csv --failed again.csv")
}

func newUpdate(s *session.Session) *cobra.Command {
	return Kind.NewUpdate(s, "  perksctl property update 42 --price-pw 295.50 --bedrooms 2\n"+
		"  perksctl property update 42 --set city=Leeds --set lat=\n"+
		"  perksctl property update 42 --from-file patch.json --if-match 1f2e3d\n"+
		"  perksctl property update --query 'city:leeds bedrooms:2' --set price_pw=+5% --round 0.50\n"+
		"  perksctl property update --query city:leeds --set price_pw=+5% --save-plan rise.csv\n"+
		"  perksctl property update --plan rise.csv\n"+
		"  perksctl property update --file prices.csv --failed again.csv\n"+
		"  perksctl property update --file prices.csv --dry-run")
}
