package perk

import (
	"context"
	"sync"

	"golang.org/x/sync/singleflight"

	"example.com/perks/api"
	"example.com/perks/api/client"
)

// maxKnownPerks bounds what is remembered. Files are about few perks; one that is not asks more often.
const maxKnownPerks = 4096

// knownPerks remembers which perks there are and are not, so that a million rows about ten perks ask ten times.
type knownPerks struct {
	asking singleflight.Group

	mu      sync.Mutex
	answers map[string]error
}

// find returns nil if there is such a perk.
func (p *knownPerks) find(ctx context.Context, c *client.Client, id string) error {
	_, err, _ := p.asking.Do(id, func() (any, error) {
		answer, known := p.recall(id)
		if !known {
			_, answer = c.Perk(ctx, id)
			p.remember(id, answer)
		}
		return nil, answer
	})
	return err
}

func (p *knownPerks) recall(id string) (answer error, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	answer, known = p.answers[id]
	return answer, known
}

// remember keeps what the service said for sure; after any other failure it is asked again.
func (p *knownPerks) remember(id string, answer error) {
	if answer != nil && api.CodeOf(answer) != api.CodeNotFound {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.answers == nil || len(p.answers) >= maxKnownPerks {
		p.answers = map[string]error{}
	}
	p.answers[id] = answer
}
