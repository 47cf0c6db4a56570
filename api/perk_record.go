package api

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"sync"
	"time"
)

// Approval says whether a redemption of a perk must be approved.
type Approval string

// A redemption is approved at once, or pending until somebody decides.
const (
	ApprovalAuto   Approval = "auto"
	ApprovalManual Approval = "manual"
)

func approvalRule(approval Approval) string {
	if approval != ApprovalAuto && approval != ApprovalManual {
		return "must be " + string(ApprovalAuto) + " or " + string(ApprovalManual)
	}
	return ""
}

// PerkRecord is a perk with the fields that only the operator sees, and who may change perks.
type PerkRecord struct {
	Perk
	Lat      *float64 `json:"lat"` // degrees; both or neither
	Lng      *float64 `json:"lng"`
	Stock    *int64   `json:"stock"` // total units, including redeemed ones; nil means unlimited
	Approval Approval `json:"approval"`
	HoldFor  *Hold    `json:"hold_for"` // how long a redemption can wait for a decision; nil means for ever
	Row      Row      `json:"-"`
}

// Fields is a set of the fields of one kind of record, a bit for each in the order of its JSON.
type Fields uint32

// Has tells whether the i-th field is in the set.
func (f Fields) Has(i int) bool { return f&(1<<i) != 0 }

// Row is the line of a record in its file, and the fields that it lacks. The zero Row belongs to a complete record.
type Row struct {
	Line   int    // 0 without a file
	Absent Fields // a known record keeps its own; a new one takes the record's
}

// MarshalJSON writes the fields of the perk, then those that only the operator sees.
func (p PerkRecord) MarshalJSON() ([]byte, error) {
	return JoinObjects(p.Perk, struct {
		Lat      *float64 `json:"lat"`
		Lng      *float64 `json:"lng"`
		Stock    *int64   `json:"stock"`
		Approval Approval `json:"approval"`
		HoldFor  *Hold    `json:"hold_for"`
	}{p.Lat, p.Lng, p.Stock, p.Approval, p.HoldFor})
}

// PerkPatch is a partial update of a perk: absent fields stay as they are.
type PerkPatch struct {
	Title        Optional[string]     `json:"title,omitzero"`
	Description  Optional[string]     `json:"description,omitzero"`
	Category     Optional[*string]    `json:"category,omitzero"`
	MerchantName Optional[*string]    `json:"merchant_name,omitzero"`
	ImageURL     Optional[*string]    `json:"image_url,omitzero"`
	DiscountText Optional[*string]    `json:"discount_text,omitzero"`
	Terms        Optional[*string]    `json:"terms,omitzero"`
	ValidFrom    Optional[*time.Time] `json:"valid_from,omitzero"`
	ValidTo      Optional[*time.Time] `json:"valid_to,omitzero"`
	City         Optional[string]     `json:"city,omitzero"`
	Lat          Optional[*float64]   `json:"lat,omitzero"`
	Lng          Optional[*float64]   `json:"lng,omitzero"`
	Stock        Optional[*int64]     `json:"stock,omitzero"`
	Approval     Optional[Approval]   `json:"approval,omitzero"`
	HoldFor      Optional[*Hold]      `json:"hold_for,omitzero"`
}

// perkField is a field of a perk. A new one needs a line in PerkRecord, its MarshalJSON, PerkPatch and perkFields.
type perkField = recordField[PerkRecord, PerkPatch]

