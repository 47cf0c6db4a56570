package store

// PerkKeys is what a perk is found and sorted by, beside the fields that are so by themselves. Drivers keep it next to the
// perk.
type PerkKeys struct {
	Title, City            string  // folded
	Category, MerchantName *string // folded; nil where the perk has none
	Cell                   *int    // of the grid; nil without a position
	Words                  []string
}

// Keys computes the perk's keys.
func (p PerkRecord) Keys() PerkKeys {
	return PerkKeys{
		Title: Fold(p.Title), City: Fold(p.City), Category: foldOrNil(p.Category), MerchantName: foldOrNil(p.MerchantName),
		Cell: cellOrNil(p.Lat, p.Lng), Words: p.words(),
	}
}

// words are those of title, description and merchant_name, which a search looks at.
func (p PerkRecord) words() []string {
	text := p.Title + " " + p.Description
	if p.MerchantName != nil {
		text += " " + *p.MerchantName
	}
	return Words(text)
}

func foldOrNil(text *string) *string {
	if text == nil {
		return nil
	}
	folded := Fold(*text)
	return &folded
}

func cellOrNil(lat, lng *float64) *int {
	if lat == nil || lng == nil {
		return nil
	}
	cell := Cell(*lat, *lng)
	return &cell
}
