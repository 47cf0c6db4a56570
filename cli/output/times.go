package output

import (
	"fmt"
	"reflect"
	"strings"
	"time"
)

const (
	day   = 24 * time.Hour
	month = 30 * day
	year  = 365 * day
)

// shortTime tells a moment in a list: as a distance while that is easier to grasp than a date.
func shortTime(moment, now time.Time) string {
	if moment.Sub(now).Abs() < month {
		return distance(moment, now)
	}
	return moment.Local().Format(time.DateOnly)
}

// longTime tells a moment where there is room: date, time and distance.
func longTime(moment, now time.Time) string {
	return moment.Local().Format("2006-01-02 15:04 MST") + ", " + distance(moment, now)
}

// distance tells how far a moment is from now in the largest unit that fits, rounded down.
func distance(moment, now time.Time) string {
	away := moment.Sub(now)
	var count time.Duration
	var unit string
	switch far := away.Abs(); {
	case far < time.Minute:
		return "now"
	case far < time.Hour:
		count, unit = far/time.Minute, "minute"
	case far < day:
		count, unit = far/time.Hour, "hour"
	case far < month:
		count, unit = far/day, "day"
	case far < year:
		count, unit = far/month, "month"
	default:
		count, unit = far/year, "year"
	}
	if count != 1 {
		unit += "s"
	}
	if away < 0 {
		return fmt.Sprintf("%d %s ago", count, unit)
	}
	return fmt.Sprintf("in %d %s", count, unit)
}

// moments are the fields of a type that hold a time.
type moments struct {
	index []int
	names map[string]bool
}

func momentsOf(t reflect.Type) moments {
	m := moments{names: map[string]bool{}}
	if t == nil || t.Kind() != reflect.Struct {
		return m
	}
	for i := range t.NumField() {
		field := t.Field(i)
		if field.Type == reflect.TypeFor[time.Time]() || field.Type == reflect.TypeFor[*time.Time]() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			m.index = append(m.index, i)
			m.names[name] = true
		}
	}
	return m
}

// toUTC turns the moments of a struct to UTC, which is how programs get them whatever the server wrote. What pointers point
// to is left as it is.
func (m moments) toUTC(value reflect.Value) {
	for _, i := range m.index {
		switch field := value.Field(i); moment := field.Interface().(type) {
		case time.Time:
			field.Set(reflect.ValueOf(moment.UTC()))
		case *time.Time:
			if moment != nil {
				utc := moment.UTC()
				field.Set(reflect.ValueOf(&utc))
			}
		}
	}
}
