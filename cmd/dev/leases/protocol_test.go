// Package leases runs the protocol of docs/scaling.md, by which regions lease the stock of a perk from its home, in random schedules. It has
// nothing but tests.
package leases

import "slices"

// flaw breaks one rule of the protocol, so that a test can see that the schedules find it.
type flaw string

const (
	noFlaw                   flaw = ""
	grantsADuplicateAnew     flaw = "the home grants a repeated request as a new lease"
	appliesAGrantTwice       flaw = "a region applies a repeated grant again"
	settlesTwice             flaw = "the home takes back the rest of a lease at each report"
	takesBackAtExpiry        flaw = "the home takes back an expired lease without a report"
	redeemsFromASealedLease  flaw = "a region redeems from a lease after reporting it"
	numbersARefusedRequest   flaw = "a region gives up a request that was not granted, and asks under a new number"
	addsReturnedUnits        flaw = "the home adds up messages of returned units instead of taking the highest total"
	repliesBeforeTheCommit   flaw = "a region replies before its commit"
	redeemsARetryAgain       flaw = "a region redeems again for a repeated key"
	keepsLeasesAfterARestore flaw = "a region restored from a backup redeems from the leases in it"
	keepsEpochAfterARestore  flaw = "a region restored from a backup keeps its epoch, and discards its leases"
	hearsARecountedEpoch     flaw = "the home accepts messages of an epoch that was recounted"
	returnsOtherEpochs       flaw = "a restored region returns units of redemptions that it made before"
)

// kind is what a message asks or says.
type kind int

const (
	request  kind = iota // region to home: grant lease number, of units at most
	grant                // home to region: lease number has units
	final                // region to home: of lease number, units were redeemed, and no more will be
	settled              // home to region: lease number may be forgotten
	returned             // region to home: units were given back in this epoch, after their leases were sealed
	recall               // home to region: seal the leases
)

// message may be lost, repeated, delayed and overtaken. A region is addressed by its epoch.
type message struct {
	kind          kind
	epoch, number int
	units         int
}

// lease is a number of units that one epoch of a region may redeem. It is known by the epoch and its number there.
type lease struct {
	epoch, number int
	size          int
	used          int // only the region knows
	sealed        bool
}

// holder is what the home remembers of an epoch, for ever.
type holder struct {
	granted     int // the number of its last lease
	returned    int // the highest total that it has reported
	outstanding int // units that it may have redeemed
	recounted   bool
}

// home has the stock. Each of its methods is one transaction of its database.
type home struct {
	flaw    flaw
	free    int // units that nobody has
	holders []holder
	open    []lease // granted and not settled
	send    func(message)
}

func (h *home) receive(m message) {
	holder := &h.holders[m.epoch]
	if holder.recounted && h.flaw != hearsARecountedEpoch {
		return
	}
	switch m.kind {
	case request:
		h.grant(holder, m)
	case final:
		if i := h.indexOf(m.epoch, m.number); i >= 0 {
			h.takeBack(holder, h.open[i].size-m.units)
			if h.flaw != settlesTwice {
				h.open = slices.Delete(h.open, i, i+1)
			}
		}
		h.send(message{settled, m.epoch, m.number, 0})
	case returned:
		if h.flaw == addsReturnedUnits {
			holder.returned = 0
		}
		if more := m.units - holder.returned; more > 0 {
			holder.returned = m.units
			h.takeBack(holder, more)
		}
	}
}

func (h *home) grant(holder *holder, m message) {
	if m.number <= holder.granted && h.flaw != grantsADuplicateAnew { // the reply may have been lost, or the lease be settled
		if i := h.indexOf(m.epoch, m.number); i >= 0 {
			h.send(message{grant, m.epoch, m.number, h.open[i].size})
		}
		return
	}
	size := min(m.units, h.free)
	if size <= 0 { // no reply: the region asks again under the same number
		for _, other := range h.open {
			h.send(message{recall, other.epoch, 0, 0})
		}
		return
	}
	h.free -= size
	holder.granted, holder.outstanding = m.number, holder.outstanding+size
	h.open = append(h.open, lease{epoch: m.epoch, number: m.number, size: size})
	h.send(message{grant, m.epoch, m.number, size})
}

func (h *home) indexOf(epoch, number int) int {
	return slices.IndexFunc(h.open, func(l lease) bool { return l.epoch == epoch && l.number == number })
}

