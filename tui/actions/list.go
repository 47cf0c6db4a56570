package actions

// Everywhere.
const (
	Quit     ID = "app.quit"
	Help     ID = "app.help"
	Palette  ID = "app.palette"
	Back     ID = "app.back"
	Refresh  ID = "app.refresh"
	Perks    ID = "app.perks"
	User     ID = "app.user"
	Property ID = "app.property"
	Login    ID = "app.login"
	Mouse    ID = "app.mouse"
	Theme    ID = "app.theme"
	Messages ID = "app.messages"
	Results  ID = "app.results"
	Suspend  ID = "app.suspend"
)

// In lists and in texts that are longer than the screen.
const (
	Up       ID = "list.up"
	Down     ID = "list.down"
	PageUp   ID = "list.page-up"
	PageDown ID = "list.page-down"
	Top      ID = "list.top"
	Bottom   ID = "list.bottom"
	Open     ID = "list.open"
)

// In lists that come in pages, are filtered, sorted and marked.
const (
	Filter       ID = "perks.filter"
	ClearFilter  ID = "perks.clear-filter"
	Sort         ID = "perks.sort"
	SortReverse  ID = "perks.sort-reverse"
	NextPage     ID = "perks.next-page"
	PreviousPage ID = "perks.previous-page"
	FirstPage    ID = "perks.first-page"
	LastPage     ID = "perks.last-page"
	Mark         ID = "perks.mark"
	ClearMarks   ID = "perks.clear-marks"
	Preview      ID = "perks.preview"
	PreviewDown  ID = "perks.preview-down"
	PreviewUp    ID = "perks.preview-up"
	Expired      ID = "perks.expired"
	Category     ID = "perks.category"
	NextTab      ID = "perks.next-tab"
)

// With one record: a perk, a redemption or a property.
const (
	Redeem    ID = "record.redeem"
	CopyID    ID = "record.copy-id"
	OpenImage ID = "record.open-image"
	Picture   ID = "record.picture"
	ForUser   ID = "record.user"
	OpenPerk  ID = "record.perk"
)

// With a property.
const (
	Edit   ID = "property.edit"
	Delete ID = "property.delete"
	Undo   ID = "property.undo"
)

// In forms.
const (
	NextField     ID = "form.next"
	PreviousField ID = "form.previous"
	Submit        ID = "form.submit"
	Cancel        ID = "form.cancel"
	Profile       ID = "form.profile"
	Recent        ID = "form.recent"
)

// Where a person has to decide.
const (
	Yes    ID = "confirm.yes"
	No     ID = "confirm.no"
	Mine   ID = "merge.mine"
	Theirs ID = "merge.theirs"
	Settle ID = "settle.look"
	Retry  ID = "settle.retry"
	GiveUp ID = "settle.give-up"
)

// all is every action in the order of the help.
func all() []Action {
	return []Action{
		{Up, []string{"k", "up"}, "Up", "", false},
		{Down, []string{"j", "down"}, "Down", "", false},
		{PageUp, []string{"pgup", "ctrl+b"}, "Page up", "", false},
		{PageDown, []string{"pgdown", "ctrl+f"}, "Page down", "", false},
		{Top, []string{"g", "home"}, "To the top", "", false},
		{Bottom, []string{"G", "end"}, "To the bottom", "", false},
		{Open, []string{"enter", "l", "right"}, "Open", "open", false},

		{Filter, []string{"/", "f"}, "Filter", "filter", false},
		{ClearFilter, []string{"F"}, "Clear the filter", "clear filter", false},
		{Category, []string{"c"}, "Choose a category", "", false},
		{Sort, []string{"s"}, "Sort by…", "sort", false},
		{SortReverse, []string{"S"}, "Reverse the order", "", false},
		{Expired, []string{"e"}, "Expired on/off", "", false},
		{NextPage, []string{"n", "]"}, "Next page", "next page", false},
		{PreviousPage, []string{"p", "["}, "Previous page", "", false},
		{FirstPage, []string{"{"}, "First page", "", false},
		{LastPage, []string{"}"}, "Last page", "", false},
		{Mark, []string{" "}, "Mark", "mark", false},
		{ClearMarks, []string{"X"}, "Clear marks", "", false},
		{Preview, []string{"v"}, "Preview on/off", "", false},
		{PreviewDown, []string{"J", "shift+down"}, "Preview down", "", false},
		{PreviewUp, []string{"K", "shift+up"}, "Preview up", "", false},
		{NextTab, []string{"tab"}, "Switch tab", "switch tab", false},

		{Redeem, []string{"r"}, "Redeem", "redeem", false},
		{CopyID, []string{"y"}, "Copy the id", "copy id", false},
		{OpenImage, []string{"o"}, "Open the image in a browser", "image", false},
		{Picture, []string{"i"}, "Draw the image here, or take it away", "draw image", false},
		{ForUser, []string{"u"}, "Go to the user", "user", false},
		{OpenPerk, []string{"P"}, "Go to the perk", "perk", false},

		{Edit, []string{"e"}, "Edit", "edit", false},
		{Delete, []string{"ctrl+x"}, "Delete", "delete", false},
		{Undo, []string{"z"}, "Undo the last saved edit", "undo", false},

		{NextField, []string{"tab", "down"}, "Next field", "next", true},
		{PreviousField, []string{"shift+tab", "up"}, "Previous field", "", true},
		{Submit, []string{"ctrl+s"}, "Save", "send", true},
		{Cancel, []string{"esc"}, "Cancel", "cancel", true},
		{Profile, []string{"ctrl+p"}, "Choose a profile", "profile", true},
		{Recent, []string{"ctrl+o"}, "Choose from the recent ones", "recent", true},

		{Yes, []string{"y"}, "Yes", "yes", false},
		{No, []string{"n", "esc"}, "No", "no", false},
		{Mine, []string{"m"}, "Keep mine", "mine", false},
		{Theirs, []string{"t"}, "Take theirs", "theirs", false},
		{Settle, []string{"s"}, "Check again", "look", false},
		{Retry, []string{"a"}, "Retry safely", "send again", false},
		{GiveUp, []string{"x"}, "Stop checking", "give up", false},

		{Perks, []string{"1"}, "Perks", "", false},
		{User, []string{"2"}, "Open user…", "", false},
		{Property, []string{"3"}, "Open property…", "", false},
		{Results, []string{"4"}, "Last redemption", "", false},
		{Login, []string{"L"}, "Log in, or switch the profile", "", false},
		{Refresh, []string{"R", "ctrl+r"}, "Reload", "", false},
		{Theme, []string{"T"}, "Next theme", "", false},
		{Mouse, []string{"M"}, "Mouse on/off", "", false},
		{Messages, []string{"!"}, "Messages", "", false},
		{Suspend, []string{"ctrl+z"}, "Suspend (fg returns)", "", true},
		{Palette, []string{"ctrl+k", ":"}, "Find a command", "commands", true},
		{Help, []string{"?"}, "Keys", "keys", false},
		{Back, []string{"esc", "backspace", "h", "left"}, "Back", "back", false},
		{Quit, []string{"q"}, "Quit", "quit", false},
	}
}

// places is which groups of actions can meet in one place, and so must not share a key. "app" meets every one of them,
// "confirm" is alone.
var places = [][]string{
	{"list", "perks", "record"},
	{"list", "record", "property"},
	{"list", "record", "settle"},
	{"list", "merge"},
	{"form"},
}
