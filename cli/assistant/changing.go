package assistant

import (
	"context"
	"fmt"
	"slices"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/operation"
	"example.com/perks/cli/perk"
	"example.com/perks/cli/property"
	"example.com/perks/cli/record"
	"example.com/perks/cli/session"
)

// changingTools are those that prepare a change, and the one that carries it out. The sandbox has no properties.
func changingTools(to session.Connection) []tool {
	all := []tool{
		{
			name: "prepare_redeem", title: "Prepare to redeem", run: prepareRedeem,
			does:   "Say whether a user could redeem a perk, and draft it. Nothing is redeemed until confirm.",
			params: []param{perkID, userID, {name: "metadata", does: "what to keep with the redemption", kind: object}},
		},
		{
			name: "prepare_decision", title: "Prepare a decision", run: prepareDecision,
			does: "Draft the approval or rejection of a pending redemption. Nothing is decided until confirm.",
			params: []param{
				redemptionID, {name: "decision", does: "what to decide", values: []string{approve, reject}, required: true},
				{name: "reason", does: "why, for those who look at the redemption later; a rejection needs one"},
			},
		},
		preparing("prepare_property_update", "Prepare to update a property", property.Kind, propertyID),
		preparing("prepare_perk_update", "Prepare to update a perk", perk.Kind, perkID),
		{
			name: "confirm", title: "Confirm a draft", params: []param{draftID}, changes: true, run: confirm,
			does: "Carry out a draft exactly as it was prepared. A draft is valid for 10 minutes, and is carried out once: " +
				"confirming it again returns the same result. Ask a person first.",
		},
	}
	return slices.DeleteFunc(all, func(t tool) bool { return to.Sandbox && t.name == "prepare_property_update" })
}

// draft keeps a change, and answers what it would do.
func (a *assistant) draft(d *draft, says prepared) (answer, error) {
	says.Draft, says.ValidUntil, d.would = d.id, d.expires, says.Would
	if err := a.drafts.keep(d); err != nil {
		return answer{}, err
	}
	return answer{Source: &a.from, Data: says}, nil
}

func prepareRedeem(ctx context.Context, a *assistant, args arguments) (answer, error) {
	ids, err := args.ids(perkID.name, userID.name)
	if err != nil {
		return answer{}, err
	}
	metadata, err := api.ParseMetadata(args["metadata"])
	if err != nil {
		return answer{}, api.FieldErrorf("metadata", "%s", err)
	}
	pair := api.Pair{PerkID: ids[0], UserID: ids[1]}
	// A check keeps what it has read of perks, so that it must not outlive the call.
	would, err := operation.NewEligibilityCheck().Predict(ctx, a.client, pair)
	if err != nil {
		return answer{}, err
	}
	d := a.drafts.newDraft()
	attempt := operation.NewRedeeming(pair.PerkID, api.RedeemRequest{UserID: pair.UserID, Metadata: metadata}, d.id)
	d.carryOut = func(ctx context.Context) (any, bool, error) {
		if attempt.State.IsDoubtful() && !a.client.HonoursKeys() { // to send it again could redeem twice
			attempt = attempt.Check(ctx, a.client, nil)
		} else {
			attempt = attempt.Send(ctx, a.client, nil)
		}
		return attempt.Result, attempt.State.IsDoubtful(), attempt.Failure()
	}
	return a.draft(d, prepared{Would: would, Request: struct {
		api.Pair
		Metadata any `json:"metadata"`
	}{pair, metadata}})
}

// The decisions of prepare_decision.
const approve, reject = "approve", "reject"

func prepareDecision(ctx context.Context, a *assistant, args arguments) (answer, error) {
	ids, err := args.ids(redemptionID.name)
	if err != nil {
		return answer{}, err
	}
	status, reason := api.StatusApproved, args.text("reason")
	if args.text("decision") == reject {
		status = api.StatusRejected
	}
	if problem := api.ReasonRule(reason, status == api.StatusRejected); problem != "" {
		return answer{}, api.FieldErrorf("reason", "%s", problem)
	}
	now, etag, err := a.client.Redemption(ctx, ids[0])
	if err == nil && now.Status != status.DecidedFrom() {
		err = api.Errorf(api.CodeConflict, "Redemption %s is %s, and only one that is %s can be %s.", now.ID, now.Status,
			status.DecidedFrom(), status)
	}
	if err == nil {
		err = a.client.FourEyes(now, status)
	}
	if err != nil {
		return answer{}, err
	}
	d := a.drafts.newDraft()
	attempt := operation.Deciding{ID: now.ID, Status: status, Reason: reason, ETag: etag}
	d.carryOut = func(ctx context.Context) (any, bool, error) {
		attempt = attempt.Send(ctx, a.client)
		return attempt.Result, attempt.State.IsDoubtful(), attempt.Failure()
	}
	return a.draft(d, prepared{
		Would: fmt.Sprintf("Redemption %s would be %s.", now.ID, status), Record: now,
		Request: map[string]string{"redemption": now.ID, "status": string(status), "reason": reason},
	})
}

// preparing makes the tool that drafts an update of a kind of record.
func preparing[I ~string, R any, P operation.Patch[R, P]](
	name, title string, kind *record.Kind[I, R, P], of param,
) tool {
	fields := param{name: "fields", kind: object, required: true,
		does: "the fields to change, each with its new value; all others stay as they are"}
	for _, field := range kind.Fields() {
		fields.members = append(fields.members, map[string]any{"name": field.Name, "description": field.Help})
	}
	return tool{
		name: name, title: title, params: []param{of, fields},
		does: "Say what an update of a " + kind.Name + " would change, and draft it. Nothing is changed until confirm.",
		run: func(ctx context.Context, a *assistant, args arguments) (answer, error) {
			ids, err := args.ids(of.name)
			if err != nil {
				return answer{}, err
			}
			members, err := api.ParseObject(args[fields.name])
			if err != nil {
				return answer{}, err
			}
			patch, err := kind.Parse(members)
			if err != nil {
				return answer{}, err
			}
			saving := operation.Saving[I, R, P]{Kind: kind.EditKind, ID: I(ids[0]), Patch: patch}.Read(ctx, a.client)
			if saving.ReadErr != nil {
				return answer{}, saving.ReadErr
			}
			before := saving.Current.Record
			saving.ETag, saving.Base = saving.Current.ETag, &before
			found := kind.Predict(ctx, a.client, saving)
			if found.Err == nil && len(found.Changes) == 0 {
				found.Err = api.Errorf(api.CodeValidationFailed, "%s There is nothing to confirm.", found.Message)
			}
			if found.Err != nil {
				return answer{}, found.Err
			}
			d := a.drafts.newDraft()
			d.carryOut = func(ctx context.Context) (any, bool, error) {
				sent := saving.Send(ctx, a.client)
				if sent.IsDone() {
					return map[string]any{of.name: ids[0], "message": sent.Message, "changes": found.Changes}, false, nil
				}
				return nil, client.OutcomeUnknown(sent.Err), sent.Err
			}
			return a.draft(d, prepared{Would: found.Message, Changes: found.Changes, Record: before,
				Request: map[string]any{of.name: ids[0], fields.name: patch, "if_match": saving.ETag}})
		},
	}
}
