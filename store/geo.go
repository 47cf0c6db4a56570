package store

import "math"

// EarthRadiusKM is the mean radius of the earth, which every distance is computed with.
const EarthRadiusKM = 6371.0088

// The grid has cells of a tenth of a degree, numbered row by row from the south pole, and in a row eastwards from the antimeridian.
const (
	cellsPerDegree = 10
	gridRows       = 180 * cellsPerDegree
	gridColumns    = 360 * cellsPerDegree
)

// DistanceKM is the great-circle distance between two points in degrees, by the haversine formula. Drivers write the same formula in SQL:
//
//	2 * R * asin(min(1, sqrt(sin²((lat2-lat1)/2) + cos(lat1) * cos(lat2) * sin²((lng2-lng1)/2))))
//
// Databases may differ in the last bits of a sine, so an order by distance compares whole millimetres.
func DistanceKM(lat1, lng1, lat2, lng2 float64) float64 {
	sinLat := math.Sin(radians(lat2-lat1) / 2)
	sinLng := math.Sin(radians(lng2-lng1) / 2)
	h := sinLat*sinLat + math.Cos(radians(lat1))*math.Cos(radians(lat2))*sinLng*sinLng
	return 2 * EarthRadiusKM * math.Asin(math.Min(1, math.Sqrt(h)))
}

// Cell returns the number of the grid cell that holds a point in degrees. Both names of the antimeridian, 180 and -180,
// are in the same cells.
func Cell(lat, lng float64) int { return row(lat)*gridColumns + column(lng) }

func row(lat float64) int { return min(max(int(math.Floor((lat+90)*cellsPerDegree)), 0), gridRows-1) }

func column(lng float64) int {
	c := int(math.Floor((lng+180)*cellsPerDegree)) % gridColumns
	if c < 0 {
		c += gridColumns
	}
	return c
}

// Haversine is that of the circle's radius, from 0 to 1: a point is in the circle if the haversine of its angle from the
// centre, which is what DistanceKM takes the root of, is not greater.
func (c Circle) Haversine() float64 {
	sin := math.Sin(min(c.RadiusKM/(2*EarthRadiusKM), math.Pi/2))
	return sin * sin
}

// CellRange is a run of cells in one row of the grid, both ends included.
type CellRange struct{ First, Last int }

// Cover returns the cells that together hold every point of the circle, as runs that do not overlap: one for each row
// that the circle touches, or two where it crosses the antimeridian. Runs keep a wide circle cheap without a second,
// coarser grid: 500 km are about 90 rows.
func (c Circle) Cover() []CellRange {
	box := c.Box()
	first, last := column(box.West), column(box.East)
	var runs []CellRange
	for r := row(box.South); r <= row(box.North); r++ {
		start, end := r*gridColumns, (r+1)*gridColumns-1
		switch {
		case box.West == -180 && box.East == 180:
			runs = append(runs, CellRange{start, end})
		case box.CrossesAntimeridian():
			runs = append(runs, CellRange{start, start + last}, CellRange{start + first, end})
		default:
			runs = append(runs, CellRange{start + first, start + last})
		}
	}
	return runs
}

// Cells is how many cells of the grid the circle touches.
func (c Circle) Cells() (n int64) {
	for _, run := range c.Cover() {
		n += int64(run.Last - run.First + 1)
	}
	return n
}

// narrowerShare bounds the narrower circles: one with more of the perks would spare too little.
const narrowerShare = 8

// Narrower returns circles around the same centre that may hold as many perks as are needed of the total, each growth times as many as the
// one before, the narrowest first: around a town there are far more of them at the centre than if all were spread evenly, and a circle with
// too few costs little. Their edges lie between two whole millimetres, so that none of several perks at one distance is left out.
func (c Circle) Narrower(need, total int64, growth float64) (circles []Circle) {
	for most := float64(need) / 16; most < float64(total)/narrowerShare; most *= growth {
		millimetres := c.RadiusKM * 1e6 * math.Sqrt(most/float64(total))
		circles = append(circles, Circle{Lat: c.Lat, Lng: c.Lng, RadiusKM: (math.Floor(millimetres) + 0.5) / 1e6})
	}
	return circles
}

// Box is an area between two parallels and two meridians, in degrees. As in GeoJSON (RFC 7946, section 5.2), East is
// less than West when the box crosses the antimeridian.
type Box struct{ South, West, North, East float64 }

// Holds tells whether the point is in the box or on its edge.
func (b Box) Holds(lat, lng float64) bool {
	if lat < b.South || lat > b.North {
		return false
	}
	if b.CrossesAntimeridian() {
		return lng >= b.West || lng <= b.East
	}
	return lng >= b.West && lng <= b.East
}

// CrossesAntimeridian tells whether the box holds longitudes from West up and from East down, instead of those between.
func (b Box) CrossesAntimeridian() bool { return b.East < b.West }

// slack widens boxes by about 10 m, so that rounding never leaves a point of the circle outside.
const slack = 1e-4

// Box returns the smallest box around the circle, give or take rounding. A circle that holds a pole has every longitude.
func (c Circle) Box() Box {
	reach := c.RadiusKM / EarthRadiusKM
	box := Box{South: c.Lat - degrees(reach) - slack, North: c.Lat + degrees(reach) + slack, West: -180, East: 180}
	if box.South <= -90 || box.North >= 90 {
		box.South, box.North = max(box.South, -90), min(box.North, 90)
		return box
	}
	across := degrees(math.Asin(math.Sin(reach)/math.Cos(radians(c.Lat)))) + slack // at most a quarter of the way round
	box.West, box.East = wrap(c.Lng-across), wrap(c.Lng+across)
	return box
}

func wrap(lng float64) float64 {
	switch {
	case lng < -180:
		return lng + 360
	case lng > 180:
		return lng - 360
	}
	return lng
}

func radians(degrees float64) float64 { return degrees * math.Pi / 180 }
func degrees(radians float64) float64 { return radians * 180 / math.Pi }
