package property_test

import (
	"strconv"
	"testing"

	"example.com/perks/api"
	"example.com/perks/api/client"
)

// creations are sessions that create a property beside 42 to 48 and 90.
var creations = map[string]string{
	"a property is created and opened": `
		N                => New property | A title and a price are needed. | ctrl+s create
		settle
		golden: create-form
		unsaved:
		ctrl+s           => > Title | ! is required
		fill: title Loft
		fill: price_pw 12,5 => Use a point: 12.5
		ctrl+s           => ! Fix first: price per week.
		fill: price_pw 310.00
		fill: city York
		unsaved: The property is not created yet.
		there are: 8
		                 => Not created yet. Everybody will see it at http
		ctrl+s           => Done: Created property | Loft. ctrl+x deletes it. | Price per week 310.00 | > Title Loft
		there are: 9
		esc              => row`,

	"what the service refuses is shown beside its field": `
		N $filled
		service: refuses: POST
		ctrl+s           => Not created: Some values are not valid.
		                 => season is closed | > City | is outside of our region
		form: title=Loft | city=Atlantis
		there are: 8
		service: works
		fill: city York
		ctrl+s           => Done: Created property
		there are: 9`,

	"a lost reply is settled by the key": `
		N $filled
		service: loses replies: POST
		ctrl+s           => Unknown outcome. | t retries safely: it can't be created twice. x stops checking.
		form:
		unsaved: It is unknown whether the property was created.
		settle
		says: t retries safely
		t                => Unknown outcome.
		settle
		service: works
		t                => Done: Created property | A reply was lost; the service confirmed it.
		there are: 9`,

	"what never arrived is retried": `
		N $filled
		service: drops: POST
		ctrl+s           => Unknown outcome.
		settle
		service: works
		t                => Done: Created property
		there are: 9`,

	"a doubt that is given up is said again": `
		N $filled
		service: loses replies: POST
		ctrl+s           => Unknown outcome.
		settle x         => It may have been created. Look in the list
		form: title=Loft
		service: works
		ctrl+s           => Create this property? | It may have been created already: the outcome is unknown.
		                 => Loft | Atlantis | 310.00 per week | Everybody will see it at http | y create it
		settle
		says: y create it
		enter            => Create this property?
		n                => It may have been created.
		ctrl+s y         => Done: Created property`,

	"leaving asks": `
		N "!" esc        => Discard the new property? | The property is not created yet.
		y                => row 1 of 8
		there are: 8`,

	"a second submit is ignored": `
		N $filled
		service: holds: POST
		ctrl+s ctrl+s    => Creating the property ... | It is being created.
		unsaved: The property is being created. You would not see the outcome.
		service: works   => Done: Created property
		there are: 9`,
}

func TestCreations(t *testing.T) {
	t.Parallel()
	for name, flow := range creations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := startMany(t)
			o.Commands["there are"] = func(want string) {
				page, err := o.colleague.Properties(t.Context(), api.PropertyFilter{}, client.ListOptions{})
				if got := strconv.FormatInt(page.Meta.Total, 10); got != want || err != nil {
					t.Errorf("there are %s properties, want %s (%v)", got, want, err)
				}
			}
			o.Play(flow, "$filled", `=> New property
				fill: title Loft
				fill: price_pw 310.00
				fill: city Atlantis`)
		})
	}
}
