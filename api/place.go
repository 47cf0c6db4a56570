package api

import "math"

// HeaderCentre is the header with the middle of the positions of the perks on a page, such as 52.52,13.405. The first
// page of MaxPerPage perks of a city has it, so that clients know where the city is.
const HeaderCentre = "X-Centre"

// Point is a position in degrees.
type Point struct{ Lat, Lng float64 }

// String writes a point to a metre, as ParsePoint reads it.
func (p Point) String() string {
	const metre = 1e5 // parts of a degree
	return decimal(math.Round(p.Lat*metre)/metre) + "," + decimal(math.Round(p.Lng*metre)/metre)
}

// ParsePoint reads a point such as 52.52,13.405; nil if the text is none.
func ParsePoint(text string) *Point {
	var f PerkFilter
	if problem := setPoint(&f, text); problem != "" || f.Near == nil || f.Near.Name != "" {
		return nil
	}
	return &Point{f.Near.Lat, f.Near.Lng}
}

// Middle returns the middle of points on the globe; nil without points, and if they have none, being all around it.
func Middle(points []Point) *Point {
	var x, y, z float64
	for _, p := range points {
		lat, lng := p.Lat*math.Pi/180, p.Lng*math.Pi/180
		x, y, z = x+math.Cos(lat)*math.Cos(lng), y+math.Cos(lat)*math.Sin(lng), z+math.Sin(lat)
	}
	if math.Hypot(math.Hypot(x, y), z) < 1e-9 {
		return nil
	}
	return &Point{math.Atan2(z, math.Hypot(x, y)) * 180 / math.Pi, math.Atan2(y, x) * 180 / math.Pi}
}
