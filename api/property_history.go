package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"sync"
	"time"
)

// The actions that leave a version of a listing or a perk.
const (
	VersionCreated  = "created"
	VersionImported = "imported"
	VersionUpdated  = "updated"
	VersionDeleted  = "deleted"
	VersionRestored = "restored"
	VersionStock    = "stock" // of a perk
)

// PropertyVersion is a change of a listing, with the ETag of the version that it left.
type PropertyVersion struct {
	ETag     *string   `json:"etag"` // nil after a deletion
	At       time.Time `json:"at"`
	ClientID *string   `json:"client_id"` // that made the change; nil for the operator
	Actor    *string   `json:"actor"`     // who made it, as the client said; nil if it named nobody
	Action   string    `json:"action"`
	// Changed, Before and After are the fields that differ, in the order of Property. If the listing did not live
	// before or after, that one is null, the other is the whole listing, and Changed is empty.
	Changed []string        `json:"changed"` // never nil on the wire
	Before  json.RawMessage `json:"before"`
	After   json.RawMessage `json:"after"`
}

// MarshalJSON writes the time as wireTime does.
func (v PropertyVersion) MarshalJSON() ([]byte, error) { return EncodeJSON(v) }

func (v PropertyVersion) wire() any {
	type fields PropertyVersion
	return struct {
		ETag *string  `json:"etag"`
		At   wireTime `json:"at"`
		fields
	}{v.ETag, wireTime(v.At), fields(v)}
}

// SetChange sets Changed, Before and After from the listing as it was before and is after. nil is one that did not live
// then. Unlike PropertyChanges it tells 250 from 250.00, because their ETags differ.
func (v *PropertyVersion) SetChange(before, after *Property) error {
	return setChange(v, propertyFields(), before, after)
}

func setChange[R, P any](v *PropertyVersion, table recordFields[R, P], before, after *R) (err error) {
	v.Changed = []string{}
	was, is := any(before), any(after)
	if before != nil && after != nil {
		lost := table.changes(after, before, (*recordField[R, P]).isEqual)
		set := table.changes(before, after, (*recordField[R, P]).isEqual)
		v.Changed, was, is = append(v.Changed, table.in(&set)...), lost, set
	}
	if v.Before, err = EncodeJSON(was); err != nil {
		return err
	}
	v.After, err = EncodeJSON(is)
	return err
}

// UnmarshalJSON adds what another service may leave out. It refuses anything but an object or null as Before and After.
func (v *PropertyVersion) UnmarshalJSON(text []byte) error {
	type fields PropertyVersion
	if err := json.Unmarshal(text, (*fields)(v)); err != nil {
		return err
	}
	for name, part := range map[string]*json.RawMessage{"before": &v.Before, "after": &v.After} {
		if *part == nil {
			*part = json.RawMessage("null")
		}
		if first := (*part)[0]; first != '{' && first != 'n' {
			return fmt.Errorf("%s must be an object or null", name)
		}
	}
	if v.Changed == nil {
		v.Changed = []string{}
	}
	return nil
}

// PropertyRestore is the body of POST /partners/properties/{propertyId}/restore. It names one version, or none for the
// last before the deletion.
type PropertyRestore struct {
	ETag string    `json:"etag,omitempty"`
	AsOf time.Time `json:"as_of,omitzero"`
}

// ParsePropertyRestore reads and checks the body of a restore, which may be empty.
func ParsePropertyRestore(body []byte, now time.Time) (restore PropertyRestore, err error) {
	var members []Member
	if len(bytes.TrimSpace(body)) > 0 {
		if members, err = ParseObject(body); err != nil {
			return restore, err
		}
	}
	fields := FieldErrors{}
	for _, m := range members {
		switch m.Name {
		case "etag":
			if m.Value.Text(&restore.ETag); !entityTag().MatchString(restore.ETag) {
				fields.Add(m.Name, `must be an ETag with its quotes, such as "\"MjAyNi0wMy0wMlQwOTow\""`)
			}
		case "as_of":
			fields.check(m.Name, m.Value.past(now, &restore.AsOf))
		default:
			fields.Add(m.Name, "is not a field of this request; the fields are etag and as_of")
		}
		fields.checkRepeated(m)
	}
	if len(members) > 1 && len(fields) == 0 {
		fields.Add("as_of", "must not be given together with etag: name one version")
	}
	return restore, fields.Err()
}

var entityTag = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(W/)?"[!#-~]+"$`) })

// past reads a time that is not after now, as the end of its millisecond: in responses, times are cut to milliseconds.
// So it is never the zero time, which means none.
func (v Value) past(now time.Time, into *time.Time) string {
	if problem := v.Time(into); problem != "" {
		return problem
	}
	if into.After(now) {
		return "must not be in the future: it is " + now.UTC().Format(time.RFC3339) + " here"
	}
	*into = into.Truncate(time.Millisecond).Add(time.Millisecond - time.Microsecond)
	return ""
}

// HeaderAsOf is the header that repeats the parameter as_of. Without it, the response is about the listing as it is
// now.
const HeaderAsOf = "X-As-Of"

// AsOf returns the parameter as_of, which is not after now; zero without one.
func (p *Parameters) AsOf(now time.Time) (at time.Time) {
	if text, given := p.Given("as_of"); given {
		p.Fields.check("as_of", TextValue(text).past(now, &at))
	}
	return at
}
