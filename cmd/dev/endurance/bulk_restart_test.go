package endurance

import (
	"testing"
	"time"
)

func TestServerThatRestartsCostsNoRow(t *testing.T) {
	t.Parallel()
	r := rowsOf(120)
	for name, s := range map[string]service{"ours": ourService(t), "theirs": foreignService(t, &foreign{})} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.proxy.t = t
			j := newJob(t, s, r)
			p := j.start()
			down := make(chan struct{})
			j.proxy.set(50, afterWork, func() { close(down) })
			<-down
			j.proxy.restart(2 * time.Second)
			p.must(0)
			j.check()
		})
	}
}

// restart breaks all connections, and refuses new ones for a while.
func (p *faultProxy) restart(after time.Duration) {
	if err := p.server.Close(); err != nil {
		p.t.Error(err)
	}
	<-time.After(after)
	// A connection to elsewhere may have begun at the port meanwhile, and ends soon.
	eventually(p.t, atLast, "the port is free again", func() bool { return p.open() == nil })
}
