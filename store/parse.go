package store

import (
	"errors"
	"slices"
	"strings"
	"time"

	"example.com/perks/api"
)

// The readers of operator records. Each takes the members of one record, whatever they were written in, and returns the
// record or an *api.Error with CodeValidationFailed that says everything that is wrong with it: unknown and repeated
// fields, missing ones, values of the wrong type and values that break a rule. A null takes a field's value away, wherever
// the record can do without. A perk or property with an id may lack fields, even required ones: its Row says which, because
// only the database knows whether there is such a record that keeps them.

// ParsePerk reads a perk. Title, description and city are required of a new one; without an id, created_at or updated_at
// the import chooses them; without an approval it is automatic.
func ParsePerk(members []api.Member) (PerkRecord, error) {
	perk := PerkRecord{Approval: ApprovalAuto}
	problems := readFields(&perk, perkFields, members)
	if perk.ID != "" {
		perk.Row.Absent = PerkKind.absent(members) &^ PerkKind.fields("created_at", "updated_at")
	}
	PerkKind.check(problems, perk.Row.Absent, given(members), perk.Validate())
	return perk, problems.Err()
}

// ParseCategory reads a category, of which both fields are required.
func ParseCategory(members []api.Member) (api.Category, error) {
	var category api.Category
	problems := readFields(&category, categoryFields, members)
	addNew(problems, category.Validate())
	return category, problems.Err()
}

// ParseUser reads a user.
func ParseUser(members []api.Member) (User, error) {
	var user User
	problems := readFields(&user, userFields, members)
	if problem := api.UserIDRule(user.ID); problem != "" && problems["id"] == nil {
		problems.Add("id", "%s", problem)
	}
	return user, problems.Err()
}

// ParseProperty reads a property. Its propertyId is required, and of a new one title, price_pw and owner too, but the
// owner given here stands in for an absent one. All other fields of a new one start empty, zero or null.
func ParseProperty(members []api.Member, owner string) (PropertyRecord, error) {
	property := PropertyRecord{Property: api.Property{Images: []string{}}, Owner: owner}
	var own, shared []api.Member
	for _, m := range members {
		switch {
		case slices.ContainsFunc(propertyFields, func(f field[PropertyRecord]) bool { return f.name == m.Name }):
			own = append(own, m)
		case m.Value.IsNull() && !m.Repeated && slices.Contains(api.PropertyPatchFields(), m.Name):
			// it stays as it starts
		default:
			shared = append(shared, m)
		}
	}
	problems := readFields(&property, propertyFields, own)
	patch, err := api.ParsePropertyPatch(shared)
	addNew(problems, err)
	patch.Apply(&property.Property)
	values := given(members)
	if values["propertyId"] {
		property.Row.Absent = PropertyKind.absent(members)
	}
	values["owner"] = property.Owner != ""
	PropertyKind.check(problems, property.Row.Absent, values, property.Validate())
	return property, problems.Err()
}

// PerkFields returns the names of a perk record's fields in their order.
func PerkFields() []string { return names(perkFields) }

// CategoryFields returns the names of a category record's fields in their order.
func CategoryFields() []string { return names(categoryFields) }

// UserFields returns the names of a user record's fields in their order.
func UserFields() []string { return names(userFields) }

// PropertyFields returns the names of a property record's fields in their order.
func PropertyFields() []string {
	return slices.Concat([]string{"propertyId"}, api.PropertyPatchFields(), []string{"owner"})
}

// field is one field of a record R with its reader, which returns what is wrong with the value, or "".
type field[R any] struct {
	name     string
	required bool
	read     func(*R, api.Value) string
}

var perkFields = []field[PerkRecord]{
	{"id", false, value(api.Value.Text, func(p *PerkRecord) *string { return &p.ID })},
	{"title", false, value(api.Value.Text, func(p *PerkRecord) *string { return &p.Title })},
	{"description", false, value(api.Value.Text, func(p *PerkRecord) *string { return &p.Description })},
	{"category", false, pointer(api.Value.Text, func(p *PerkRecord) **string { return &p.Category })},
	{"merchant_name", false, pointer(api.Value.Text, func(p *PerkRecord) **string { return &p.MerchantName })},
	{"image_url", false, pointer(api.Value.Text, func(p *PerkRecord) **string { return &p.ImageURL })},
	{"discount_text", false, pointer(api.Value.Text, func(p *PerkRecord) **string { return &p.DiscountText })},
	{"terms", false, pointer(api.Value.Text, func(p *PerkRecord) **string { return &p.Terms })},
	{"valid_from", false, pointer(storedTime, func(p *PerkRecord) **time.Time { return &p.ValidFrom })},
	{"valid_to", false, pointer(storedTime, func(p *PerkRecord) **time.Time { return &p.ValidTo })},
	{"city", false, value(api.Value.Text, func(p *PerkRecord) *string { return &p.City })},
	{"created_at", false, value(storedTime, func(p *PerkRecord) *time.Time { return &p.CreatedAt })},
	{"updated_at", false, value(storedTime, func(p *PerkRecord) *time.Time { return &p.UpdatedAt })},
	{"lat", false, pointer(api.Value.Float, func(p *PerkRecord) **float64 { return &p.Lat })},
	{"lng", false, pointer(api.Value.Float, func(p *PerkRecord) **float64 { return &p.Lng })},
	{"stock", false, pointer(api.Value.Int, func(p *PerkRecord) **int64 { return &p.Stock })},
	{"approval", false, value(api.Value.Text, func(p *PerkRecord) *string { return (*string)(&p.Approval) })},
}

