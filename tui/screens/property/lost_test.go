package property_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/tui"
	"example.com/perks/tui/screen"
)

// editing opens the form and changes the title.
func editing(t *testing.T) *fixture {
	o := start(t, "42")
	o.Press("e")
	o.See("> Title")
	o.fill("title", "Mine")
	return o
}

func TestLostReplyIsChecked(t *testing.T) {
	o := editing(t)
	o.proxy.lose(isPatch)
	o.Press("ctrl+s", "ctrl+s")
	o.See("Saved property 42: title. The reply was lost; the property has your changes.", "Title Mine")
	if n := len(o.proxy.sent()); n != 1 {
		t.Errorf("sent %d times", n)
	}
}

func TestSecondSubmitIsIgnored(t *testing.T) {
	o := editing(t)
	held := make(chan struct{})
	o.proxy.respond(func(_ http.ResponseWriter, r *http.Request) bool {
		if isPatch(r) {
			<-held
		}
		return false
	})
	o.Press("ctrl+s", "ctrl+s", "ctrl+s", "esc")
	o.See("Saving property 42 ...", "Back: not possible now. It is being saved.")
	if !strings.Contains(o.App.Top().Unsaved(), "is being saved") {
		t.Errorf("it warns of %q", o.App.Top().Unsaved())
	}
	close(held)
	o.See("Saved property 42: title.")
	o.Settle()
	if n := len(o.proxy.sent()); n != 1 {
		t.Errorf("sent %d times", n)
	}
}

func TestRequestThatNeverArrivedCanBeRetried(t *testing.T) {
	o := editing(t)
	o.proxy.respond(func(_ http.ResponseWriter, r *http.Request) bool {
		if isPatch(r) {
			panic(http.ErrAbortHandler)
		}
		return false
	})
	o.Press("ctrl+s", "ctrl+s")
	o.See("Unknown outcome: the property is not changed yet.", "It can't overwrite other changes.")
	if o.App.Top().Unsaved() == "" {
		t.Error("no warning of the unknown outcome")
	}
	o.proxy.respond(nil)
	o.Press("ctrl+s")
	o.See("Done: Saved property 42: title.")
}

func TestUnknownOutcomeIsCheckedOnceTheServiceIsBack(t *testing.T) {
	o := editing(t)
	lost := false
	o.proxy.lose(func(r *http.Request) bool { lost = lost || isPatch(r); return lost })
	o.Press("ctrl+s", "ctrl+s")
	o.See("Unknown outcome.", "s check", "offline")
	o.Press("s")
	o.See("Unknown outcome.")
	o.Settle()
	o.proxy.lose(nil)
	o.Elapse(3 * time.Second)
	o.See("Saved property 42: title. The reply was lost", "Title Mine")
	if n := len(o.proxy.sent()); n != 1 {
		t.Errorf("sent %d times", n)
	}
}

// TestTextTypedAfterALostReplyStays finds out that the title was saved while another field is typed.
func TestTextTypedAfterALostReplyStays(t *testing.T) {
	o := editing(t)
	lost := false
	o.proxy.lose(func(r *http.Request) bool { lost = lost || isPatch(r); return lost })
	o.Press("ctrl+s", "ctrl+s")
	o.See("Unknown outcome.", "offline")
	o.Press("esc")
	o.fill("city", "York")
	o.Settle()
	o.proxy.lose(nil)
	o.Elapse(3 * time.Second)
	o.See("Saved: title. What you typed since is not saved yet.", ">*City", "1 changed: city")
	o.Press("ctrl+s", "ctrl+s")
	o.See("Saved property 42: city.")
	if p := o.stored(); p.Title != "Mine" || p.City != "York" {
		t.Errorf("stored %+v", p)
	}
}

func TestLateChangeIsFoundOnRetry(t *testing.T) {
	o := editing(t)
	lost := true
	o.proxy.respond(func(_ http.ResponseWriter, r *http.Request) bool {
		if isPatch(r) && lost {
			panic(http.ErrAbortHandler)
		}
		return false
	})
	o.Press("ctrl+s", "ctrl+s")
	o.See("the property is not changed yet.")
	lost = false
	o.change(api.PropertyPatch{Title: api.Some("Mine")}) // the request arrives late
	o.Press("ctrl+s")
	o.See("Property 42 already has it: title.", "Title Mine")
}

// TestNoLoginCoversAFormThatIsFilledIn lets the session expire while a title is typed: only saving opens the login.
func TestNoLoginCoversAFormThatIsFilledIn(t *testing.T) {
	o := editing(t)
	o.accounts.Expire()
	o.Type(" and")
	o.Elapse(3 * time.Second) // asks what others have changed
	o.See("○ logged out", "Logged out. Your text is kept; saving logs in.")
	o.Type(" yours")
	if got := o.value("title"); got != "Mine and yours" {
		t.Fatalf("typed into %q", got)
	}
	o.Press("ctrl+s")
	o.See("Your session has expired.")
	o.Settle()
	o.Type(o.secret + "\n")
	o.See("Logged in.", "● live", ">*Title", "Mine and yours")
	o.Press("ctrl+s", "ctrl+s")
	o.See("Saved property 42: title.")
}

