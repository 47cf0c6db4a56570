package sample

// trade is a line of business: its category, what its shops are called and what they offer.
type trade struct {
	category  string
	merchants []string
	offers    []string
}

var trades = []trade{
	{"Food & Drink", []string{"Roasters", "Kitchen", "Bakery", "Bistro", "Tea House", "Pizzeria", "Noodle Bar"},
		[]string{"filter coffee", "breakfast for two", "lunch of the day", "sourdough pizza", "afternoon tea", "a bowl of ramen", "fresh pastries", "a tasting menu"}},
	{"Wellness", []string{"Spa", "Baths", "Massage Studio", "Yoga Loft", "Float Centre"},
		[]string{"a deep massage", "a day pass to the sauna", "a yoga class", "an hour of floating", "a facial treatment"}},
	{"Fitness", []string{"Gym", "Boulder Hall", "Cycling Club", "Pool", "Boxing Room"},
		[]string{"a month of training", "a climbing session", "a spinning class", "ten swims", "a first lesson in boxing"}},
	{"Culture", []string{"Theatre", "Museum", "Gallery", "Concert Hall", "Opera"},
		[]string{"two tickets for the evening", "a guided tour", "the summer exhibition", "a matinee", "a season pass"}},
	{"Cinema", []string{"Cinema", "Picture House", "Film Palace"},
		[]string{"a ticket for any film", "a late showing", "popcorn and a drink", "a film for the family"}},
	{"Travel", []string{"Hotel", "Guest House", "Travel Agency", "Ferries", "Car Hire"},
		[]string{"a night with breakfast", "a weekend by the sea", "a day's car hire", "a harbour cruise", "a city walk"}},
	{"Fashion", []string{"Tailors", "Shoes", "Boutique", "Vintage Store", "Knitwear"},
		[]string{"a winter coat", "running shoes", "a linen shirt", "a repair of your jacket", "the new collection"}},
	{"Books", []string{"Bookshop", "Paper & Pens", "Comics"},
		[]string{"a hardback of your choice", "a reading with the author", "a fountain pen", "three paperbacks"}},
	{"Home", []string{"Furniture", "Ceramics", "Garden Centre", "Lamps"},
		[]string{"an oak table", "a set of bowls", "plants for the balcony", "a reading lamp", "a pottery workshop"}},
	{"Electronics", []string{"Electronics", "Camera Shop", "Phone Repair"},
		[]string{"a new phone battery", "noise-cancelling headphones", "a camera course", "a screen repair"}},
	{"Family", []string{"Zoo", "Toy Shop", "Adventure Park", "Aquarium"},
		[]string{"a day at the zoo", "a birthday party", "a wooden train", "a family ticket", "a children's workshop"}},
	{"Beauty", []string{"Hairdressers", "Barber", "Nail Bar", "Perfumery"},
		[]string{"a haircut", "a shave with hot towels", "a manicure", "a scent made for you"}},
}

var merchantNames = []string{
	"Golden", "Harbour", "Corner", "Little", "Old Town", "North", "River", "Lantern", "Copper", "Green Door", "Sunny Side", "Third Wave", "Blue Heron", "Maple",
	"Juniper", "Stone Bridge", "Paper Moon", "Red Fox", "Silver Birch", "Night Owl", "Velvet", "Saffron", "Cedar", "Urban", "Wild Rose", "Lighthouse", "Amber", "Ivy",
}

// titles get a capital once the offer is put in.
var titles = []string{
	"{what}, for less", "{what} on us", "treat yourself to {what}", "{what} for members", "{what}: this season's offer", "{what} on weekdays", "{what} with a friend",
}

var discounts = []string{"-10%", "-15%", "-20%", "-25%", "-30%", "-50%", "2 for 1", "3 for 2", "Free", "€5 off", "€10 off"}

var remarks = []string{
	"Show the code at the till.", "Book a day ahead, please.", "Walk in whenever we are open.", "A favourite of the neighbourhood.", "Ask for the quiet table.",
	"Children are welcome.", "Wheelchair access from the yard.", "We speak four languages.", "Every day but Monday.", "While it lasts.",
}

var terms = []string{
	"One for each person.", "Not together with other offers.", "Valid on weekdays only.", "Not valid on public holidays.", "Booking required.", "From a bill of €20.",
	"Show your membership when you arrive.",
}

var homes = []string{"flat", "loft", "house", "studio", "cottage", "maisonette", "penthouse", "garden flat"}

var homeQualities = []string{"Bright", "Quiet", "Spacious", "Modern", "Charming", "Sunny", "Renovated", "Airy", "Snug"}

var homePlaces = []string{"by the park", "near the station", "in the old town", "with a balcony", "over the roofs", "by the river", "with a garden", "close to the university"}

var homeRemarks = []string{
	"The kitchen is new, and the windows look over the yard.", "Five minutes to the tram.", "Pets are welcome.", "There is room for two bicycles in the cellar.",
	"The heating was renewed two years ago.", "Furnished, with everything that a household needs.", "A quiet house with kind neighbours.",
}