func (h *home) takeBack(holder *holder, units int) {
	h.free += units
	holder.outstanding -= units
}

// expire is no part of the protocol: the home cannot know how much of the lease is used.
func (h *home) expire(i int) {
	l := h.open[i]
	h.takeBack(&h.holders[l.epoch], l.size)
	h.open = slices.Delete(h.open, i, i+1)
}

// recount ends an epoch that nobody continues: live redemptions of it were counted, and the rest is free. It may be repeated.
func (h *home) recount(epoch, live int) {
	holder := &h.holders[epoch]
	h.takeBack(holder, holder.outstanding-live)
	holder.recounted = true
	h.open = slices.DeleteFunc(h.open, func(l lease) bool { return l.epoch == epoch })
}

// redemption is made once for its key.
type redemption struct {
	id            int // of the world's record
	key           int
	epoch, number int // of its lease
	voided        bool
}

// region redeems without asking the home. Its fields are in its database. Each of its methods is one transaction.
type region struct {
	flaw        flaw
	epoch       int
	asked       int // the number of the last request
	applied     int // the number of the last grant
	want        int
	leases      []lease
	returned    int // in this epoch
	redemptions []redemption
}

func (r *region) copy() region {
	c := *r
	c.leases, c.redemptions = slices.Clone(r.leases), slices.Clone(r.redemptions)
	return c
}

// redeem reports whether there is a redemption under the key, and whether it is new.
func (r *region) redeem(key int) (made redemption, ok, isNew bool) {
	if r.flaw != redeemsARetryAgain {
		if i := slices.IndexFunc(r.redemptions, func(m redemption) bool { return m.key == key }); i >= 0 {
			return r.redemptions[i], true, false
		}
	}
	for i := range r.leases {
		l := &r.leases[i]
		if l.used < l.size && (!l.sealed || r.flaw == redeemsFromASealedLease) {
			l.used++
			made = redemption{key: key, epoch: r.epoch, number: l.number}
			r.redemptions = append(r.redemptions, made)
			return made, true, true
		}
	}
	return redemption{}, false, false
}

// void gives the unit back to its lease or, if the home has been told how much of that was used, to the home. What an earlier epoch made
// is recounted with that epoch.
func (r *region) void(i int) {
	made := &r.redemptions[i]
	made.voided = true
	if made.epoch != r.epoch && r.flaw != returnsOtherEpochs {
		return
	}
	for j := range r.leases {
		if l := &r.leases[j]; l.number == made.number && !l.sealed {
			l.used--
			return
		}
	}
	r.returned++
}

// ask requests a lease, or repeats the last request if that was not granted.
func (r *region) ask(want int) message {
	if r.asked == r.applied || r.flaw == numbersARefusedRequest {
		r.asked, r.want = r.asked+1, want
	}
	return message{request, r.epoch, r.asked, r.want}
}

func (r *region) receive(m message) {
	switch m.kind {
	case grant:
		if m.number == r.asked && m.number > r.applied || r.flaw == appliesAGrantTwice {
			r.applied = m.number
			r.leases = append(r.leases, lease{epoch: r.epoch, number: m.number, size: m.units})
		}
	case settled:
		r.leases = slices.DeleteFunc(r.leases, func(l lease) bool { return l.number == m.number && l.sealed })
	case recall:
		r.seal()
	}
}

// seal ends all leases: their time is over by the region's own clock, or the home recalls them.
func (r *region) seal() {
	for i := range r.leases {
		r.leases[i].sealed = true
	}
}

// reports are sent again and again until the leases are settled.
func (r *region) reports() (m []message) {
	for _, l := range r.leases {
		if l.sealed {
			m = append(m, message{final, r.epoch, l.number, l.used})
		}
	}
	if r.returned > 0 {
		m = append(m, message{returned, r.epoch, 0, r.returned})
	}
	return m
}

// restore continues from a backup. Others may have redeemed meanwhile from the leases in it.
func (r *region) restore(backup region, epoch int) {
	*r = backup.copy()
	if r.flaw != keepsEpochAfterARestore {
		r.epoch, r.asked, r.applied, r.returned = epoch, 0, 0, 0
	}
	if r.flaw != keepsLeasesAfterARestore {
		r.leases = nil
	}
}