func TestExpiredSessionKeepsTheText(t *testing.T) {
	o := editing(t)
	o.accounts.Expire()
	o.Press("ctrl+s", "ctrl+s")
	o.See("Your session has expired.")
	o.Settle()
	for form := o.App.Top().Form(); form.Focus() != "secret"; {
		o.Press("tab")
	}
	o.Type(o.secret + "\n")
	o.See("Not saved.", "Your text is kept.", "+ Mine")
	o.Press("ctrl+s")
	o.See("Saved property 42: title.", "Title Mine")
	if o.stored().Title != "Mine" {
		t.Errorf("stored %+v", o.stored())
	}
}

func TestTextIsKeptWhileTheServiceIsDown(t *testing.T) {
	o := editing(t)
	o.proxy.setDown(true)
	o.Press("ctrl+s", "ctrl+s")
	o.See("Unknown outcome.", "offline")
	o.Press("esc")
	o.See(">*Title")
	if o.value("title") != "Mine" {
		t.Errorf("the form has %q", o.value("title"))
	}
	o.fill("city", "York")
	o.Settle()
	o.proxy.setDown(false)
	o.Elapse(3 * time.Second)
	o.See("Back online.")
	o.Settle()
	o.Press("ctrl+s", "ctrl+s")
	o.See("Saved property 42: title, city.")
}

func TestStalePropertyShowsItsAge(t *testing.T) {
	o := start(t, "42")
	o.proxy.setDown(true)
	o.Elapse(5 * time.Minute)
	o.Press("R")
	o.See("Last loaded 5 min ago.", "Bright flat")
	o.Settle()
	o.proxy.setDown(false)
	o.change(api.PropertyPatch{Title: api.Some("New")})
	o.Elapse(3 * time.Second)
	o.See("Title New")
	o.Gone("min ago")
}

func TestForbiddenEditKeepsItsText(t *testing.T) {
	server := start(t, "42")
	id, secret := server.server.Client()
	server.accounts.Add(screen.Profile{Name: "other", APIURL: server.proxy.url, ClientID: id}, secret)
	account, err := server.accounts.Connect("other")
	if err != nil {
		t.Fatal(err)
	}
	o := server
	o.Press("e")
	o.See("> Title")
	o.fill("title", "Mine")
	o.App.Shell().Account.Client = account.Client
	o.Press("ctrl+s", "ctrl+s")
	o.See("Not saved. Property 42 belongs to another client", "Your text is kept.", "L switches the profile.")
	o.Press("esc")
	if o.value("title") != "Mine" {
		t.Errorf("the form has %q", o.value("title"))
	}
}

func TestEditOfADeletedPropertyKeepsItsText(t *testing.T) {
	o := editing(t)
	if _, err := o.colleague.DeleteProperty(t.Context(), "42", ""); err != nil {
		t.Fatal(err)
	}
	o.Press("ctrl+s", "ctrl+s")
	o.See("Not saved. There is no property", "Your text is kept.")
	o.Elapse(3 * time.Second)
	o.Settle()
	if o.Memory.Draft(screen.Profile{}, "property-42")["title"] != "Mine" {
		t.Error("no draft is saved")
	}
}

func TestDraftIsSavedAndResumed(t *testing.T) {
	o := editing(t)
	o.fill("price_pw", "12,5")
	o.Elapse(3 * time.Second)
	o.Settle()
	draft := o.Memory.Draft(screen.Profile{}, "property-42")
	if draft["title"] != "Mine" || draft["price_pw"] != "12,5" {
		t.Fatalf("saved %q", draft)
	}
	o.change(api.PropertyPatch{Title: api.Some("Theirs")})
	o.Send(screen.Back{}) // the screen is closed
	o.Settle()
	o.Open(screen.ToProperty{ID: "42"})
	o.Settle()
	o.See("Title Theirs")
	o.Press("e")
	o.See("Unsaved draft: title, price per week", "Resume", "Discard")
	o.Press("enter")
	o.See("> Title, changed by both", "before: Bright flat", "theirs: Theirs", "mine: Mine")
	o.Press("m", "ctrl+s")
	o.See(">*Title")
	if o.value("title") != "Mine" || o.value("price_pw") != "12,5" {
		t.Errorf("the form has %q and %q", o.value("title"), o.value("price_pw"))
	}
	o.fill("price_pw", "12.5")
	o.Press("ctrl+s", "ctrl+s")
	o.See("Saved property 42: title, price per week.")
	o.Settle()
	if draft := o.Memory.Draft(screen.Profile{}, "property-42"); draft != nil {
		t.Errorf("still saved: %q", draft)
	}
	o.Press("e")
	o.See("> Price per week") // which was edited last
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
		o.Press("e")
		o.See("> Title")
		o.Type("!")
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
	o.Press("e")
	o.See("> Title")
	o.Type("!")
	o.Press("ctrl+z")
	o.Settle()
	o.See("The draft was not saved: the disk is full")
}

