package leases

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
)

// TestLeasesNeverOversellAndLoseNothing runs each schedule with a seed of its own.
func TestLeasesNeverOversellAndLoseNothing(t *testing.T) {
	schedules := uint64(50_000)
	if os.Getenv("PERKS_ENDURANCE") == "long" {
		schedules = 5_000_000
	}
	var seen world
	for seed := range schedules {
		w := newWorld(noFlaw, seed)
		if err := w.run(); err != nil {
			t.Fatalf("schedule %d: %v", seed, err)
		}
		seen.made, seen.soldOut, seen.lost, seen.repeated = seen.made+w.made, seen.soldOut+w.soldOut, seen.lost+w.lost, seen.repeated+w.repeated
		seen.voids, seen.restores, seen.recounts = seen.voids+w.voids, seen.restores+w.restores, seen.recounts+w.recounts
	}
	t.Logf("%d schedules: %d redemptions, %d refused, %d voided; %d messages lost, %d repeated; %d regions restored, %d epochs recounted",
		schedules, seen.made, seen.soldOut, seen.voids, seen.lost, seen.repeated, seen.restores, seen.recounts)
	for what, count := range map[string]int{"redemption was made": seen.made, "redemption was refused": seen.soldOut, "redemption was voided": seen.voids,
		"message was lost": seen.lost, "message was repeated": seen.repeated, "region was restored": seen.restores, "epoch was recounted": seen.recounts} {
		if count < int(schedules)/10 {
			t.Errorf("hardly a %s: %d in %d schedules", what, count, schedules)
		}
	}
}

// TestEachFlawIsFound breaks one rule of the protocol after the other, which shows that the schedules would find it, and that each rule is
// needed.
func TestEachFlawIsFound(t *testing.T) {
	for _, flaw := range []flaw{
		grantsADuplicateAnew, appliesAGrantTwice, settlesTwice, takesBackAtExpiry, redeemsFromASealedLease, numbersARefusedRequest, addsReturnedUnits,
		repliesBeforeTheCommit, redeemsARetryAgain, keepsLeasesAfterARestore, keepsEpochAfterARestore, hearsARecountedEpoch, returnsOtherEpochs,
	} {
		t.Run(string(flaw), func(t *testing.T) {
			for seed := range uint64(20_000) {
				if err := newWorld(flaw, seed).run(); err != nil {
					t.Logf("schedule %d: %v", seed, err)
					return
				}
			}
			t.Error("no schedule finds it")
		})
	}
}

// copyOfARegion is a region's database at work. After a restore there may be two: nobody has noticed that the old one still runs.
type copyOfARegion struct {
	region
	number  int // of the region
	backup  region
	running bool
	newest  bool // it serves the region; otherwise a later copy does
}

// world is a home and its regions, the messages between them, and the truth about all redemptions.
type world struct {
	random *rand.Rand
	flaw   flaw
	stock  int
	home   home
	copies []*copyOfARegion // by epoch
	flying []message

	records []record
	live    []int // by epoch

	made, soldOut, lost, repeated, voids, restores, recounts int
}

// record is a committed redemption.
type record struct {
	key, epoch int
	voided     bool
}

// Keys are few, so that they repeat. A key belongs to one region, as its user does.
const (
	regions       = 3
	keysOfRegion  = 8
	steps         = 120
	roundsOfQuiet = 8
)

func newWorld(flaw flaw, seed uint64) *world {
	w := &world{random: rand.New(rand.NewPCG(seed, 0)), flaw: flaw}
	w.stock = 1 + w.random.IntN(12)
	w.home = home{flaw: flaw, free: w.stock, send: func(m message) { w.flying = append(w.flying, m) }}
	for number := range regions {
		w.add(number, region{flaw: flaw})
	}
	return w
}

// add puts a copy of a region to work, under an epoch of its own.
func (w *world) add(number int, backup region) {
	c := &copyOfARegion{number: number, backup: backup, running: true, newest: true}
	c.restore(backup, len(w.copies))
	w.copies, w.live = append(w.copies, c), append(w.live, 0)
	w.home.holders = append(w.home.holders, holder{})
}

// run takes random steps, lets the network and the regions recover, and looks for lost units.
func (w *world) run() error {
	for range steps {
		if err := w.step(); err != nil {
			return err
		}
		if err := w.check(); err != nil {
			return err
		}
	}
	return w.recover()
}

func (w *world) step() error {
	c := w.copies[w.random.IntN(len(w.copies))]
	if !c.running {
		if w.random.IntN(4) == 0 {
			w.recount(c)
		}
		return nil
	}
	switch n := w.random.IntN(100); {
	case n < 25:
		return w.redeem(c)
	case n < 32:
		w.void(c)
	case n < 45:
		w.home.send(c.ask(1 + w.random.IntN(4)))
	case n < 80:
		w.deliver()
	case n < 86:
		c.seal()
	case n < 94:
		for _, m := range c.reports() {
			w.home.send(m)
		}
	case n < 97:
		c.backup = c.region.copy()
	case n < 98:
		w.restore(c)
	case w.flaw == takesBackAtExpiry && len(w.home.open) > 0:
		w.home.expire(w.random.IntN(len(w.home.open)))
	}
	return nil
}

