package server_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/server"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

// TestNothingTellsThatWhatHasExpiredIsPending asks each address first after a redemption has expired.
func TestNothingTellsThatWhatHasExpiredIsPending(t *testing.T) {
	clock := clockAt(10)
	s := fixture(t, servertest.WithClock(clock), func(c *server.Config) { c.CreateUsers = true })
	hold, stock := api.Hold(2), int64(1)
	s.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "room", Title: "Room", Description: "D", City: "C"},
		Approval: store.ApprovalManual, HoldFor: &hold, Stock: &stock})
	token := s.Token(api.AllScopes()...)
	pair := `{"pairs":[{"perk_id":"room","user_id":"next"}]}`
	available := func(path string) func(made api.Redemption) bool {
		return func(made api.Redemption) bool {
			page, _ := servertest.Read[api.Page[api.Perk]](s, token, s.LiveURL()+fmt.Sprintf(path, made.UserID))
			for _, perk := range page.Data {
				if perk.ID == "room" {
					return true
				}
			}
			return false
		}
	}
	listed := func(query string) func(api.Redemption) bool {
		return func(made api.Redemption) bool {
			page, _ := servertest.Read[api.Page[api.RedemptionRecord]](s, token, s.LiveURL()+"/redemptions"+query)
			for _, r := range page.Data {
				if r.ID == made.ID {
					return r.Status == api.StatusRejected && *r.Reason == api.ReasonExpired && r.ExpiresAt == nil
				}
			}
			return false
		}
	}
	for name, isFree := range map[string]func(made api.Redemption) bool{
		"what another user can redeem": available("/perks/users/next?ignored=%s"),
		"what its user can redeem":     available("/perks/users/%s"),
		"all redemptions":              listed("?per_page=100"),
		"rejected redemptions":         listed("?status=rejected&per_page=100"),
		"the redemption": func(made api.Redemption) bool {
			r, _ := servertest.Read[api.RedemptionRecord](s, token, s.LiveURL()+"/redemptions/"+made.ID)
			return r.Status == api.StatusRejected && r.DecidedAt.Equal(made.RedeemedAt.Add(hold.Duration()))
		},
		"eligibility": func(api.Redemption) bool {
			e, _ := servertest.Read[api.Eligibility](s, token, s.LiveURL()+"/perks/room/eligibility?user_id=next")
			return e.Eligible
		},
		"eligibility of many": func(api.Redemption) bool {
			var list api.EligibilityList
			s.Do(s.Request(token, "POST", s.LiveURL()+"/eligibility", pair), &list)
			return list.Data[0].Eligible
		},
		"a report": func(api.Redemption) bool {
			report, _ := servertest.Read[api.Report](s, token, s.LiveURL()+"/reports/redemptions?by=status")
			return report.Meta.Totals.Pending == 0
		},
		"approving": func(made api.Redemption) bool {
			return s.Status(token, "POST", s.LiveURL()+"/redemptions/"+made.ID+"/approve", "") == http.StatusConflict
		},
		"rejecting": func(made api.Redemption) bool {
			return s.Status(token, "POST", s.LiveURL()+"/redemptions/"+made.ID+"/reject", `{"reason":"late"}`) ==
				http.StatusConflict
		},
	} {
		t.Run(name, func(t *testing.T) {
			user := fmt.Sprint("user-", clock.Now().Unix())
			var made api.Redemption
			s.Do(redeemRequest(s, token, "room", `{"user_id":"`+user+`"}`, ""), &made)
			clock.Advance(hold.Duration() - time.Millisecond)
			pending, _ := servertest.Read[api.RedemptionRecord](s, token, s.LiveURL()+"/redemptions/"+made.ID)
			if pending.Status != api.StatusPending || !pending.ExpiresAt.Equal(made.RedeemedAt.Add(hold.Duration())) {
				t.Errorf("before it expires, it is %+v", pending)
			}
			clock.Advance(time.Millisecond)
			if !isFree(made) {
				t.Error("it has expired, and still looks pending")
			}
		})
	}
}

// TestADecisionIsInTimeUntilTheLastMoment approves a redemption, which does not expire then.
func TestADecisionIsInTimeUntilTheLastMoment(t *testing.T) {
	clock := clockAt(10)
	s := fixture(t, servertest.WithClock(clock), func(c *server.Config) { c.CreateUsers = true })
	hold := api.Hold(2)
	s.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "room", Title: "Room", Description: "D", City: "C"},
		Approval: store.ApprovalManual, HoldFor: &hold})
	token := s.Token(api.AllScopes()...)
	var made api.Redemption
	s.Do(redeemRequest(s, token, "room", `{"user_id":"alice"}`, ""), &made)
	clock.Advance(hold.Duration() - time.Millisecond)
	address := s.LiveURL() + "/redemptions/" + made.ID
	if status := s.Status(token, "POST", address+"/approve", ""); status != http.StatusOK {
		t.Fatalf("in time it got %d", status)
	}
	clock.Advance(time.Minute)
	if r, _ := servertest.Read[api.RedemptionRecord](s, token, address); r.Status != api.StatusApproved ||
		r.ExpiresAt != nil {
		t.Errorf("it is %+v", r)
	}
}
