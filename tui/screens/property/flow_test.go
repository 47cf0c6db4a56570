package property_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/tui"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
)

// flows are sessions on the page of property 42.
var flows = map[string]string{
	"a tab is as it was left": `
		3                => Properties | price:
		"42\n"           => Properties | Property 42: Bright flat
		1                => 1 Perks | Property 42: Bright flat
		1                => find: words city: category:
		3                => Property 42: Bright flat | Price per week 250.50
		screens: 2
		3                => ≠ Price per week 250.50
		screens: 1`,

	// Editing

	"only changed fields are saved": `
		e                => > Title
		fill: price_pw 12,5 => ! Use a point: 12.5
		fill: images https://img.example/1.jpg
		enter enter "img.example/2.jpg" => ! Line 3: enter a full URL, such as https://…
		fill: images https://img.example/a,1.jpg
		enter "https://img.example/2.jpg" ctrl+s => Fix first: price per week.
		fill: price_pw 275.00
		fill: lat
		ctrl+s           => - 250.50 | + 275.00 | - 53.8008 | + (none)
		                 => 2 fields change: Price per week, Latitude | Save this in property 42? ctrl+s save
		unsaved: The changes to property 42 are not saved: price per week, latitude.
		esc              => >*Latitude
		ctrl+s ctrl+s    => Done: Saved property 42: price per week, latitude. | Price per week 275.00
		                 => Latitude (none) Longitude -1.5491
		got: PATCH {"price_pw":"275.00","lat":null}
		stored: {"price_pw":"275.00","lat":null,"description":"Two rooms.\nA bath.\n\nA view.\n\n"}
		unsaved:`,

	"nothing is sent without a change": `
		e
		fill: price_pw 250.5
		ctrl+s           => Nothing was changed.
		fill: price_pw 250.50
		esc              => Property 42: Bright flat
		got:`,

	"leaving the form asks about changes": `
		e "!" esc        => Discard your changes to title? | Property 42 stays as it was. | y discard   n keep editing
		                 => ≠ LIVE
		n                => >*Title
		form: title=Bright flat!
		esc              => Discard your changes to title?
		y                => Property 42: Bright flat | > Title`,

	"a refused value is shown beside its field": `
		service: refuses: PATCH
		e
		fill: city Atlantis
		fill: deposit 600
		ctrl+s ctrl+s    => Not saved | season is closed | >*City | is outside of our region
		form: city=Atlantis | deposit=600
		service: works
		fill: city York
		ctrl+s ctrl+s    => Saved property 42: city, deposit.
		stored: {"city":"York","deposit":600}`,

	"enter edits the field under the cursor": `
		G k k            => > Longitude
		k k up k k enter => > Price per week
		ctrl+u "275.00"  => >*Price per week | 1 changed: price per week
		ctrl+s           => 1 field changes: Price per week | - 250.50 | + 275.00
		ctrl+s           => Saved property 42: price per week. | > Price per week 275.00
		settle g         => > Title
		j e              => > Address
		esc              => > Address`,

	"a number that an edit begins at is replaced": `
		/ "price\n"      => > Price per week ▏250.50▏
		"275"            => >*Price per week 275▏
		tab              => > Deposit 500▏
		shift+tab "." "5" => >*Price per week 275.5▏
		ctrl+s ctrl+s    => Saved property 42: price per week.
		stored: {"price_pw":"275.50"}
		settle / "title\n" => > Title Bright flat▏
		esc / "price\n" left => > Price per week ▏275.5
		esc
		click: Bedrooms
		click: Bedrooms  => > Bedrooms 2▏`,

	"a field is found by its name": `
		/                => Edit which field? | Longitude
		"price\n" "275.00" ctrl+s ctrl+s => Saved property 42: price per week.
		stored: {"price_pw":"275.00"}
		settle / "long\n" => > Longitude
		esc              => > Longitude`,

	"the banner follows what is wrong": `
		e
		fill: price_pw 12,5
		fill: bedrooms many => ≠ Fix first
		ctrl+s           => ! Fix first: price per week, bedrooms. | >*Price per week | ╮ Title Bright flat
		backspace backspace => ! Fix first: bedrooms.
		fill: bedrooms 3 => ≠ Fix first | 2 changed: price per week (was 250.50), bedrooms (was 2)
		fill: bedrooms x => ≠ Fix first`,

	"a long text opens at its end": `
		G k enter        => > Description
		"Quiet."
		form: description="Two rooms.\nA bath.\n\nA view.\n\nQuiet."
		size: 80x40      => Two rooms. | A bath. | A view. | Quiet.`,

	// Changes of others

	"of a field that both changed, mine is kept": `
		$conflict
		ctrl+s           => Decide first about: title.
		m                => All decided.
		ctrl+s           => Done: Saved property 42
		stored: {"title":"My flat","city":"York","bedrooms":3}`,

	"of a field that both changed, theirs is kept": `
		$conflict
		t                => All decided.
		ctrl+s           => Done: Saved property 42
		stored: {"title":"Their flat","city":"York","bedrooms":3}`,

	"a merge begins again after another change": `
		$mine
		others: {"city":"York"}
		ctrl+s ctrl+s    => You changed other fields | All decided. ctrl+s saves. | City, changed by them
		others: {"title":"Theirs"}
		ctrl+s           => > Title, changed by both | theirs: Theirs | mine: Mine
		esc              => >*Title | Not decided yet: title.
		form: title=Mine
		ctrl+s ctrl+s    => > Title, changed by both
		m esc            => The form has the merged text.
		ctrl+s           => - Theirs | + Mine
		ctrl+s           => Done: Saved property 42: title.
		stored: {"title":"Mine","city":"York"}`,

	"taking all of theirs sends nothing": `
		$mine
		others: {"title":"Theirs"}
		ctrl+s ctrl+s    => changed by both
		got: PATCH {"title":"Mine"}
		t ctrl+s         => Nothing to save | Title Theirs
		got:`,

	"versions are compared without ETags": `
		service: has no ETags
		R settle $mine
		ctrl+s           => This service has no ETags
		others: {"title":"Theirs"}
		ctrl+s           => changed by both
		got:
		m ctrl+s         => Saved property 42: title.
		stored: {"title":"Mine"}`,

	"undo": `
		e
		fill: title Dark flat
		fill: images
		ctrl+s ctrl+s    => Saved property 42: title, images.
		settle z         => Undo this in property 42? ctrl+s undoes, esc cancels
		                 => - Dark flat | + Bright flat | + https://img.example/a,1.jpg
		esc              => Title Dark flat
		z ctrl+s         => Undone in property 42: title, images. | Title Bright flat
		stored: {"title":"Bright flat","images":["https://img.example/a,1.jpg","https://img.example/2.jpg"]}`,

	"undo keeps changes that are not reloaded": `
		$undone
		z ctrl+s         => > Title, changed by both | before: Mine | theirs: Theirs | mine: Bright flat
		t ctrl+s         => Undone in property 42: city.
		stored: {"title":"Theirs","city":"Leeds","bedrooms":5}`,

	"undo keeps changes that are reloaded": `
		$undone
		R settle z       => > Title, changed by both | before: Mine | theirs: Theirs | mine: Bright flat
		t ctrl+s         => Undo this in
		ctrl+s           => Undone in property 42: city.
		stored: {"title":"Theirs","city":"Leeds","bedrooms":5}`,

	// Lost replies. The tables of api/operation say what follows; here are the words for it.

	"a lost reply is checked": `
		$mine
		service: loses replies: PATCH
		ctrl+s ctrl+s    => Saved property 42: title. The reply was lost; the property has your changes. | Title Mine
		got: PATCH {"title":"Mine"}`,

	"a second submit is ignored": `
		$mine
		service: holds: PATCH
		ctrl+s ctrl+s ctrl+s esc => Saving property 42 ... | Back: not possible now. It is being saved.
		unsaved: is being saved
		service: works   => Saved property 42: title.
		got: PATCH {"title":"Mine"}`,

	"a request that never arrived is retried": `
		$mine
		service: drops: PATCH
		ctrl+s ctrl+s    => Unknown outcome: the property is not changed yet. | It can't overwrite other changes.
		unsaved: It is unknown
		service: works
		ctrl+s           => Done: Saved property 42: title.`,

	"a request that arrives late is found on retry": `
		$mine
		service: drops: PATCH
		ctrl+s ctrl+s    => the property is not changed yet.
		service: works
		others: {"title":"Mine"}
		ctrl+s           => Property 42 already has it: title. | Title Mine`,

	"an unknown outcome is checked once the service is back": `
		$mine
		service: dies: PATCH
		ctrl+s ctrl+s    => Unknown outcome. | s check | OFFLINE
		s                => Unknown outcome.
		settle
		service: works
		wait: 3s         => Saved property 42: title. The reply was lost | Title Mine
		got: PATCH {"title":"Mine"}`,

	"text typed after a lost reply stays": `
		$mine
		service: dies: PATCH
		ctrl+s ctrl+s    => Unknown outcome. | OFFLINE
		esc
		fill: city York
		settle
		service: works
		wait: 3s         => Saved: title. What you typed since is not saved yet. | >*City | 1 changed: city
		ctrl+s ctrl+s    => Saved property 42: city.
		stored: {"title":"Mine","city":"York"}`,

	"the text is kept while the service is down": `
		$mine
		service: drops
		ctrl+s ctrl+s    => Unknown outcome. | OFFLINE
		esc              => >*Title
		form: title=Mine
		fill: city York
		settle
		service: works
		wait: 3s         => Back online.
		settle ctrl+s ctrl+s => Saved property 42: title, city.`,

	"an old property shows its age": `
		service: drops
		wait: 5m
		R                => Last loaded 5 min ago. | Bright flat
		settle
		service: works
		others: {"title":"New"}
		wait: 3s         => Title New | ≠ Last loaded`,

	// Logins

	"only saving opens a login over a form": `
		$mine
		expired:
		" and"
		wait: 3s         => ○ logged out | Logged out. Your text is kept; saving logs in.
		" yours"
		form: title=Mine and yours
		ctrl+s           => Your session has expired.
		settle
		secret:          => Logged in. | ● live | >*Title | Mine and yours
		ctrl+s ctrl+s    => Saved property 42: title.`,

	"an expired session keeps the text": `
		$mine
		expired:
		ctrl+s ctrl+s    => Your session has expired.
		settle
		secret:          => Logged in. | ! Not saved. Your text is kept. | + Mine | ≠ logs in
		esc              => >*Title | ≠ Not saved
		ctrl+s ctrl+s    => Saved property 42: title. | Title Mine
		stored: {"title":"Mine"}`,

	// Drafts

	"a draft is saved and resumed": `
		$mine
		fill: price_pw 12,5
		wait: 3s
		settle
		draft: Mine
		others: {"title":"Theirs"}
		reopen:          => Title Theirs
		e                => Unsaved draft: title, price per week, just now | Resume | Discard
		enter            => > Title, changed by both | before: Bright flat | theirs: Theirs | mine: Mine
		m ctrl+s         => >*Title
		form: title=Mine | price_pw=12,5
		fill: price_pw 12.5
		ctrl+s ctrl+s    => Saved property 42: title, price per week.
		settle
		draft:
		e                => > Price per week`,

	"a draft is resumed at the field under the cursor": `
		$mine
		wait: 3s
		settle
		reopen:
		                 => Unsaved draft: title
		j enter          => Resume
		enter            => > Address | *Title`,

	"a draft is discarded": `
		$mine
		wait: 3s
		reopen:          => Title Bright flat
		e                => Unsaved draft: title, just now
		down enter       => > Title
		settle
		form: title=Bright flat
		draft:`,

	"an edit of a deleted property keeps its text": `
		$mine
		deleted:
		ctrl+s ctrl+s    => Not saved. There is no property | Your text is kept.
		wait: 3s
		settle
		draft: Mine`,

	// Deleting

	"deleting needs the id or a word": `
		ctrl+x           => ╔═ Delete property 42? | Bright flat | 1 Lane, Leeds LS1 4AP | Property 42 at
		                 => It goes offline now. | only an operator can restore it. | Type 42 or delete: | esc cancel
		enter space ctrl+x ctrl+s y enter
		ctrl+u enter ctrl+s settle       => Delete property 42? | ≠ enter delete it
		ctrl+u "4\n" ctrl+s settle       => Delete property 42? | ≠ enter delete it
		ctrl+u "421\n" ctrl+s settle     => Delete property 42? | ≠ enter delete it
		ctrl+u "yes\n" ctrl+s settle     => Delete property 42? | ≠ enter delete it
		ctrl+u "deleted\n" ctrl+s settle => Delete property 42? | ≠ enter delete it
		esc
		got:
		ctrl+x           => Delete property 42?
		" Delete"        => enter delete it  esc cancel
		enter enter      => Deleted property 42, Bright flat.
		got: DELETE`,

	"deleting asks again after another change": `
		others: {"price_pw":"900"}
		ctrl+x "42\n"    => Not deleted: somebody else changed it. Changed: price per week from 250.50
		esc              => Price per week 900
		stored: {"price_pw":"900"}
		ctrl+x "42\n"    => Deleted property 42`,

	"a lost reply to a deletion is checked": `
		service: loses replies: DELETE
		ctrl+x "42\n"    => Property 42 is gone.`,

	"an unknown deletion is checked later": `
		service: dies: DELETE
		ctrl+x "42\n"    => Unknown outcome: property 42 may be deleted. | s check
		e                => First check whether it was deleted.
		wait: 1s
		service: is another
		s                => Last loaded
		screens: 2
		service: works
		s                => Property 42 is gone.`,

	"a deletion that never arrived is detected": `
		service: drops: DELETE
		ctrl+x "42\n"    => property 42 is not deleted yet.
		screens: 2`,
}

