package perk

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/operation"
	"example.com/perks/api/rows"
	"example.com/perks/cli/bulk"
	"example.com/perks/cli/session"
)

// redeemRun names the work of a run.
const redeemRun = "perk redeem"

// redeemColumns are the columns of a file for perk redeem. It ignores what only the service decides, so that an export
// of redemptions can be redeemed at another service.
func redeemColumns() *bulk.KnownColumns {
	return &bulk.KnownColumns{
		Columns: []bulk.Column{
			{Name: "perk_id", Aliases: []string{"perk"}, Required: true},
			{Name: "user_id", Aliases: []string{"user"}, Required: true},
			{Name: "metadata"},
		},
		Prefix:  metadataPrefix,
		Ignored: []string{"id", "redeemed_at", "status", "client_id"},
	}
}

// parseRedeemRow checks every rule that does not depend on the service's data.
func parseRedeemRow(known *bulk.KnownColumns, row rows.Row) (r operation.Redeem, err error) {
	values, err := known.Read(row)
	if err != nil {
		return r, err
	}
	problems := api.FieldErrors{}
	readID(&r.PerkID, values["perk_id"], api.AnyIDRule, problems)
	readID(&r.Request.UserID, values["user_id"], api.AnyIDRule, problems)
	r.Request.Metadata = readMetadata(row, values, problems)
	return r, problems.Err()
}

func readID(into *string, value bulk.Value, rule func(string) string, problems api.FieldErrors) {
	problem := value.Text(into)
	if problem == "" {
		problem = rule(*into)
	}
	if problem != "" {
		problems.Add(value.Name, "%s", problem)
	}
}

// redeemer is what the rows of a run share.
type redeemer struct {
	connect  func() (*client.Client, error)
	columns  *bulk.KnownColumns
	requests singleflight.Group
	perks    *lru.Cache[string, knownPerk]

	lacksCheck atomic.Bool // the service does not tell this client who can redeem what
	assumeMine bool        // nobody else redeems for the users of the file
	resends    bool        // nobody minds if a row whose outcome is unknown is redeemed twice
}

func newRedeemer(connect func() (*client.Client, error)) *redeemer {
	perks, _ := lru.New[string, knownPerk](maxKnownPerks) // fails only for a size below 1
	return &redeemer{connect: connect, columns: redeemColumns(), perks: perks}
}

func (r *redeemer) work() bulk.Work {
	honoursKeys := func() bool {
		c, err := r.connect()
		return err == nil && c.HonoursKeys()
	}
	return bulk.Work{Name: redeemRun, Parse: r.parse, HonoursKeys: honoursKeys, Resends: r.resends}
}

func (r *redeemer) parse(row rows.Row) (bulk.Task, error) {
	parsed, err := parseRedeemRow(r.columns, row)
	if err != nil {
		return nil, err
	}
	parsed.Alone = r.assumeMine
	return &redeemTask{redeemer: r, Redeem: parsed}, nil
}

type redeemTask struct {
	*redeemer
	operation.Redeem
}

// Subject is the perk and the user, because a user can redeem a perk once. UUIDs are equal in any case.
func (t *redeemTask) Subject() string {
	return api.LowerUUID(t.PerkID) + "\x00" + api.LowerUUID(t.Request.UserID)
}

func (t *redeemTask) Send(ctx context.Context, key string) (o operation.Outcome, replayed bool, err error) {
	if t.Client, err = t.connect(); err != nil {
		return o, false, err
	}
	redemption, replayed, err := t.Redeem.Send(ctx, key)
	if err != nil {
		return o, false, err
	}
	return outcomeOf(redemption), replayed, nil
}

// Observe reads what the user had redeemed before.
func (t *redeemTask) Observe(ctx context.Context) {
	var err error
	if t.Client, err = t.connect(); err == nil {
		t.Redeem.Observe(ctx)
	}
}

func (t *redeemTask) LookUp(
	ctx context.Context, since time.Time, taken func(id string) bool,
) (o operation.Outcome, event operation.Event, err error) {
	if t.Client, err = t.connect(); err != nil {
		return o, operation.Unread, err
	}
	t.Taken = taken
	redemption, event, err := t.Redeem.LookUp(ctx, since)
	if redemption.ID != "" {
		o = outcomeOf(redemption)
	}
	return o, event, err
}

// Check asks whether the user could redeem the perk now.
func (t *redeemTask) Check(ctx context.Context) (string, []session.Change, error) {
	c, err := t.connect()
	if err != nil {
		return "", nil, err
	}
	if !t.lacksCheck.Load() {
		answer, err := c.Eligibility(ctx, t.PerkID, t.Request.UserID)
		if err == nil {
			err = answer.Refusal()
		}
		if !client.IsUnsupported(err) && api.CodeOf(err) != api.CodeInsufficientScope {
			return fmt.Sprintf("User %q can redeem perk %q now.", t.Request.UserID, t.PerkID), nil, err
		}
		t.lacksCheck.Store(true)
	}
	message, err := t.guess(ctx, c)
	return message, nil, err
}

// guess predicts from the lists what a service without a check of eligibility would say.
func (t *redeemTask) guess(ctx context.Context, c *client.Client) (string, error) {
	perk, err := t.find(ctx, c, t.PerkID)
	if err != nil {
		return "", err
	}
	return perk.predict(ctx, c, t.Request.UserID, time.Now())
}

// After says that a user can redeem a perk once.
func (t *redeemTask) After(line int) error {
	return api.Errorf(api.CodeAlreadyRedeemed, "Line %d already redeems perk %q for user %q.", line, t.PerkID,
		t.Request.UserID)
}