// redeem may be cut off by a crash of the region before its commit or before its reply.
func (w *world) redeem(c *copyOfARegion) error {
	key := c.number*keysOfRegion + w.random.IntN(keysOfRegion)
	before := c.region.copy()
	made, ok, isNew := c.region.redeem(key)
	if !ok {
		w.soldOut++
		return nil
	}
	crash := w.random.IntN(8)
	if crash == 0 {
		c.region = before
		if w.flaw != repliesBeforeTheCommit {
			return nil
		}
	} else if isNew {
		w.made++
		made.id = len(w.records)
		c.redemptions[len(c.redemptions)-1].id = made.id
		w.records = append(w.records, record{key: key, epoch: made.epoch})
		w.live[made.epoch]++
	}
	if crash == 1 {
		return nil
	}
	// The client has its reply.
	if made.id >= len(w.records) || w.records[made.id].key != key || w.records[made.id].epoch != made.epoch {
		return fmt.Errorf("the redemption %+v was acknowledged, and is not stored", made)
	}
	if w.home.holders[made.epoch].granted < made.number {
		return fmt.Errorf("the redemption %+v was acknowledged, and the home never granted its lease", made)
	}
	for id, other := range w.records {
		if id != made.id && other.key == key && other.epoch == made.epoch {
			return fmt.Errorf("the key %d was redeemed twice in epoch %d", key, made.epoch)
		}
	}
	return nil
}

func (w *world) void(c *copyOfARegion) {
	if len(c.redemptions) == 0 {
		return
	}
	i := w.random.IntN(len(c.redemptions))
	if c.redemptions[i].voided {
		return
	}
	c.region.void(i)
	w.voids++
	if r := &w.records[c.redemptions[i].id]; !r.voided { // by another copy
		r.voided = true
		w.live[r.epoch]--
	}
}

// deliver takes any of the messages on their way, so that they overtake each other. It may be lost, or stay and arrive once more.
func (w *world) deliver() {
	if len(w.flying) == 0 {
		return
	}
	i := w.random.IntN(len(w.flying))
	m := w.flying[i]
	fate := w.random.IntN(8)
	if fate != 0 {
		w.flying[i] = w.flying[len(w.flying)-1]
		w.flying = w.flying[:len(w.flying)-1]
	} else {
		w.repeated++
	}
	if fate == 1 {
		w.lost++
		return
	}
	w.arrive(m)
}

func (w *world) arrive(m message) {
	switch m.kind {
	case request, final, returned:
		w.home.receive(m)
	default:
		for _, c := range w.copies {
			if c.running && c.epoch == m.epoch {
				c.receive(m)
			}
		}
	}
}

// restore replaces a copy by its last backup. The old one goes on as long as nobody stops it.
func (w *world) restore(c *copyOfARegion) {
	if !c.newest || len(w.copies) >= 2*regions {
		return
	}
	w.restores++
	c.newest, c.running = false, w.random.IntN(2) == 0
	w.add(c.number, c.backup)
}

func (w *world) recount(c *copyOfARegion) {
	w.recounts++
	w.home.recount(c.region.epoch, w.live[c.region.epoch])
}

// check looks at the home's records and at the truth.
func (w *world) check() error {
	sum, live := w.home.free, 0
	for epoch, holder := range w.home.holders {
		sum, live = sum+holder.outstanding, live+w.live[epoch]
		if w.live[epoch] > holder.outstanding {
			return fmt.Errorf("%d redemptions of epoch %d are live, and %d units are leased to it", w.live[epoch], epoch, holder.outstanding)
		}
	}
	switch {
	case live > w.stock:
		return fmt.Errorf("oversold: %d of %d units", live, w.stock)
	case sum != w.stock || w.home.free < 0:
		return fmt.Errorf("the home has %d units free and %d in all, of a stock of %d", w.home.free, sum, w.stock)
	}
	return nil
}

// recover ends all leases. Then each unit is free, or of a live redemption.
func (w *world) recover() error {
	for range roundsOfQuiet {
		for _, c := range w.copies {
			if !c.running {
				continue
			}
			c.seal()
			if c.asked > c.applied {
				w.home.send(message{request, c.region.epoch, c.asked, c.want})
			}
			for _, m := range c.reports() {
				w.home.send(m)
			}
		}
		for len(w.flying) > 0 {
			m := w.flying[0]
			w.flying = w.flying[1:]
			w.arrive(m)
			if err := w.check(); err != nil {
				return err
			}
		}
	}
	live := 0
	for epoch, c := range w.copies {
		if !c.newest || !c.running {
			c.running = false
			w.home.recount(epoch, w.live[epoch])
		}
		live += w.live[epoch]
	}
	if err := w.check(); err != nil {
		return err
	}
	if w.home.free != w.stock-live {
		return fmt.Errorf("%d units are free, of a stock of %d with %d live redemptions", w.home.free, w.stock, live)
	}
	return nil
}