// beginnings are what several flows begin with.
var beginnings = []string{
	"$mine", `e => > Title
		fill: title Mine`,
	"$conflict", `e
		fill: title My flat
		fill: bedrooms 3
		others: {"title":"Their flat","city":"York"}
		ctrl+s ctrl+s => Somebody else changed property 42 meanwhile: title, city.
		=> > Title, changed by both: not decided | before: Bright flat | theirs: Their flat | mine: My flat
		=> City, changed by them: theirs is kept | Bedrooms, changed by you: yours is kept`,
	"$undone", `e
		fill: title Mine
		fill: city Hull
		ctrl+s ctrl+s settle => Saved property 42
		others: {"title":"Theirs","bedrooms":5}`,
}

func TestFlows(t *testing.T) {
	for name, flow := range flows {
		t.Run(name, func(t *testing.T) { start(t, "42").Play(flow, beginnings...) })
	}
}

func TestPropertyIsOpenedByIDAndFromRecentOnes(t *testing.T) {
	start(t, "").Play(`
		                 => Open a property | Property id
		".\n"            => must not be . or ..
		backspace "42\n" => Property 42: Bright flat | Price per week 250.50 | https://img.example/a,1.jpg
		                 => Latitude 53.8008 Longitude -1.5491
		settle
		open:            => Which property? | > 42 | Another property ...
		enter settle     => Price per week 250.50
		y                => Copied the id 42.
		o                => Which image?
		down enter       => Opened the image
		copied: 42
		opened: https://img.example/2.jpg`)
}

