package perk

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/rows"
	"example.com/perks/cli/bulk"
	"example.com/perks/cli/session"
)

// redeemColumns are the columns of a file of redemptions to make. What only the service decides, as exports of redemptions
// by perksctl and perksd have it, is passed over, so that what was redeemed in one place can be redeemed in another.
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

type redeemRow struct {
	perkID  string
	request api.RedeemRequest
}

// parseRedeemRow checks every rule that the service would find broken by the row alone.
func parseRedeemRow(known *bulk.KnownColumns, row rows.Row) (redeemRow, error) {
	values, err := known.Read(row)
	if err != nil {
		return redeemRow{}, err
	}
	var r redeemRow
	problems := api.FieldErrors{}
	readID(&r.perkID, values["perk_id"], api.PerkIDRule, problems)
	readID(&r.request.UserID, values["user_id"], api.UserIDRule, problems)
	r.request.Metadata = readMetadata(row, values, problems)
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

// redeemer makes the tasks of a run that redeems.
type redeemer struct {
	connect func() (*client.Client, error)
	columns *bulk.KnownColumns
	asking  singleflight.Group
	perks   *lru.Cache[string, knownPerk]

	assumeMine bool // nobody else redeems for the users of the file
}

func newRedeemer(connect func() (*client.Client, error)) *redeemer {
	perks, _ := lru.New[string, knownPerk](maxKnownPerks) // fails for no size but one below 1
	return &redeemer{connect: connect, columns: redeemColumns(), perks: perks}
}

func (r *redeemer) work() bulk.Work {
	honoursKeys := func() bool {
		c, err := r.connect()
		return err == nil && c.HonoursKeys()
	}
	return bulk.Work{Name: "perk redeem", Parse: r.parse, HonoursKeys: honoursKeys, Shared: !r.assumeMine}
}

func (r *redeemer) parse(row rows.Row) (bulk.Task, error) {
	parsed, err := parseRedeemRow(r.columns, row)
	if err != nil {
		return nil, err
	}
	return &redeemTask{r, parsed}, nil
}

type redeemTask struct {
	*redeemer
	redeemRow
}

// Subject is the one place that a user has on a perk, whichever case their UUIDs are written in.
func (t *redeemTask) Subject() string {
	return api.LowerUUID(t.perkID) + "\x00" + api.LowerUUID(t.request.UserID)
}

func (t *redeemTask) Do(ctx context.Context, key string) (bulk.Outcome, error) {
	c, err := t.connect()
	if err != nil {
		return bulk.Outcome{}, err
	}
	redemption, _, err := c.Redeem(ctx, t.perkID, t.request, key)
	if err != nil {
		return bulk.Outcome{}, err
	}
	return outcomeOf(redemption), nil
}

func (t *redeemTask) Done(ctx context.Context, since time.Time, taken func(id string) bool) (bulk.Outcome, bool, error) {
	c, err := t.connect()
	if err != nil {
		return bulk.Outcome{}, false, err
	}
	redemption, found, err := c.FindRedemption(ctx, t.perkID, t.request, since, taken)
	if err != nil || !found {
		return bulk.Outcome{}, false, err
	}
	return outcomeOf(redemption), true, nil
}

// Check asks whether the user could redeem the perk now.
func (t *redeemTask) Check(ctx context.Context) (string, []session.Change, error) {
	c, err := t.connect()
	if err != nil {
		return "", nil, err
	}
	perk, err := t.find(ctx, c, t.perkID)
	if err != nil {
		return "", nil, err
	}
	message, err := perk.predict(ctx, c, t.request.UserID, time.Now())
	return message, nil, err
}

// After says that the user has one place on a perk.
func (t *redeemTask) After(line int) error {
	return api.Errorf(api.CodeAlreadyRedeemed, "Line %d redeems perk %q for user %q already.", line, t.perkID, t.request.UserID)
}

func outcomeOf(redemption api.Redemption) bulk.Outcome {
	return bulk.Outcome{ID: redemption.ID, Status: http.StatusCreated}
}

// maxKnownPerks bounds what is remembered. Files are about few perks; one that is not asks more often.
const maxKnownPerks = 4096

// maxLookedAt bounds the pages that a prediction reads of a user's list.
const maxLookedAt = 20

// knownPerk is what the service said of a perk.
type knownPerk struct {
	api.Perk // only what a prediction needs
	err      error
}

// find asks for a perk once, so that a million rows about ten perks ask ten times. What the service said for sure is remembered;
// after any other failure it is asked again.
func (r *redeemer) find(ctx context.Context, c *client.Client, id string) (knownPerk, error) {
	answer, _, _ := r.asking.Do(id, func() (any, error) {
		if known, ok := r.perks.Get(id); ok {
			return known, nil
		}
		perk, err := c.Perk(ctx, id)
		answer := knownPerk{api.Perk{ID: perk.ID, Title: perk.Title, City: perk.City, ValidFrom: perk.ValidFrom, ValidTo: perk.ValidTo}, err}
		if err == nil || api.CodeOf(err) == api.CodeNotFound {
			r.perks.Add(id, answer)
		}
		return answer, nil
	})
	perk := answer.(knownPerk)
	return perk, perk.err
}

// predict finds out by reading alone whether the user could redeem the perk now. That the service lists the perk among those
// that are available to the user settles it; otherwise it looks for the reason, in the order in which the service does.
func (p knownPerk) predict(ctx context.Context, c *client.Client, userID string, now time.Time) (message string, err error) {
	// The user's list is narrowed by what the perk itself says. A server that does not know these filters sends all of it.
	options := client.PerkListOptions{ListOptions: client.ListOptions{PerPage: api.MaxPerPage}, PerkFilter: api.PerkFilter{Query: p.Title}}
	if strings.TrimSpace(p.City) == p.City { // our server trims the filter, but not the perk's city
		options.City = p.City
	}
	available, whole, err := contains(c.UserPerkPages(ctx, userID, options), func(perk api.Perk) bool { return perk.ID == p.ID })
	switch {
	case err != nil:
		return "", err
	case available:
		return fmt.Sprintf("User %q can redeem perk %q now.", userID, p.ID), nil
	}
	redeemed, _, err := contains(c.UserRedemptionPages(ctx, userID, client.ListOptions{PerPage: api.MaxPerPage}), func(r api.Redemption) bool {
		return r.PerkID == p.ID && r.Status != api.StatusRejected
	})
	switch {
	case err != nil:
		return "", err
	case redeemed:
		return "", api.Errorf(api.CodeAlreadyRedeemed, "User %q has already redeemed perk %q.", userID, p.ID)
	case p.ValidFrom != nil && now.Before(*p.ValidFrom):
		return "", api.Errorf(api.CodePerkNotStarted, "Perk %q cannot be redeemed before %s.", p.ID, p.ValidFrom.UTC().Format(time.RFC3339))
	case p.ValidTo != nil && !now.Before(*p.ValidTo):
		return "", api.Errorf(api.CodePerkExpired, "Perk %q could be redeemed until %s.", p.ID, p.ValidTo.UTC().Format(time.RFC3339))
	case whole:
		return "", api.Errorf(api.CodeSoldOut, "Perk %q is sold out: it is not among the perks that user %q can redeem now.", p.ID, userID)
	}
	return fmt.Sprintf("User %q may be able to redeem perk %q, but the list of perks is too long to tell whether it is in stock.", userID, p.ID), nil
}

// contains looks for an item in the first pages of a list; whole tells whether those are all of it, or as many as it took.
func contains[T any](pages iter.Seq2[api.Page[T], error], wanted func(T) bool) (found, whole bool, err error) {
	read := 0
	for page, err := range pages {
		if err != nil {
			return false, false, err
		}
		if slices.ContainsFunc(page.Data, wanted) {
			return true, true, nil
		}
		if read++; read == maxLookedAt {
			return false, false, nil
		}
	}
	return false, true, nil
}

// metadataPrefix begins the names of CSV columns that hold one member of the metadata each, as text.
const metadataPrefix = "metadata."

// readMetadata returns the metadata of a row as a compact object, nil if the row has none.
func readMetadata(row rows.Row, values bulk.Row, problems api.FieldErrors) json.RawMessage {
	whole, isWhole := values["metadata"]
	members := map[string]string{}
	for name, value := range values {
		if key, ok := strings.CutPrefix(name, metadataPrefix); ok {
			var text string
			_ = value.Text(&text) // a cell always is a text
			members[key] = text
		}
	}
	column := "metadata"
	var metadata json.RawMessage
	switch {
	case isWhole && len(members) > 0:
		problems.Add(column, "must be empty where a column such as %sKEY holds something", metadataPrefix)
	case isWhole:
		metadata = rawMember(row, whole)
	case len(members) > 0:
		column = metadataPrefix + "KEY"
		metadata, _ = api.EncodeJSON(members) // cannot fail: it is texts by texts
	}
	if metadata == nil {
		return nil
	}
	var compact bytes.Buffer
	err := json.Compact(&compact, metadata)
	switch {
	case err == nil && compact.String() == "null":
		return nil
	case err != nil || compact.Bytes()[0] != '{':
		problems.Add(column, "must be a JSON object")
		return nil
	case compact.Len() > api.MaxMetadata:
		problems.Add(column, "must be at most %d bytes", api.MaxMetadata)
		return nil
	}
	return compact.Bytes()
}

// rawMember returns the metadata as it stands in the cell or in the object.
func rawMember(row rows.Row, value bulk.Value) json.RawMessage {
	if row.Object == nil {
		var text string
		_ = value.Text(&text)
		return json.RawMessage(text)
	}
	var object struct {
		Metadata json.RawMessage `json:"metadata"`
	}
	_ = json.Unmarshal(row.Object, &object) // it was read once already
	return object.Metadata
}
