package store_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"example.com/perks/store"
)

func TestCell(t *testing.T) {
	for _, test := range []struct {
		name     string
		lat, lng float64
		want     int
	}{
		{"the south-west corner", -90, -180, 0},
		{"one cell east", -90, -179.85, 1},
		{"one row up", -89.85, -180, 3600},
		{"the middle", 0, 0, 900*3600 + 1800},
		{"180 is -180", 0, 180, 900 * 3600},
		{"the north pole is in the last row", 90, 0, 1799*3600 + 1800},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := store.Cell(test.lat, test.lng); got != test.want {
				t.Errorf("got cell %d, want %d", got, test.want)
			}
		})
	}
}

func TestCoverAndBoxHoldEveryPointOfTheCircle(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		circle := randomCircle(random)
		lat, lng := randomPointWithin(random, circle)
		box := circle.Box()
		isEast, isWest := lng >= box.West, lng <= box.East
		isBetween := isEast && isWest || box.CrossesAntimeridian() && (isEast || isWest)
		if lat < box.South || lat > box.North || !isBetween {
			t.Fatalf("the box %+v of %+v lacks %v, %v", box, circle, lat, lng)
		}
		if n := timesCovered(circle, store.Cell(lat, lng)); n != 1 {
			t.Fatalf("%+v covers the cell of %v, %v %d times, want once", circle, lat, lng, n)
		}
	}
}

func TestCoverOfAWideCircleIsFewRuns(t *testing.T) {
	for _, circle := range []store.Circle{
		{Lat: 51.5, Lng: -0.1, RadiusKM: 500},
		{Lat: -17, Lng: 179.9, RadiusKM: 500},
		{Lat: 89, Lng: 0, RadiusKM: 500},
	} {
		if n := len(circle.Cover()); n > 200 {
			t.Errorf("%+v is covered by %d runs, want at most 200", circle, n)
		}
	}
}

func TestBoxIsTight(t *testing.T) {
	box := store.Circle{Lat: 60, Lng: 10, RadiusKM: 111.195}.Box()
	for _, edge := range []struct{ got, want float64 }{
		{box.South, 59}, {box.North, 61}, {box.West, 8}, {box.East, 12},
	} {
		if math.Abs(edge.got-edge.want) > 0.01 {
			t.Errorf("the box is %+v, want about 59..61 and 8..12", box)
		}
	}
}

// randomCircle favours circles at the edges of the grid.
func randomCircle(random *rand.Rand) store.Circle {
	circle := store.Circle{
		Lat:      random.Float64()*180 - 90,
		Lng:      random.Float64()*360 - 180,
		RadiusKM: math.Pow(10, random.Float64()*5-1), // 100 m to 10,000 km
	}
	switch random.IntN(5) {
	case 0:
		circle.Lng = 180 - random.Float64()*0.2
	case 1:
		circle.Lng = -180 + random.Float64()*0.2
	case 2:
		circle.Lat = math.Copysign(90-random.Float64()*random.Float64()*5, circle.Lat)
	}
	return circle
}

// randomPointWithin returns a point inside the circle or on its edge.
func randomPointWithin(random *rand.Rand, circle store.Circle) (lat, lng float64) {
	angle := circle.RadiusKM / store.EarthRadiusKM
	if random.IntN(2) == 0 {
		angle *= random.Float64()
	}
	bearing := random.Float64() * 2 * math.Pi
	lat1, lng1 := circle.Lat*math.Pi/180, circle.Lng*math.Pi/180
	lat2 := math.Asin(math.Sin(lat1)*math.Cos(angle) + math.Cos(lat1)*math.Sin(angle)*math.Cos(bearing))
	lng2 := lng1 + math.Atan2(math.Sin(bearing)*math.Sin(angle)*math.Cos(lat1),
		math.Cos(angle)-math.Sin(lat1)*math.Sin(lat2))
	return lat2 * 180 / math.Pi, math.Remainder(lng2*180/math.Pi, 360)
}

func timesCovered(circle store.Circle, cell int) int {
	times := 0
	for _, run := range circle.Cover() {
		if cell >= run.First && cell <= run.Last {
			times++
		}
	}
	return times
}

func TestHaversineOfARadius(t *testing.T) {
	quarter := math.Pi / 2 * store.EarthRadiusKM // of the circumference
	for _, test := range []struct {
		name     string
		radiusKM float64
		want     float64
	}{
		{"a point", 0, 0},
		{"a quarter of the circumference", quarter, 0.5},
		{"half the circumference covers everything", 2 * quarter, 1},
		{"more than half covers no less", 3 * quarter, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := (store.Circle{RadiusKM: test.radiusKM}).Haversine(); math.Abs(got-test.want) > 1e-12 {
				t.Errorf("got %g, want %g", got, test.want)
			}
		})
	}
}

func TestNarrowerCirclesAreWithinTheCircle(t *testing.T) {
	county := store.Circle{Lat: 40, Lng: 0, RadiusKM: 60}
	for _, test := range []struct {
		need, total int64
		want        string // how many would be in each if all were spread evenly, rounded
	}{
		{need: 16, total: 100_000, want: "[1 8 64 512 4096]"},
		{need: 1600, total: 100_000, want: "[100 800 6400]"},
		{need: 50_000, total: 100_000, want: "[3125]"},
		{need: 16, total: 8, want: "[]"},
	} {
		held := []int64{}
		for _, circle := range county.Narrower(test.need, test.total, 8) {
			if circle.Lat != county.Lat || circle.Lng != county.Lng {
				t.Errorf("%+v has another centre than %+v", circle, county)
			}
			if _, part := math.Modf(circle.RadiusKM * 1e6); math.Abs(part-0.5) > 1e-3 {
				t.Errorf("the edge of %+v is not between two millimetres", circle)
			}
			held = append(held, int64(math.Round(float64(test.total)*math.Pow(circle.RadiusKM/county.RadiusKM, 2))))
		}
		if got := fmt.Sprint(held); got != test.want {
			t.Errorf("for %d of %d perks the circles would hold %s, want %s", test.need, test.total, got, test.want)
		}
	}
}
