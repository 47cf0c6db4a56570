package endurance

import (
	"testing"
	"time"
)

func TestServerThatRestartsCostsNoRow(t *testing.T) {
	t.Parallel()
	r := rowsOf(120)
	for name, s := range map[string]shop{"ours": ours(t), "theirs": theirs(t, &foreign{})} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.gate.t = t
			j := newJob(t, s, r)
			p := j.start()
			down := make(chan struct{})
			j.gate.set(50, afterWork, func() { close(down) })
			<-down
			j.gate.restart(2 * time.Second)
			p.must(0)
			j.check()
		})
	}
}

// restart breaks all connections, and refuses new ones for a while.
func (g *gate) restart(after time.Duration) {
	if err := g.server.Close(); err != nil {
		g.t.Error(err)
	}
	<-time.After(after)
	// A connection to elsewhere may have begun at the port meanwhile, and ends soon.
	eventually(g.t, "the port is free again", func() bool { return g.open() == nil })
}