var perkFields = sync.OnceValue(func() recordFields[PerkRecord, PerkPatch] {
	return recordFields[PerkRecord, PerkPatch]{
		text(LineField, "title", "Title", "the title", "what users read first", 1, maxTitle,
			func(p *PerkRecord) *string { return &p.Title }, func(p *PerkPatch) *Optional[string] { return &p.Title }),
		text(TextField, "description", "Description", "the description", "", 1, maxLongText,
			func(p *PerkRecord) *string { return &p.Description },
			func(p *PerkPatch) *Optional[string] { return &p.Description }),
		optionalText(LineField, "category", "Category", "the name of the category; empty for none",
			"a new name makes a category; empty for none", maxShortText,
			func(p *PerkRecord) **string { return &p.Category },
			func(p *PerkPatch) *Optional[*string] { return &p.Category }),
		optionalText(LineField, "merchant_name", "Merchant", "the name of the merchant; empty for none", "", maxTitle,
			func(p *PerkRecord) **string { return &p.MerchantName },
			func(p *PerkPatch) *Optional[*string] { return &p.MerchantName }),
		other(LineField, "image_url", "Image", "the address of an image; empty for none",
			"such as https://example.com/1.jpg", Value.textOrNull, orNull(URLRule),
			func(p *PerkRecord) **string { return &p.ImageURL },
			func(p *PerkPatch) *Optional[*string] { return &p.ImageURL }),
		optionalText(LineField, "discount_text", "Discount", "what the perk gives; empty for none", "such as 20% off",
			maxTitle,
			func(p *PerkRecord) **string { return &p.DiscountText },
			func(p *PerkPatch) *Optional[*string] { return &p.DiscountText }),
		optionalText(TextField, "terms", "Terms", "the terms; empty for none", "", maxLongText,
			func(p *PerkRecord) **string { return &p.Terms },
			func(p *PerkPatch) *Optional[*string] { return &p.Terms }),
		other(TimeField, "valid_from", "Valid from", "when it can first be redeemed; empty for any time",
			"such as 2026-01-31T09:00:00Z; empty for any time", Value.timeOrNull, nil,
			func(p *PerkRecord) **time.Time { return &p.ValidFrom },
			func(p *PerkPatch) *Optional[*time.Time] { return &p.ValidFrom }),
		other(TimeField, "valid_to", "Valid until", "when it expires; empty for never",
			"such as 2026-01-31T09:00:00Z; empty for never", Value.timeOrNull, nil,
			func(p *PerkRecord) **time.Time { return &p.ValidTo },
			func(p *PerkPatch) *Optional[*time.Time] { return &p.ValidTo }),
		text(LineField, "city", "City", "the city", "", 1, maxShortText,
			func(p *PerkRecord) *string { return &p.City }, func(p *PerkPatch) *Optional[string] { return &p.City }),
		number("lat", "Latitude", "the latitude in degrees; empty for none", "such as 53.8",
			Value.floatOrNull, orNull(LatRule),
			func(p *PerkRecord) **float64 { return &p.Lat }, func(p *PerkPatch) *Optional[*float64] { return &p.Lat }),
		number("lng", "Longitude", "the longitude in degrees; empty for none", "such as -1.55",
			Value.floatOrNull, orNull(LngRule),
			func(p *PerkRecord) **float64 { return &p.Lng }, func(p *PerkPatch) *Optional[*float64] { return &p.Lng }),
		number("stock", "Stock", "how many units there are, redeemed ones included; empty for no limit",
			"units in all; empty for no limit", Value.stockOrNull, orNull(stockRule),
			func(p *PerkRecord) **int64 { return &p.Stock }, func(p *PerkPatch) *Optional[*int64] { return &p.Stock }),
		other(LineField, "approval", "Approval", "auto, or manual if somebody decides about each redemption",
			"auto or manual", func(v Value, into *Approval) string { return v.Text((*string)(into)) },
			must(approvalRule),
			func(p *PerkRecord) *Approval { return &p.Approval },
			func(p *PerkPatch) *Optional[Approval] { return &p.Approval }),
		other(LineField, "hold_for", "Hold for", "how long a redemption can wait for approval; empty for no limit",
			"such as 48h; empty for no limit", Value.holdOrNull, nil,
			func(p *PerkRecord) **Hold { return &p.HoldFor },
			func(p *PerkPatch) *Optional[*Hold] { return &p.HoldFor }),
	}
})

func optionalText(
	kind FieldKind, name, label, help, hint string, longest int, of func(*PerkRecord) **string,
	in func(*PerkPatch) *Optional[*string],
) perkField {
	rule := func(text string) string { return textRule(text, 1, longest) }
	field := other(kind, name, label, help, hint, Value.textOrNull, orNull(rule), of, in)
	field.MaxLength = longest
	return field
}

func stockRule(units int64) string {
	if units < 0 {
		return "must not be negative"
	}
	return ""
}

// PerkFields returns the fields of a perk that can be changed, in the order of PerkRecord.
func PerkFields() []Field { return perkFields().fields() }

