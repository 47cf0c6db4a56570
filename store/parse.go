package store

import (
	"errors"
	"slices"
	"strings"
	"time"

	"example.com/perks/api"
)

// The parsers of operator records. Each takes the members of one record in any file format, and returns the record or
// an *api.Error with CodeValidationFailed that lists everything wrong with it: unknown, repeated and missing fields,
// wrong types and broken rules. A null clears a field that is optional. A perk or property with an id may lack fields,
// even required ones. Its Row says which, because only the database knows whether the record exists and keeps them.

// ParsePerk parses a perk. A new one needs title, description and city. The import sets id, created_at and updated_at
// if they are missing. The default approval is automatic.
func ParsePerk(members []api.Member) (PerkRecord, error) {
	perk := PerkRecord{Approval: ApprovalAuto}
	problems := readFields(&perk, perkFields, members)
	if perk.ID != "" {
		perk.Row.Absent = PerkKind.absent(members) &^ PerkKind.fields("created_at", "updated_at")
	}
	PerkKind.check(problems, perk.Row.Absent, func(name string) bool { return isGiven(members, name) }, perk.Validate())
	return perk, problems.Err()
}

// ParseCategory parses a category. Both fields are required.
func ParseCategory(members []api.Member) (api.Category, error) {
	var category api.Category
	problems := readFields(&category, categoryFields, members)
	addNew(problems, category.Validate())
	return category, problems.Err()
}

// ParseUser parses a user.
func ParseUser(members []api.Member) (User, error) {
	var user User
	problems := readFields(&user, userFields, members)
	if problem := api.UserIDRule(user.ID); problem != "" && problems["id"] == nil {
		problems.Add("id", "%s", problem)
	}
	return user, problems.Err()
}

// ParseProperty parses a property. propertyId is required, and for a new one also title, price_pw and owner, which
// defaults to the parameter. All other fields of a new one default to empty, zero or null.
func ParseProperty(members []api.Member, owner string) (PropertyRecord, error) {
	property := PropertyRecord{Property: api.Property{Images: []string{}}, Owner: owner}
	var own, shared []api.Member
	for _, m := range members {
		switch {
		case slices.ContainsFunc(propertyFields, func(f field[PropertyRecord]) bool { return f.name == m.Name }):
			own = append(own, m)
		case m.Value.IsNull() && !m.Repeated && slices.Contains(api.PropertyPatchFields(), m.Name):
			// it keeps its default
		default:
			shared = append(shared, m)
		}
	}
	problems := readFields(&property, propertyFields, own)
	patch, err := api.ParsePropertyPatch(shared)
	addNew(problems, err)
	patch.Apply(&property.Property)
	if isGiven(members, "propertyId") {
		property.Row.Absent = PropertyKind.absent(members)
	}
	given := func(name string) bool {
		if name == "owner" {
			return property.Owner != ""
		}
		return isGiven(members, name)
	}
	PropertyKind.check(problems, property.Row.Absent, given, property.Validate())
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

// field is a field of a record R. read returns what is wrong with the value, or "".
type field[R any] struct {
	name     string
	required bool
	read     func(*R, api.Value) string
}

var categoryFields = []field[api.Category]{
	{"id", true, value(api.Value.Text, func(c *api.Category) *string { return &c.ID })},
	{"category_name", true, value(api.Value.Text, func(c *api.Category) *string { return &c.Name })},
}

var userFields = []field[User]{
	{"id", true, value(api.Value.Text, func(u *User) *string { return &u.ID })},
}

// propertyFields are those that a patch cannot change.
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

// storedTime truncates a time to the milliseconds that are shown, so that lists sort by what they show.
func storedTime(v api.Value, into *time.Time) string {
	problem := v.Time(into)
	*into = into.Truncate(time.Millisecond)
	return problem
}

func readFields[R any](record *R, fields []field[R], members []api.Member) api.FieldErrors {
	problems := api.FieldErrors{}
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
			require(problems, f.name, isGiven(members, f.name))
		}
	}
	return problems
}

// isGiven tells whether the members have the name, with a value that is not null.
func isGiven(members []api.Member, name string) bool {
	return slices.ContainsFunc(members, func(m api.Member) bool { return m.Name == name && !m.Value.IsNull() })
}

// absent returns the fields that have no member, not even a null.
func (k Kind) absent(members []api.Member) Fields {
	var named Fields
	for _, m := range members {
		if i := slices.Index(k.names, m.Name); i >= 0 {
			named |= 1 << i
		}
	}
	return (1<<len(k.names) - 1) &^ named
}

// check adds the problems of missing required fields, and those of the whole record. Absent fields are not checked
// here, because a known record has them.
func (k Kind) check(problems api.FieldErrors, absent Fields, given func(name string) bool, whole error) {
	for i, name := range k.names {
		if k.needs.has(i) {
			require(problems, name, given(name))
		}
	}
	addNew(problems, whole)
	for i, name := range k.names {
		if (absent & k.needs).has(i) {
			delete(problems, name)
		}
	}
}

// require adds a problem unless the field already has one.
func require(problems api.FieldErrors, field string, given bool) {
	if !given && problems[field] == nil {
		problems.Add(field, "is required")
	}
}

// addNew adds the problems of fields that have none yet: a rule says nothing about a value that could not be parsed.
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
