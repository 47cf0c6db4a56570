package operation

import (
	"encoding/json"

	"example.com/perks/api"
)

// CategoryID is the id of a category.
type CategoryID string

// Categories is the kind of a category. Who edits one sets how it is read and written.
var Categories = EditKind[CategoryID, api.Category, api.CategoryPatch]{
	Name: "category", IDOf: func(of api.Category) CategoryID { return CategoryID(of.ID) },
	Fields: api.CategoryFields, Texts: api.CategoryTexts, Parse: api.ParseCategoryPatch, Changes: api.CategoryChanges,
	Decode: func(text []byte, into *api.Category) error { return json.Unmarshal(text, into) },
}
