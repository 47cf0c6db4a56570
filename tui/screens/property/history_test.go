package property_test

import (
	"strings"
	"testing"
)

// pastFlows are sessions on the page of property 42 and its history.
var pastFlows = map[string]string{
	"a version is restored after a review": `
		$saved
		h                => History 2 · newest | updated | title | Bright flat → Mine
		j b              => 1 field changes: Title | Restore this in property 42? ctrl+s restores, esc cancels
		                 => - Mine | + Bright flat
		got:
		esc              => Title Mine
		h                => History 2
		j enter          => Imported just now by operator | + Bright flat
		b                => - Mine | + Bright flat
		ctrl+s           => Done: Restored property 42: title. | > Title Bright flat
		got: POST restore
		stored: {"title":"Bright flat"}
		settle h         => History 3 | restored | Mine → Bright flat
		h                => > Title Bright flat | tab changes
		z                => Undo this in property 42? | - Bright flat | + Mine
		ctrl+s           => Undone in property 42: title.
		stored: {"title":"Mine"}`,

	"what was changed is below the form, where a change is opened and restored": `
		$saved
		size: 120x40     => > Title | History 2 · newest | updated | Bright flat → Mine
		e                => ctrl+s save | History 2
		esc tab          => tab listing
		enter            => Updated just now by | - Bright flat | + Mine
		esc esc          => tab listing | Title
		j b              => 1 field changes: Title | Restore this in property 42? | + Bright flat
		ctrl+s           => Restored property 42: title. | History 3 | Mine → Bright flat
		got: POST restore
		stored: {"title":"Bright flat"}
		click: > Title   => tab changes | enter edit
		click: updated   => tab listing
		size: 80x20      => History 3 | ≠ Title:
		tab              => > Title | ≠ History 3`,

	"a version that is there is not restored": `
		h                => History 1
		b                => Nothing to restore: property 42 is as it was then.
		got:`,

	"a long text is restored, whose compressed form has an ETag of its own": `
		others: {"description":"$long"}
		others: {"description":"Short."}
		h                => History 3
		j b              => Restore this in property 42?
		G ctrl+s         => Restored property 42: description.
		stored: {"description":"$long"}`,

	"what somebody else changes during a review is not overwritten": `
		$saved
		h                => History 2
		j b              => Restore this in property 42?
		others: {"city":"York"}
		ctrl+s           => Not restored: somebody else changed it. Changed: city from Leeds to York. | 2 fields change
		stored: {"title":"Mine","city":"York"}
		ctrl+s           => Restored property 42: title, city.
		stored: {"title":"Bright flat","city":"Leeds"}`,

	"a deletion is taken back on the same screen": `
		ctrl+x "42\n"    => Deleted property 42, Bright flat. b restores it. | Deleted just now by | b restore  z undo
		h                => History 2 | deleted
		enter            => - Bright flat
		esc esc b        => Property 42 is deleted. This brings it back. | + Bright flat | ↓
		G ctrl+s         => Done: Restored property 42. | > Title Bright flat
		got: DELETE | POST restore
		stored: {"title":"Bright flat","price_pw":"250.50"}
		h                => History 3 | restored`,

	"z takes back a deletion": `
		ctrl+x "42\n"    => b restores it.
		z                => This brings it back.
		G ctrl+s         => Restored property 42.
		got: DELETE | POST restore`,

	"somebody restores it during the review": `
		ctrl+x "42\n"    => b restores it.
		b                => This brings it back.
		restored:
		others: {"city":"York"}
		G ctrl+s         => Not restored: somebody else changed it. It is not deleted any more. | 1 field changes: City
		stored: {"city":"York"}
		esc              => City York`,

	"a deleted property is found by its id": `
		deleted:
		1 ctrl+k "42"    => Property: Bright flat, 42, deleted just now
		up up up enter   => Property 42, Bright flat, was deleted. | b restores it.
		b                => This brings it back.
		G ctrl+s         => Restored property 42. | Title Bright flat`,

	"a lost reply to a restoration is checked": `
		$saved
		h                => History 2
		j b              => Restore this
		service: loses replies: POST
		ctrl+s           => Restored property 42: title. The reply was lost; the property has your changes.
		stored: {"title":"Bright flat"}`,

	"a restoration that never arrived is sent once": `
		$saved
		h                => History 2
		j b              => Restore this
		service: drops: POST
		ctrl+s           => Unknown outcome: the property is not changed yet. | s check
		service: works
		ctrl+s           => Restored property 42: title.
		settle h         => History 3`,

	"z works after a restart": `
		$saved
		reopen:          => > Title Mine
		z                => Undo this in property 42? | - Mine | + Bright flat
		ctrl+s           => Undone in property 42: title.
		stored: {"title":"Bright flat"}
		settle
		reopen:          => > Title Bright flat
		z                => - Bright flat | + Mine`,

	"z keeps what somebody else changed since": `
		$saved
		reopen:          => > Title Mine
		by another: {"title":"Theirs","city":"York"}
		z                => > Title, changed by both | theirs: Theirs | mine: Bright flat
		t ctrl+s         => Nothing to save
		stored: {"title":"Theirs","city":"York"}`,

	"nothing of somebody else's is undone": `
		by another: {"title":"Theirs"}
		z                => Nothing to undo: no change of property 42 is yours.`,

	// At a service without history

	"what was saved before a restart is undone without a history": `
		service: keeps no history
		z                => Nothing to undo: nothing was saved here yet, and the service keeps no history.
		$saved
		reopen:          => > Title Mine
		by another: {"title":"Mine","city":"York"}
		z                => Undo this in property 42? | - Mine | + Bright flat
		ctrl+s           => Undone in property 42: title.
		stored: {"title":"Bright flat","city":"York"}`,

	"without a history z keeps what somebody else changed": `
		service: keeps no history
		$saved
		reopen:          => > Title Mine
		by another: {"title":"Theirs"}
		z                => > Title, changed by both | theirs: Theirs | mine: Bright flat
		t ctrl+s         => Nothing to save
		stored: {"title":"Theirs"}`,

	"where there is no history, nothing is offered that would be refused": `
		service: keeps no history
		h                => This service has no history of listings | ≠ restore | ≠ retries
		esc
		ctrl+x "42\n"    => To restore it, ask the operator: perksd property restore 42
		screens: 1
		open: 42         => Property 42 was not loaded. | ≠ b restore`,
}

func TestHistoryFlows(t *testing.T) {
	for name, flow := range pastFlows {
		t.Run(name, func(t *testing.T) {
			start(t, "42").Play(flow, append(beginnings,
				"$saved", `e => > Title
					fill: title Mine
					ctrl+s ctrl+s => Saved property 42: title.
					settle
					got: PATCH {"title":"Mine"}`,
				"$long", strings.Repeat("A long text. ", 120))...)
		})
	}
}
