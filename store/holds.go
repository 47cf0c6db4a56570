package store

import (
	"context"
	"time"
)

// expiredChunk is how many redemptions one transaction expires, so that other writes do not wait.
const expiredChunk = 25

// expiring is the condition on redemptions AS r that may expire, as their indexes have it.
const expiring = `r.status = 'pending' AND r.expires_at IS NOT NULL`

func (o Operations) ExpireRedemptions(
	ctx context.Context, at time.Time,
) (expired int, next *time.Time, err error) {
	for {
		next, err = Read(notBehind(ctx), o.db, "look for what has expired", func(q Querier) (*time.Time, error) {
			return One(q, ScanValue[*time.Time],
				`SELECT (SELECT r.expires_at FROM redemptions AS r WHERE `+expiring+` ORDER BY r.expires_at LIMIT 1)`)
		})
		if err != nil || next == nil || next.After(at) {
			return expired, next, err
		}
		n, err := writeFor(ctx, o, "expire redemptions", func(tx Tx) (int, error) {
			return o.db.Expire(tx, at, "", "")
		})
		expired += n
		if err != nil {
			return expired, nil, err
		}
	}
}

// Expire rejects pending redemptions that nobody has decided in time, some of those that expired first. They are those
// of the perk and of the user, unless that is "". Whoever has locked perks may expire only what is theirs.
func (d *Dialect) Expire(tx Tx, at time.Time, perkID, userID string) (expired int, err error) {
	where, args := expiring+` AND r.expires_at <= @at`, Named{"at": at, "most": expiredChunk}
	if perkID != "" {
		where += ` AND r.` + d.StockPerk + ` = (SELECT ` + d.PerkKey + ` FROM perks WHERE id = @perk)`
		args["perk"] = perkID
	}
	if userID != "" {
		where, args["user"] = where+` AND r.user_id = @user`, userID
	}
	// In the order of the perks, in which all lock the stock.
	due, err := All(tx, ScanValue[string], `
		SELECT id FROM (
			SELECT r.id, r.`+d.StockPerk+` AS perk FROM redemptions AS r
			WHERE `+where+` ORDER BY r.expires_at LIMIT @most) AS due
		ORDER BY perk, id`, args)
	if err != nil {
		return 0, err
	}
	for _, id := range due {
		if err := lock(tx, d.LockStock, id); err != nil {
			return expired, err
		}
		before, err := d.redemption(tx, id)
		after := before.At(at)
		if err == nil && after.Status != before.Status { // otherwise somebody has decided it meanwhile
			_, err = d.decide(tx, before, after, Service)
			expired++
		}
		if err != nil {
			return expired, err
		}
	}
	return expired, nil
}
