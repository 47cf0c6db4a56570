package api

import (
	"slices"
)

// CategoryPatch is a change of a category.
type CategoryPatch struct {
	Name Optional[string] `json:"category_name,omitzero"`
}

// CategoryFields are the fields of a category that can be changed.
func CategoryFields() []Field {
	return []Field{{Name: "category_name", Kind: TextField, Label: "Name", MaxLength: maxShortText}}
}

// CategoryTexts are the values of a field of a category.
func CategoryTexts(of Category, _ string) []string { return []string{of.Name} }

// ParseCategoryPatch reads and checks the fields to change. The error is CodeValidationFailed.
func ParseCategoryPatch(members []Member) (p CategoryPatch, err error) {
	fields := FieldErrors{}
	for _, m := range members {
		if m.Name != "category_name" {
			fields.Add(m.Name, "is not a field of a category")
			continue
		}
		fields.check(m.Name, m.Value.Text(&p.Name.Value))
		fields.check(m.Name, textRule(p.Name.Value, 1, maxShortText))
		p.Name.Set = true
	}
	return p, fields.Err()
}

// CategoryChanges is the patch that changes before to after.
func CategoryChanges(before, after Category) (p CategoryPatch) {
	if before.Name != after.Name {
		p.Name = Some(after.Name)
	}
	return p
}

// Fields are the names of the fields in the patch.
func (p CategoryPatch) Fields() []string {
	if p.Name.Set {
		return []string{"category_name"}
	}
	return nil
}

// Only is the patch with these fields alone.
func (p CategoryPatch) Only(names ...string) CategoryPatch {
	if slices.Contains(names, "category_name") {
		return p
	}
	return CategoryPatch{}
}

// Apply changes a category.
func (p CategoryPatch) Apply(to *Category) {
	if p.Name.Set {
		to.Name = p.Name.Value
	}
}

// IsEmpty tells whether the patch changes nothing.
func (p CategoryPatch) IsEmpty() bool { return !p.Name.Set }

// IsAppliedTo tells whether the category is as the patch makes it.
func (p CategoryPatch) IsAppliedTo(held Category) bool { return !p.Name.Set || held.Name == p.Name.Value }