// TestLongChangesMustBeSeenBeforeSaving changes more than fits on the screen.
func TestLongChangesMustBeSeenBeforeSaving(t *testing.T) {
	start(t, "42").Play(`
		e                => > Title
		fill: description One room.
		paste: $more
		fill: price_pw 999.99
		fill: bedrooms 3
		ctrl+s           => 3 fields change: Description, Price per week, Bedrooms | (enter shows all)
		                 => ↓ | more lines | pgdn more enter show all | ≠ + 3 | ≠ ctrl+s save pg
		ctrl+s           => See all of it first: | pgdn shows more.
		enter            => ≠ (enter shows all)
		pgdown ctrl+s    => See all of it first:
		enter G          => + 999.99 | + 3 | ctrl+s save pgup
		got:
		g ctrl+s         => Saved property 42: description, price per week, bedrooms.
		stored: {"price_pw":"999.99","bedrooms":3}`, "$more", strings.Repeat(" And there is more to tell.", 150))
}

func TestForbiddenEditKeepsItsText(t *testing.T) {
	o := start(t, "42")
	id, secret := o.server.Client()
	o.accounts.Add(screen.Profile{Name: "other", APIURL: o.proxy.URL, ClientID: id}, secret)
	account, err := o.accounts.Connect("other")
	if err != nil {
		t.Fatal(err)
	}
	o.Press("e")
	o.fillIn("title Mine")
	o.App.Shell().Account.Client = account.Client
	o.Play(`
		ctrl+s ctrl+s => Not saved. Property 42 belongs to another client | Your text is kept. | L switches the profile.
		esc
		form: title=Mine`)
}