// PerkPatchFields returns the names of these fields.
func PerkPatchFields() []string { return perkFields().names() }

// PerkFieldNamed returns a field by its name on the wire.
func PerkFieldNamed(name string) (field Field, known bool) {
	if field := perkFields().named(name); field != nil {
		return field.Field, true
	}
	return Field{Name: name}, false
}

// perkOwnFields are those that the service sets.
var perkOwnFields = []string{"id", "created_at", "updated_at"}

// Validate checks the rules of all fields.
func (p *PerkRecord) Validate() error {
	fields := FieldErrors{}
	if p.ID != "" {
		fields.check("id", PerkIDRule(p.ID))
	}
	perkFields().check(fields, p)
	if p.ValidFrom != nil && p.ValidTo != nil && !p.ValidFrom.Before(*p.ValidTo) {
		fields.Add("valid_to", "must be after valid_from")
	}
	if p.Lat != nil && p.Lng == nil {
		fields.Add("lng", "is required with lat")
	}
	if p.Lng != nil && p.Lat == nil {
		fields.Add("lat", "is required with lng")
	}
	return fields.Err()
}

// Texts returns the value of a field as texts that ParsePerkPatch reads back without loss: none for null.
func (p PerkRecord) Texts(name string) []string {
	if field := perkFields().named(name); field != nil {
		return field.texts(&p)
	}
	return nil
}

// Has tells whether a field has the value, valid or not.
func (p PerkRecord) Has(name string, value Value) bool {
	field, _ := PerkFieldNamed(name)
	return hasTexts(field, p.Texts(name), value)
}

// ReadPerk is json.Unmarshal, for what reads records of several kinds.
func ReadPerk(body []byte, into *PerkRecord) error {
	*into = PerkRecord{}
	return json.Unmarshal(body, into)
}

// With returns the perk with the patch applied.
func (p PerkRecord) With(patch PerkPatch) PerkRecord {
	patch.Apply(&p)
	return p
}

// ParseNewPerk reads a perk that is to be created. It needs a title, a description and a city; the service chooses the
// id of one without. The error is as that of ParsePerkPatch.
func ParseNewPerk(members []Member) (PerkRecord, error) {
	perk, fields, rest := PerkRecord{Approval: ApprovalAuto}, FieldErrors{}, []Member{}
	for _, m := range members {
		switch {
		case m.Name == "id":
			if problem := m.Value.Text(&perk.ID); problem != "" {
				fields.Add(m.Name, "%s", problem)
			} else {
				fields.check(m.Name, PerkIDRule(perk.ID))
			}
			fields.checkRepeated(m)
		case slices.Contains(perkOwnFields, m.Name):
			fields.Add(m.Name, "is set by the service; leave it out")
		default:
			rest = append(rest, m)
		}
	}
	patch, err := ParsePerkPatch(rest)
	addProblems(fields, err)
	for name, given := range map[string]bool{"title": patch.Title.Set, "description": patch.Description.Set,
		"city": patch.City.Set} {
		if !given && len(fields[name]) == 0 {
			fields.Add(name, "is required")
		}
	}
	patch.Apply(&perk)
	addProblems(fields, perk.Validate())
	return perk, fields.Err()
}

// addProblems adds those of fields that have none yet.
func addProblems(fields FieldErrors, err error) {
	if invalid, isInvalid := err.(*Error); isInvalid {
		known := maps.Clone(fields)
		maps.Copy(fields, invalid.Fields)
		maps.Copy(fields, known)
	}
}

// ParsePerkPatch reads a patch and checks the rules of its fields, as ParsePropertyPatch does. Rules between fields
// depend on the perk: Validate checks them.
func ParsePerkPatch(members []Member) (PerkPatch, error) {
	return perkFields().parse(members, "a perk", perkOwnFields...)
}

// ParsePerkPatchOf is ParsePerkPatch for the perk with that id. The members may contain the id, so that what was read
// can be sent back without its times.
func ParsePerkPatchOf(id string, members []Member) (PerkPatch, error) {
	return ParsePerkPatch(slices.DeleteFunc(slices.Clone(members), func(m Member) bool {
		var given string
		return m.Name == "id" && !m.Repeated && m.Value.Text(&given) == "" && SameID(given, id)
	}))
}

