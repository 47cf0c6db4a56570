package store

import (
	"errors"
	"fmt"
	"reflect"
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
	problems := PerkKind.read(&perk, members)
	if perk.ID != "" {
		perk.Row.Absent = PerkKind.absent(members) &^ PerkKind.fields("created_at", "updated_at")
	}
	PerkKind.check(problems, perk.Row.Absent, givenIn(members), perk.Validate())
	return perk, problems.Err()
}

// ParseCategory parses a category. Both fields are required.
func ParseCategory(members []api.Member) (api.Category, error) {
	var category api.Category
	problems := categoryKind.read(&category, members)
	categoryKind.check(problems, 0, givenIn(members), category.Validate())
	return category, problems.Err()
}

// ParseUser parses a user.
func ParseUser(members []api.Member) (User, error) {
	var user User
	problems := userKind.read(&user, members)
	userKind.check(problems, 0, givenIn(members), nil)
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
		case m.Name == "propertyId", m.Name == "owner": // a patch cannot change these
			own = append(own, m)
		case m.Value.IsNull() && !m.Repeated && slices.Contains(api.PropertyPatchFields(), m.Name):
			// it keeps its default
		default:
			shared = append(shared, m)
		}
	}
	problems := PropertyKind.read(&property, own)
	patch, err := api.ParsePropertyPatch(shared)
	addNew(problems, err)
	patch.Apply(&property.Property)
	isGiven := givenIn(members)
	if isGiven("propertyId") {
		property.Row.Absent = PropertyKind.absent(members)
	}
	PropertyKind.check(problems, property.Row.Absent, func(name string) bool {
		return isGiven(name) && name != "owner" || name == "owner" && property.Owner != ""
	}, property.Validate())
	return property, problems.Err()
}

// PerkFields returns the names of a perk record's fields in their order.
func PerkFields() []string { return slices.Clone(PerkKind.names) }

// CategoryFields returns the names of a category record's fields in their order.
func CategoryFields() []string { return slices.Clone(categoryKind.names) }

// UserFields returns the names of a user record's fields in their order.
func UserFields() []string { return slices.Clone(userKind.names) }

// PropertyFields returns the names of a property record's fields in their order.
func PropertyFields() []string { return slices.Clone(PropertyKind.names) }

// read sets the fields of a record, to which record points, and returns what is wrong with the members.
func (k Kind) read(record any, members []api.Member) api.FieldErrors {
	problems, fields := api.FieldErrors{}, reflect.ValueOf(record).Elem()
	for _, m := range members {
		i := slices.Index(k.names, m.Name)
		if i < 0 {
			problems.Add(m.Name, "is not a field of this record; the fields are %s", strings.Join(k.names, ", "))
			continue
		}
		if m.Repeated {
			problems.Add(m.Name, "is given more than once")
		}
		if m.Value.IsNull() {
			continue
		}
		if problem := readValue(m.Value, fields.FieldByIndex(k.index[i])); problem != "" {
			problems.Add(m.Name, "%s", problem)
		}
	}
	return problems
}

// readValue sets a field to a value, or returns what is wrong with it.
func readValue(v api.Value, field reflect.Value) (problem string) {
	if field.Kind() == reflect.Pointer {
		value := reflect.New(field.Type().Elem())
		if problem = readValue(v, value.Elem()); problem == "" {
			field.Set(value)
		}
		return problem
	}
	switch into := field.Addr().Interface().(type) {
	case *string:
		problem = v.Text(into)
	case *Approval:
		problem = v.Text((*string)(into))
	case *int64:
		problem = v.Int(into)
	case *float64:
		problem = v.Float(into)
	case *api.Hold:
		problem = v.Hold(into)
	case *time.Time:
		problem = v.Millisecond(into)
	default:
		panic(fmt.Sprintf("a record cannot have a %T", into))
	}
	return problem
}

// givenIn returns a function that tells whether the members have a name, with a value that is not null.
func givenIn(members []api.Member) func(name string) bool {
	return func(name string) bool {
		return slices.ContainsFunc(members, func(m api.Member) bool { return m.Name == name && !m.Value.IsNull() })
	}
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
func (k Kind) check(problems api.FieldErrors, absent Fields, isGiven func(name string) bool, whole error) {
	for i, name := range k.names {
		if k.needs.Has(i) && !isGiven(name) && problems[name] == nil {
			problems.Add(name, "is required")
		}
	}
	addNew(problems, whole)
	for i, name := range k.names {
		if (absent & k.needs).Has(i) {
			delete(problems, name)
		}
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