var categoryFields = []field[api.Category]{
	{"id", true, value(api.Value.Text, func(c *api.Category) *string { return &c.ID })},
	{"category_name", true, value(api.Value.Text, func(c *api.Category) *string { return &c.Name })},
}

var userFields = []field[User]{
	{"id", true, value(api.Value.Text, func(u *User) *string { return &u.ID })},
}

// propertyFields is what a property record has beyond the fields that a patch can change too.
var propertyFields = []field[PropertyRecord]{
	{"propertyId", true, value(api.Value.Int, func(p *PropertyRecord) *int64 { return &p.ID })},
	{"owner", false, value(api.Value.Text, func(p *PropertyRecord) *string { return &p.Owner })},
}

func value[R, T any](read func(api.Value, *T) string, field func(*R) *T) func(*R, api.Value) string {
	return func(record *R, v api.Value) string { return read(v, field(record)) }
}

func pointer[R, T any](read func(api.Value, *T) string, field func(*R) **T) func(*R, api.Value) string {
	return func(record *R, v api.Value) string {
		var value T
		problem := read(v, &value)
		if problem == "" {
			*field(record) = &value
		}
		return problem
	}
}

// storedTime reads a time as exactly as it is shown, so that rules are checked on what will be stored, and lists are in the
// order that the times in them say.
func storedTime(v api.Value, into *time.Time) string {
	problem := v.Time(into)
	*into = into.Truncate(time.Millisecond)
	return problem
}

func readFields[R any](record *R, fields []field[R], members []api.Member) api.FieldErrors {
	problems := api.FieldErrors{}
	values := given(members)
	for _, m := range members {
		i := slices.IndexFunc(fields, func(f field[R]) bool { return f.name == m.Name })
		if i < 0 {
			problems.Add(m.Name, "is not a field of this record; the fields are %s", strings.Join(names(fields), ", "))
			continue
		}
		if m.Repeated {
			problems.Add(m.Name, "is given more than once")
		}
		if m.Value.IsNull() {
			continue
		}
		if problem := fields[i].read(record, m.Value); problem != "" {
			problems.Add(m.Name, "%s", problem)
		}
	}
	for _, f := range fields {
		if f.required {
			require(problems, f.name, values[f.name])
		}
	}
	return problems
}

// given is the names of the members that have a value.
func given(members []api.Member) map[string]bool {
	names := map[string]bool{}
	for _, m := range members {
		names[m.Name] = !m.Value.IsNull()
	}
	return names
}

// absent is the fields of which there is no member, not even a null.
func (k Kind) absent(members []api.Member) Fields {
	var named Fields
	for _, m := range members {
		named |= k.fields(m.Name)
	}
	return (1<<len(k.names) - 1) &^ named
}

// check adds the problems of fields that are needed and have no value, and those of the record as a whole. A field that
// its row leaves open is no problem: only together with what is known of the record can it be one.
func (k Kind) check(problems api.FieldErrors, absent Fields, given map[string]bool, whole error) {
	for i, name := range k.names {
		if k.needs.has(i) {
			require(problems, name, given[name])
		}
	}
	addNew(problems, whole)
	for i, name := range k.names {
		if (absent & k.needs).has(i) {
			delete(problems, name)
		}
	}
}

// require leaves a field alone about which something else is wrong already.
func require(problems api.FieldErrors, field string, given bool) {
	if !given && problems[field] == nil {
		problems.Add(field, "is required")
	}
}

// addNew adds the problems of fields that had none, because a rule has nothing to say about a value that was not read.
func addNew(problems api.FieldErrors, err error) {
	var invalid *api.Error
	if !errors.As(err, &invalid) {
		return
	}
	for field, messages := range invalid.Fields {
		if problems[field] == nil {
			problems[field] = messages
		}
	}
}

func names[R any](fields []field[R]) []string {
	list := make([]string, len(fields))
	for i, f := range fields {
		list[i] = f.name
	}
	return list
}

// Validate checks the rules of the perk and of what only the operator sees.
func (p *PerkRecord) Validate() error {
	problems := api.FieldErrors{}
	addNew(problems, p.Perk.Validate())
	if p.Lat != nil && p.Lng == nil {
		problems.Add("lng", "is required with lat")
	}
	if p.Lng != nil && p.Lat == nil {
		problems.Add("lat", "is required with lng")
	}
	if p.Lat != nil && api.LatRule(*p.Lat) != "" {
		problems.Add("lat", "%s", api.LatRule(*p.Lat))
	}
	if p.Lng != nil && api.LngRule(*p.Lng) != "" {
		problems.Add("lng", "%s", api.LngRule(*p.Lng))
	}
	if p.Stock != nil && *p.Stock < 0 {
		problems.Add("stock", "must not be negative")
	}
	if p.Approval != ApprovalAuto && p.Approval != ApprovalManual {
		problems.Add("approval", "must be %s or %s", ApprovalAuto, ApprovalManual)
	}
	return problems.Err()
}