// PerkChanges returns the patch that changes before to after.
func PerkChanges(before, after PerkRecord) PerkPatch {
	return perkFields().changes(&before, &after, (*perkField).isEqual)
}

// Fields returns the names of the fields in the patch, in the order of PerkRecord.
func (p PerkPatch) Fields() []string { return perkFields().in(&p) }

// Only returns the patch reduced to the named fields.
func (p PerkPatch) Only(names ...string) PerkPatch { return perkFields().only(&p, names) }

// IsEmpty tells whether the patch changes nothing.
func (p PerkPatch) IsEmpty() bool { return len(p.Fields()) == 0 }

// Apply sets the fields of the patch in the perk.
func (p PerkPatch) Apply(to *PerkRecord) { perkFields().apply(&p, to) }

// IsAppliedTo tells whether applying the patch to the perk would change nothing.
func (p PerkPatch) IsAppliedTo(held PerkRecord) bool {
	return PerkChanges(held, held.With(p)).IsEmpty()
}

// PerkVersion is a change of a perk, with the ETag of the version that it left. Before and After have the fields of a
// PerkRecord.
type PerkVersion = PropertyVersion

// SetPerkChange is SetChange for a perk.
func (v *PropertyVersion) SetPerkChange(before, after *PerkRecord) error {
	return setChange(v, perkFields(), before, after)
}

// PerkStock is how many units of a perk there are.
type PerkStock struct {
	Stock    *int64   `json:"stock"` // in all; nil means unlimited
	Held     int64    `json:"held"`  // by redemptions that are approved or pending
	Left     *int64   `json:"left"`  // nil means unlimited
	Approval Approval `json:"approval"`
}

// StockWith returns the perk's stock if that many units are held.
func (p PerkRecord) StockWith(held int64) PerkStock {
	stock := PerkStock{Stock: p.Stock, Held: held, Approval: p.Approval}
	if p.Stock != nil {
		stock.Left = new(max(0, *p.Stock-held))
	}
	return stock
}

// StockChange is the body of POST /partners/perks/{perkId}/stock: one of both.
type StockChange struct {
	Add Optional[int64]  `json:"add,omitzero"` // units, or if negative take them away
	Set Optional[*int64] `json:"set,omitzero"` // units in all; null for no limit
}

// ParseStockChange reads and checks a change of the stock.
func ParseStockChange(body []byte) (change StockChange, err error) {
	members, err := ParseObject(body)
	if err != nil {
		return change, err
	}
	fields := FieldErrors{}
	for _, m := range members {
		switch m.Name {
		case "add":
			problem := m.Value.Int(&change.Add.Value)
			if problem == "" && change.Add.Value == 0 {
				problem = "must not be 0"
			}
			fields.check(m.Name, problem)
			change.Add.Set = true
		case "set":
			problem := m.Value.stockOrNull(&change.Set.Value)
			if problem == "" && change.Set.Value != nil {
				problem = stockRule(*change.Set.Value)
			}
			fields.check(m.Name, problem)
			change.Set.Set = true
		default:
			fields.Add(m.Name, "is not a field of this request; the fields are add and set")
		}
		fields.checkRepeated(m)
	}
	switch {
	case len(fields) > 0:
	case change.Add.Set == change.Set.Set && change.Add.Set:
		fields.Add("set", "must not be given together with add: send one of both")
	case change.Add.Set == change.Set.Set:
		fields.Add("add", "is required, or set")
	}
	return change, fields.Err()
}

// Apply returns the stock after the change. It fails if there would be more units than a number can hold, or if units
// are added to a stock without limit.
func (c StockChange) Apply(stock *int64) (*int64, error) {
	switch {
	case c.Set.Set:
		return c.Set.Value, nil
	case stock == nil:
		return nil, Errorf(CodeConflict, "The perk has no limit, so nothing can be added to its stock. Set a number.")
	case c.Add.Value > 0 && *stock > math.MaxInt64-c.Add.Value:
		return nil, FieldErrorf("add", "must be at most %d: there are %d units already", math.MaxInt64-*stock, *stock)
	}
	return new(*stock + c.Add.Value), nil
}