func outcomeOf(redemption api.Redemption) operation.Outcome {
	return operation.Outcome{ID: redemption.ID, Status: http.StatusCreated,
		RedemptionStatus: redemption.Status, Err: notInForce(redemption)}
}

// maxKnownPerks bounds the cache of perks. Most files are about few.
const maxKnownPerks = 4096

// maxPages bounds the pages of a user's list that a prediction reads.
const maxPages = 20

// knownPerk is the reply to a request for a perk.
type knownPerk struct {
	api.Perk // only the fields that a prediction needs
	err      error
}

// find reads a perk, or takes it from the cache: a million rows about ten perks need ten requests. It caches perks and
// that there is none, but no other failure.
func (r *redeemer) find(ctx context.Context, c *client.Client, id string) (knownPerk, error) {
	reply, _, _ := r.requests.Do(id, func() (any, error) {
		if known, ok := r.perks.Get(id); ok {
			return known, nil
		}
		perk, err := c.Perk(ctx, id)
		reply := knownPerk{api.Perk{ID: perk.ID, Title: perk.Title, City: perk.City, ValidFrom: perk.ValidFrom,
			ValidTo: perk.ValidTo}, err}
		if err == nil || client.IsNotFound(err) {
			r.perks.Add(id, reply)
		}
		return reply, nil
	})
	perk := reply.(knownPerk)
	return perk, perk.err
}

// predict reads whether the user could redeem the perk now: the service lists it as available to the user. Otherwise
// predict finds the reason, in the order in which the service checks.
func (p knownPerk) predict(ctx context.Context, c *client.Client, userID string, now time.Time) (message string,
	err error) {
	// Filters by the perk's own fields shorten the list. A server that does not know them sends all of it.
	filter, options := api.PerkFilter{Query: p.Title}, client.ListOptions{PerPage: api.MaxPerPage}
	if strings.TrimSpace(p.City) == p.City { // our server trims the filter, but not the perk's city
		filter.City = p.City
	}
	available, whole, err := contains(c.UserPerkPages(ctx, userID, filter, options),
		func(perk api.Perk) bool { return perk.ID == p.ID })
	switch {
	case err != nil:
		return "", err
	case available:
		return fmt.Sprintf("User %q can probably redeem perk %q now: it is among the perks for that user.", userID,
			p.ID), nil
	}
	redeemed, _, err := contains(c.UserRedemptionPages(ctx, userID, options),
		func(r api.Redemption) bool {
			return r.PerkID == p.ID && r.Status != api.StatusRejected
		})
	switch {
	case err != nil:
		return "", err
	case redeemed:
		return "", api.Errorf(api.CodeAlreadyRedeemed, "User %q has already redeemed perk %q.", userID, p.ID)
	case p.ValidFrom != nil && now.Before(*p.ValidFrom):
		return "", api.Errorf(api.CodePerkNotStarted, "Perk %q cannot be redeemed before %s.", p.ID,
			p.ValidFrom.UTC().Format(time.RFC3339))
	case p.ValidTo != nil && !now.Before(*p.ValidTo):
		return "", api.Errorf(api.CodePerkExpired, "Perk %q could be redeemed until %s.", p.ID,
			p.ValidTo.UTC().Format(time.RFC3339))
	case whole:
		return "", api.Errorf(api.CodeConflict,
			"Perk %q is not among the perks for user %q. The service does not say why.", p.ID, userID)
	}
	return fmt.Sprintf("User %q may be able to redeem perk %q. The list of perks is too long to tell.",
		userID, p.ID), nil
}

// contains searches the first pages of a list; whole is false if it gave up before the end.
func contains[T any](pages client.Pages[T], wanted func(T) bool) (found, whole bool, err error) {
	read := 0
	for page, err := range pages {
		if err != nil {
			return false, false, err
		}
		if slices.ContainsFunc(page.Data, wanted) {
			return true, true, nil
		}
		if read++; read == maxPages {
			return false, false, nil
		}
	}
	return false, true, nil
}

// metadataPrefix starts the names of CSV columns for single members of the metadata.
const metadataPrefix = "metadata."

// readMetadata returns the metadata of a row as a compact object, nil if the row has none.
func readMetadata(row rows.Row, values bulk.Row, problems api.FieldErrors) json.RawMessage {
	whole, isWhole := values["metadata"]
	members := map[string]string{}
	for name, value := range values {
		if key, ok := strings.CutPrefix(name, metadataPrefix); ok {
			var text string
			_ = value.Text(&text) // a cell is always text
			members[key] = text
		}
	}
	column := "metadata"
	var metadata json.RawMessage
	switch {
	case isWhole && len(members) > 0:
		problems.Add(column, "must be empty if a column such as %sKEY has a value", metadataPrefix)
	case isWhole:
		metadata = rawMember(row, whole)
	case len(members) > 0:
		column = metadataPrefix + "KEY"
		metadata, _ = api.EncodeJSON(members) // a map of strings always marshals
	}
	if metadata = bytes.TrimSpace(metadata); len(metadata) == 0 || string(metadata) == "null" {
		return nil
	}
	compact, err := api.ParseMetadata(metadata)
	if err != nil {
		problems.Add(column, "%s", err)
	}
	return compact
}

// rawMember returns the metadata as it is in the cell or in the object.
func rawMember(row rows.Row, value bulk.Value) json.RawMessage {
	if row.Object == nil {
		var text string
		_ = value.Text(&text)
		return json.RawMessage(text)
	}
	var object struct {
		Metadata json.RawMessage `json:"metadata"`
	}
	_ = json.Unmarshal(row.Object, &object) // it has been parsed before
	return object.Metadata
}
