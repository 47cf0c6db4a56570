package command

import "time"

const (
	memory   = 10          // how many moments a pace remembers
	interval = time.Second // the least time between two of them
)

// pace measures how fast items go by over the last ten seconds or so: over the whole run it would take long to show that the
// service has become slow, and over less it would jump.
type pace struct {
	began   moment
	moments [memory]moment // a ring; those that are not filled yet are the beginning
	latest  int
	current moment
}

type moment struct {
	at     time.Time
	worked int64
}

func newPace(began time.Time) pace {
	p := pace{began: moment{at: began}, current: moment{at: began}}
	for i := range p.moments {
		p.moments[i] = p.began
	}
	return p
}

func (p *pace) add(at time.Time, worked int64) {
	p.current = moment{at, worked}
	if at.Sub(p.moments[p.latest].at) >= interval {
		p.latest = (p.latest + 1) % memory
		p.moments[p.latest] = p.current
	}
}

// rate returns items per second, 0 while nothing is known.
func (p *pace) rate() float64 {
	return p.moments[(p.latest+1)%memory].rateUntil(p.current)
}

// overall returns the same for the whole run.
func (p *pace) overall(now time.Time, worked int64) float64 {
	return p.began.rateUntil(moment{now, worked})
}

func (m moment) rateUntil(later moment) float64 {
	seconds := later.at.Sub(m.at).Seconds()
	if seconds <= 0 {
		return 0
	}
	return float64(later.worked-m.worked) / seconds
}
