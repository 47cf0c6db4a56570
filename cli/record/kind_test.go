package record

import (
	"example.com/perks/api"
	"example.com/perks/api/operation"
	"example.com/perks/cli/bulk"
)

// listings is the kind of the tests.
var listings = &Kind[api.PropertyID, api.Property, api.PropertyPatch]{
	EditKind: operation.Properties, Words: Words{Plural: "properties"},
	IDColumn: bulk.Column{Name: "propertyId", Aliases: []string{"id", "property_id"}, Required: true},
	ReadID:   api.Value.PropertyID, Subject: api.PropertyID.Subject, Exported: []string{"owner"},
	SetChange: (*api.PropertyVersion).SetChange, Has: api.Property.Has, Shown: []string{"title"},
	IsOdd: func(of api.Property, name string) bool { _, isOdd := of.Odd[name]; return isOdd },
}

type listingTask = task[api.PropertyID, api.Property, api.PropertyPatch]
