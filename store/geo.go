package store

import "math"

// EarthRadiusKM is the mean radius of the earth.
const EarthRadiusKM = 6371.0088

// The grid has cells of a tenth of a degree, numbered row by row from the south pole, and in a row eastwards from the
// antimeridian.
const (
	cellsPerDegree = 10
	gridRows       = 180 * cellsPerDegree
	gridColumns    = 360 * cellsPerDegree
)

// Cell returns the number of the grid cell of a point in degrees. Longitudes 180 and -180 are in the same cells.
func Cell(lat, lng float64) int { return row(lat)*gridColumns + column(lng) }

func row(lat float64) int { return min(max(int(math.Floor((lat+90)*cellsPerDegree)), 0), gridRows-1) }

func column(lng float64) int {
	c := int(math.Floor((lng+180)*cellsPerDegree)) % gridColumns
	if c < 0 {
		c += gridColumns
	}
	return c
}

// Haversine is that of the circle's radius, from 0 to 1. A point is in the circle if the haversine of its angle from
// the centre is not greater.
func (c Circle) Haversine() float64 {
	sin := math.Sin(min(c.RadiusKM/(2*EarthRadiusKM), math.Pi/2))
	return sin * sin
}

// CellRange is consecutive cells in one row of the grid, both ends included.
type CellRange struct{ First, Last int }

// Cover returns the cells that cover the circle, as ranges that do not overlap: one for each row that it touches, or
// two where it crosses the antimeridian. 500 km are about 90 rows, so wide circles need no coarser grid.
func (c Circle) Cover() []CellRange {
	box := c.Box()
	first, last := column(box.West), column(box.East)
	var ranges []CellRange
	for r := row(box.South); r <= row(box.North); r++ {
		start, end := r*gridColumns, (r+1)*gridColumns-1
		switch {
		case box.West == -180 && box.East == 180:
			ranges = append(ranges, CellRange{start, end})
		case box.CrossesAntimeridian():
			ranges = append(ranges, CellRange{start, start + last}, CellRange{start + first, end})
		default:
			ranges = append(ranges, CellRange{start + first, start + last})
		}
	}
	return ranges
}

// Cells is the number of cells that cover the circle.
func (c Circle) Cells() (n int64) {
	for _, cells := range c.Cover() {
		n += int64(cells.Last - cells.First + 1)
	}
	return n
}

// narrowerShare bounds the narrower circles: one with a larger share of the perks would save too little.
const narrowerShare = 8

// Narrower returns smaller circles around the same centre, the smallest first, each expected to contain growth times as
// many perks as the one before. The first is small because perks are denser at the centre of a town, and trying a
// circle with too few is cheap. Edges are between two whole millimetres, so that perks at equal distance are all inside
// or all outside.
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

// CrossesAntimeridian tells whether the box contains longitudes above West and below East, instead of those between.
func (b Box) CrossesAntimeridian() bool { return b.East < b.West }

// slack widens boxes by about 10 m, so that rounding never leaves a point of the circle outside.
const slack = 1e-4

// Box returns the smallest box around the circle, up to rounding. A circle around a pole has every longitude.
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