// TestDraftIsSavedImmediately interrupts an edit within the two seconds before a draft is saved.
func TestDraftIsSavedImmediately(t *testing.T) {
	for name, end := range map[string]func(o *fixture){
		"on leaving the field":  func(o *fixture) { o.Press("tab") },
		"on leaving the form":   func(o *fixture) { o.Press("ctrl+s") },
		"on suspending":         func(o *fixture) { o.Press("ctrl+z") },
		"on leaving the screen": func(o *fixture) { o.Send(screen.Back{}) },
		"on another account": func(o *fixture) {
			other, err := o.accounts.Connect("test")
			if err != nil {
				t.Fatal(err)
			}
			other.Profile.ClientID = "other"
			o.Send(screen.LoggedIn{Account: other})
			o.See("Switch to profile")
			o.Elapse(time.Second) // keys are ignored at first
			o.Press("y")
		},
		"on quitting": func(o *fixture) { o.App.SaveDrafts() },
	} {
		o := start(t, "42")
		o.Play(`e "!"`)
		end(o)
		o.Settle()
		if draft := o.draft(); draft != "Bright flat!" {
			t.Errorf("%s: saved %q", name, draft)
		}
	}
}

// fullDisk is a memory that cannot save drafts.
type fullDisk struct{ screen.Memory }

func (fullDisk) SaveDraft(screen.Profile, string, map[string]string) error {
	return errors.New("the disk is full")
}

func TestFailedDraftOnSuspendingIsReported(t *testing.T) {
	o := start(t, "42", func(options *tui.Options) { options.Memory = fullDisk{options.Memory} })
	o.Play(`e "!" ctrl+z settle => The draft was not saved: the disk is full`)
}

func TestTypedTextRunsNoActions(t *testing.T) {
	o := start(t, "42")
	o.Press("e")
	for _, field := range o.App.Top().Form().Names() {
		o.fillIn(field)
		o.TypesEverywhere()
	}
	if strings.TrimSpace(o.value("title")) != "" || len(o.proxy.Sent()) != 0 {
		t.Errorf("sent %q", o.proxy.Sent())
	}
}

// TestAClientThatSeesOnlyItsOwnIsToldSo lists the properties of another client, without the scope for all.
func TestAClientThatSeesOnlyItsOwnIsToldSo(t *testing.T) {
	o := start(t, "42")
	id, secret := o.server.Client(api.ScopePropertiesWrite, api.ScopePerksRead)
	tuitest.StartAs(t, o.server, id, secret).Play(
		`3 => No properties here. Only what this client made. All of them need properties:read.`)
}
