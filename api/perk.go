package api

import "time"

// Perk is an offer that a partner's users can redeem.
type Perk struct {
	ID           string     `json:"id"`
	Title        string     `json:"title"`
	Description  string     `json:"description"`
	Category     *string    `json:"category"`
	MerchantName *string    `json:"merchant_name"`
	ImageURL     *string    `json:"image_url"`
	DiscountText *string    `json:"discount_text"`
	Terms        *string    `json:"terms"`
	ValidFrom    *time.Time `json:"valid_from"`
	ValidTo      *time.Time `json:"valid_to"`
	City         string     `json:"city"`
	CreatedAt    time.Time  `json:"created_at"`
	UpdatedAt    time.Time  `json:"updated_at"`
}

// Category is a group of perks. A perk's Category field holds the name, not the id.
type Category struct {
	ID   string `json:"id"`
	Name string `json:"category_name"`
}

// Validate checks every rule that a perk's own fields obey, whoever made it.
func (p *Perk) Validate() error {
	fields := FieldErrors{}
	if p.ID != "" {
		fields.check("id", PerkIDRule(p.ID))
	}
	fields.check("title", textRule(p.Title, 1, maxTitle))
	fields.check("description", textRule(p.Description, 1, maxLongText))
	fields.check("city", textRule(p.City, 1, maxShortText))
	fields.checkOptional("category", p.Category, func(s string) string { return textRule(s, 1, maxShortText) })
	fields.checkOptional("merchant_name", p.MerchantName, func(s string) string { return textRule(s, 1, maxTitle) })
	fields.checkOptional("image_url", p.ImageURL, URLRule)
	fields.checkOptional("discount_text", p.DiscountText, func(s string) string { return textRule(s, 1, maxTitle) })
	fields.checkOptional("terms", p.Terms, func(s string) string { return textRule(s, 1, maxLongText) })
	if p.ValidFrom != nil && p.ValidTo != nil && !p.ValidFrom.Before(*p.ValidTo) {
		fields.Add("valid_to", "must be after valid_from")
	}
	return fields.Err()
}

// Validate checks the rules of a category's fields.
func (c *Category) Validate() error {
	fields := FieldErrors{}
	fields.check("id", PerkIDRule(c.ID))
	fields.check("category_name", textRule(c.Name, 1, maxShortText))
	return fields.Err()
}