// draft returns the title of the saved draft.
func (o *fixture) draft() string { return o.Memory.Draft(screen.Profile{}, "property-42")["title"] }

func TestDraftIsDiscarded(t *testing.T) {
	o := editing(t)
	o.Elapse(3 * time.Second)
	o.Send(screen.Back{})
	o.Settle()
	o.Open(screen.ToProperty{ID: "42"})
	o.Settle()
	o.See("Title Bright flat")
	o.Press("e")
	o.See("Unsaved draft: title, just now")
	o.Press("down", "enter")
	o.See("> Title")
	o.Settle()
	if o.value("title") != "Bright flat" || o.Memory.Draft(screen.Profile{}, "property-42") != nil {
		t.Errorf("the form has %q, and the draft %q", o.value("title"), o.Memory.Draft(screen.Profile{}, "property-42"))
	}
}

func TestDeletingNeedsConfirmation(t *testing.T) {
	o := start(t, "42")
	o.Press("ctrl+x")
	o.See("╔═ Delete property 42?", "Bright flat", "1 Lane, Leeds LS1 4AP", "Property 42 at", "Type 42 or delete:",
		"It goes offline now. Only an operator can restore it.", "esc cancel")
	o.Press("enter", " ", "ctrl+x", "ctrl+s", "y", "enter")
	o.Settle()
	for _, text := range []string{"", "4", "421", "yes", "deleted"} {
		o.Press("ctrl+u")
		o.Type(text)
		o.Press("enter", "ctrl+s")
		o.Settle()
		if o.Shows("enter delete it") || !o.Shows("Delete property 42?") {
			t.Errorf("%q confirms:\n%s", text, o.Screen())
		}
	}
	o.Press("esc")
	o.Settle()
	if len(o.proxy.sent()) != 0 {
		t.Fatalf("sent %q", o.proxy.sent())
	}
	o.Press("ctrl+x")
	o.See("Delete property 42?")
	o.Type(" Delete")
	o.See("enter delete it  esc cancel")
	o.Press("enter", "enter")
	o.See("Deleted property 42, Bright flat.", "perksd property restore 42")
	o.Until("the list of perks", func() bool { return o.Depth() == 1 })
	if got := o.proxy.sent(); !slices.Equal(got, []string{"DELETE"}) {
		t.Errorf("sent %q", got)
	}
	if _, _, err := o.colleague.Property(t.Context(), "42"); api.CodeOf(err) != api.CodeNotFound {
		t.Errorf("it is still there: %v", err)
	}
}

func TestDeletingAsksAgainAfterAnotherChange(t *testing.T) {
	o := start(t, "42")
	price, _ := api.ParsePrice("900")
	o.change(api.PropertyPatch{PricePW: api.Some(price)})
	o.Press("ctrl+x")
	o.See("Delete property 42?")
	o.Type("42\n")
	o.See("Not deleted: somebody else changed it. Changed: price per week from 250.50")
	o.Press("esc")
	o.See("Price per week 900")
	if o.stored().PricePW.String() != "900" {
		t.Error("the price was not kept")
	}
	o.Press("ctrl+x")
	o.See("Delete property 42?")
	o.Type("42\n")
	o.See("Deleted property 42")
}

func TestLostReplyToADeletionIsChecked(t *testing.T) {
	o := start(t, "42")
	o.proxy.lose(isDelete)
	o.Press("ctrl+x")
	o.See("Delete property 42?")
	o.Type("42\n")
	o.See("Property 42 is gone.")
	o.Until("the list of perks", func() bool { return o.Depth() == 1 })
}

func TestUnknownDeletionIsCheckedLater(t *testing.T) {
	o := start(t, "42")
	lost := false
	o.proxy.lose(func(r *http.Request) bool { lost = lost || isDelete(r); return lost })
	o.Press("ctrl+x")
	o.See("Delete property 42?")
	o.Type("42\n")
	o.See("Unknown outcome: property 42 may be deleted.", "s check")
	o.Press("e")
	o.See("First check whether it was deleted.")
	o.Elapse(time.Second)
	o.proxy.lose(nil)
	o.proxy.respond(func(w http.ResponseWriter, r *http.Request) bool {
		http.Error(w, "404 page not found", http.StatusNotFound)
		return true
	})
	o.Press("s")
	o.See("Last loaded")
	if o.Depth() != 2 {
		t.Fatalf("a 404 of another server counts as deleted:\n%s", o.Screen())
	}
	o.proxy.respond(nil)
	o.Press("s")
	o.See("Property 42 is gone.")
}

func TestDeletionThatNeverArrivedIsDetected(t *testing.T) {
	o := start(t, "42")
	o.proxy.respond(func(_ http.ResponseWriter, r *http.Request) bool {
		if isDelete(r) {
			panic(http.ErrAbortHandler)
		}
		return false
	})
	o.Press("ctrl+x")
	o.See("Delete property 42?")
	o.Type("42\n")
	o.See("property 42 is not deleted yet.")
	if o.Depth() != 2 {
		t.Error("the screen is closed")
	}
}
