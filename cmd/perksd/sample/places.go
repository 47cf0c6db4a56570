package sample

// city is a place by its name and the middle of it, in degrees.
type city struct {
	name     string
	lat, lng float64
}

var cities = []city{
	{"Berlin", 52.5200, 13.4050},
	{"Hamburg", 53.5511, 9.9937},
	{"Munich", 48.1351, 11.5820},
	{"Vienna", 48.2082, 16.3738},
	{"Zürich", 47.3769, 8.5417},
	{"Amsterdam", 52.3676, 4.9041},
	{"Brussels", 50.8503, 4.3517},
	{"Paris", 48.8566, 2.3522},
	{"Lyon", 45.7640, 4.8357},
	{"London", 51.5072, -0.1276},
	{"Manchester", 53.4808, -2.2426},
	{"Edinburgh", 55.9533, -3.1883},
	{"Dublin", 53.3498, -6.2603},
	{"Madrid", 40.4168, -3.7038},
	{"Barcelona", 41.3874, 2.1686},
	{"Lisbon", 38.7223, -9.1393},
	{"Rome", 41.9028, 12.4964},
	{"Milan", 45.4642, 9.1900},
	{"Copenhagen", 55.6761, 12.5683},
	{"Stockholm", 59.3293, 18.0686},
	{"Oslo", 59.9139, 10.7522},
	{"Helsinki", 60.1699, 24.9384},
	{"Warsaw", 52.2297, 21.0122},
	{"Prague", 50.0755, 14.4378},
	{"Budapest", 47.4979, 19.0402},
	{"Athens", 37.9838, 23.7275},
	{"Istanbul", 41.0082, 28.9784},
	{"New York", 40.7128, -74.0060},
	{"Chicago", 41.8781, -87.6298},
	{"San Francisco", 37.7749, -122.4194},
	{"Toronto", 43.6532, -79.3832},
	{"Mexico City", 19.4326, -99.1332},
	{"São Paulo", -23.5505, -46.6333},
	{"Buenos Aires", -34.6037, -58.3816},
	{"Cape Town", -33.9249, 18.4241},
	{"Nairobi", -1.2921, 36.8219},
	{"Dubai", 25.2048, 55.2708},
	{"Mumbai", 19.0760, 72.8777},
	{"Singapore", 1.3521, 103.8198},
	{"Tokyo", 35.6762, 139.6503},
	{"Seoul", 37.5665, 126.9780},
	{"Sydney", -33.8688, 151.2093},
	{"Melbourne", -37.8136, 144.9631},
	{"Auckland", -36.8509, 174.7645},
	{"Suva", -18.1248, 178.4501},
}

var streets = []string{
	"Market Street", "Station Road", "Harbour Lane", "Mill Row", "Church Street", "Garden Avenue", "Bridge Street", "Park Road", "Canal Side",
	"Orchard Way", "Castle Hill", "Museum Square", "Linden Walk", "Tower Street", "Old Town Road", "River Terrace", "Library Street", "Hill View",
}
