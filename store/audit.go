package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/perks/api"
)

// The subjects of audit entries. Each names one record.

// PerkSubjectPrefix comes before a perk's id in its subject.
const PerkSubjectPrefix = "perk/"

// PerkSubject is "perk/" and the perk's id.
func PerkSubject(id string) string { return PerkSubjectPrefix + id }

// UserSubject is "user/" and the user's id.
func UserSubject(id string) string { return "user/" + id }

const propertyPrefix = "property/"

// PropertySubject is "property/" and the property's id.
func PropertySubject(id int64) string { return fmt.Sprintf("%s%d", propertyPrefix, id) }

const clientPrefix = "client/"

// ClientSubject is "client/" and the client's id.
func ClientSubject(id string) string { return clientPrefix + id }

// SigningKeySubject is "key/" and the signing key's id.
func SigningKeySubject(id string) string { return "key/" + id }

const redemptionPrefix = "redemption/"

// RedemptionSubject is "redemption/" and the redemption's id.
func RedemptionSubject(id string) string { return redemptionPrefix + id }

// SandboxSubject is the sandbox as a whole.
const SandboxSubject = "sandbox"

// DatabaseSubject is the database as a whole.
const DatabaseSubject = "database"

// CreatedUser is a user whom a redemption made, as the audit log shows it.
type CreatedUser struct {
	ID           string `json:"id"`
	RedemptionID string `json:"redemption_id"`
}

// Restored is what the audit log shows of a database that was restored from a backup.
type Restored struct {
	RevocationsKnown bool     `json:"revocations_known"` // whether the former database could be read
	CarriedOver      []string `json:"carried_over"`      // a sentence for each difference from the backup
}

// PublicClient is a client as the audit log shows it: without its secret's hash.
type PublicClient struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	Scopes      string    `json:"scopes"` // separated by spaces
	SandboxOnly bool      `json:"sandbox_only"`
	NamesActors bool      `json:"actors"`
	Disabled    bool      `json:"disabled"`
	CreatedAt   time.Time `json:"created_at"`

	OldSecretUntil time.Time `json:"old_secret_until,omitzero"`
	ExpiresAt      time.Time `json:"expires_at,omitzero"`
}

// Public returns the fields of the client that the audit log may show.
func (c Client) Public() PublicClient {
	return PublicClient{ID: c.ID, Name: c.Name, Scopes: c.Scopes.String(), SandboxOnly: c.SandboxOnly,
		NamesActors: c.NamesActors, Disabled: c.Disabled, CreatedAt: c.CreatedAt.UTC(),
		OldSecretUntil: c.OldSecretUntil().UTC(), ExpiresAt: c.ExpiresAt.UTC()}
}

// PublicSigningKey is a signing key as the audit log shows it: without its secret.
type PublicSigningKey struct {
	ID        string    `json:"id"`
	CreatedAt time.Time `json:"created_at"`
}

// Public returns the fields of the key that the audit log may show.
func (k SigningKey) Public() PublicSigningKey { return PublicSigningKey{k.ID, k.CreatedAt.UTC()} }

// AuditSource is a table that the audit log is read from.
type AuditSource struct {
	// Select reads the time, source (0 for a redemption made, or 1), a number, actor (of a redemption only the name, or
	// ""), action, subject, before and after, of a redemption its id, perk, user, client, first status and metadata,
	// and what the order of commits follows from. What does not apply is null.
	Select  string
	Columns map[string]string // by the fields of auditCondition
}

// AuditFilter is conditions on an AuditSource, with a ? for each argument.
type AuditFilter struct {
	Conditions []string
	Args       []any
}

func scanAuditEntry(r Scanner) (entry AuditEntry, err error) {
	var source, number int64
	var before, after, id, perkID, userID, clientID, status, metadata *string
	err = r.Scan(&entry.At, &source, &number, &entry.Actor, &entry.Action, &entry.Subject, &before, &after,
		&id, &perkID, &userID, &clientID, &status, &metadata, new(any))
	entry.Before, entry.After, entry.Number = auditedRecord(before), auditedRecord(after), number
	if err != nil || source != 0 {
		return entry, err
	}
	entry.Number = 0
	entry.Actor = ClientActor(*clientID, string(entry.Actor))
	entry.Action, entry.Subject = ActionRedeem, RedemptionSubject(*id)
	entry.After, err = json.Marshal(api.Redemption{
		ID: *id, PerkID: *perkID, UserID: *userID, RedeemedAt: entry.At,
		Status: api.RedemptionStatus(*status), Metadata: json.RawMessage(*metadata),
	})
	return entry, err
}

func (o Operations) Audit(ctx context.Context, query AuditQuery) iter.Seq2[AuditEntry, error] {
	return o.AuditSince(ctx, query, new(AuditPosition))
}

func (o Operations) AuditSince(
	ctx context.Context, query AuditQuery, position *AuditPosition,
) iter.Seq2[AuditEntry, error] {
	return func(yield func(AuditEntry, error) bool) {
		yielded, err := o.readAudit(ctx, query, position, yield)
		if err != nil && o.db.Retry(err) && !yielded && ctx.Err() == nil {
			_, err = o.readAudit(ctx, query, position, yield)
		}
		if err != nil {
			yield(AuditEntry{}, o.db.Fault("read the audit log", err))
		}
	}
}

// readAudit reads the entries once, in one transaction. yielded tells whether there were any.
func (o Operations) readAudit(
	ctx context.Context, query AuditQuery, position *AuditPosition, yield func(AuditEntry, error) bool,
) (yielded bool, err error) {
	var end AuditEnd
	stopped := false
	err = o.db.Snapshot(notBehind(ctx), func(q Querier) (err error) {
		if end, err = o.db.AuditEnd(q, *position, "", AuditBound{}); err != nil {
			return err
		}
		var redemptions, entries AuditFilter
		if *position != "" {
			query.Last = 0
			if redemptions, entries, err = o.db.AuditRange(q, *position, end.Position); err != nil {
				return err
			}
		}
		text, args := query.Statement(o.db.Dialect, redemptions, entries)
		if text == "" {
			return nil
		}
		yielded, err = forward(Each(q, scanAuditEntry, text, args...), func(entry AuditEntry, err error) bool {
			stopped = !yield(entry, err)
			return !stopped
		})
		return err
	})
	if err == nil && !stopped {
		*position = end.Position
	}
	return yielded, err
}

// Statement returns a SELECT of the entries, or "" if nothing can match.
func (q AuditQuery) Statement(d *Dialect, redemptions, entries AuditFilter) (text string, args []any) {
	text, args = q.union(d, redemptions, entries)
	if text != "" && q.Last > 0 {
		newestFirst := strings.ReplaceAll(d.AuditOldestFirst, `,`, ` DESC,`) + ` DESC`
		text = `SELECT * FROM (` + text + newestFirst + fmt.Sprintf(` LIMIT %d`, q.Last) + `) AS entries`
	}
	if text != "" {
		text += d.AuditOldestFirst
	}
	return text, args
}

// union returns a SELECT of the entries in no order, or "" if nothing can match.
func (q AuditQuery) union(d *Dialect, redemptions, entries AuditFilter) (text string, args []any) {
	if slices.ContainsFunc([]any{q.Subject, q.Actor, q.Action}, IsUnstorable) {
		return "", nil
	}
	var parts []string
	add := func(source AuditSource, filter AuditFilter, conditions []auditCondition) {
		where, part := slices.Clone(filter.Conditions), source.Select
		values := slices.Clone(filter.Args)
		for _, c := range conditions {
			where, values = append(where, source.Columns[c.field]+` `+c.is+` ?`), append(values, c.value)
		}
		if len(where) > 0 { // with WHERE true, PostgreSQL would not read both tables in index order
			part += ` WHERE ` + strings.Join(where, ` AND `)
		}
		for _, value := range values {
			args = append(args, value)
			part = strings.Replace(part, "?", fmt.Sprintf("$%d", len(args)), 1)
		}
		parts = append(parts, part)
	}
	if conditions, wanted := q.redemptionConditions(); wanted {
		add(d.AuditRedemptions, redemptions, conditions)
	}
	for _, conditions := range q.entryConditions() {
		add(d.AuditEntries, entries, conditions)
	}
	// Only those of a listing can be found by a position.
	if conditions, wanted := q.importConditions(); wanted && (q.Subject != "" || len(entries.Conditions) == 0) {
		add(d.auditImports(), entries, conditions)
	}
	return strings.Join(parts, ` UNION ALL `), args
}

// ErrOlderCopy means that an AuditPosition is later than the database.
var ErrOlderCopy = errors.New("the database is an older copy of the one that was read before")

// auditText returns a record as JSON for the audit log, or nil if there is no record.
func auditText(record any) (*string, error) {
	if record == nil {
		return nil, nil
	}
	text, err := json.Marshal(record)
	if err != nil {
		return nil, fmt.Errorf("write a record for the audit log: %w", err)
	}
	encoded := string(text)
	return &encoded, nil
}

// auditedRecord reverses auditText; nil becomes null.
func auditedRecord(text *string) json.RawMessage {
	if text == nil {
		return json.RawMessage("null")
	}
	return json.RawMessage(*text)
}

// AuditQuery selects entries of the audit log. A zero field matches everything.
type AuditQuery struct {
	Subject string    // exactly
	Actor   string    // exactly, or as a prefix if it ends in "*"; a client also stands for all who sit at it
	Action  string    // exactly, or as a prefix if it ends in "*"
	Since   time.Time // that instant or later
	Until   time.Time // before that instant
	Last    int       // at most this many, the newest
}

// AuditPosition is how far a reader got in the audit log. Only the driver that returned it understands it; "" is the
// start.
type AuditPosition string

// auditCondition compares a field of an entry, or of a redemption, with a text or an instant.
type auditCondition struct {
	field string // "subject", "actor", "action" and "at" of entries; "id", "client", "actor" and "at" of redemptions
	is    string // "=", ">", ">=" or "<"; texts are compared byte by byte
	value any
}

// entryConditions returns the conditions on the table of entries, none if none of them can match. Entries of a client
// have one of two: they name who sat at it, or not.
func (q AuditQuery) entryConditions() (either [][]auditCondition) {
	if q.Action == ActionRedeem {
		return nil
	}
	conditions := q.timeConditions()
	if q.Subject != "" {
		conditions = append(conditions, auditCondition{"subject", "=", q.Subject})
	}
	action, isPrefix := auditPattern(q.Action)
	conditions = append(conditions, matching("action", action, isPrefix)...)
	actor, isPrefix := auditPattern(q.Actor)
	either = append(either, slices.Concat(conditions, matching("actor", actor, isPrefix)))
	if id, isClient := strings.CutPrefix(actor, clientPrefix); isClient && !isPrefix && !strings.Contains(id, "/") {
		either = append(either, slices.Concat(conditions, matching("actor", actor+"/", true)))
	}
	return either
}

// auditImports is AuditEntries for what imports made of listings.
func (d *Dialect) auditImports() AuditSource {
	source := AuditSource{Columns: maps.Clone(d.AuditEntries.Columns)}
	source.Select = strings.NewReplacer(`a.action`, `'`+ActionImportProperty+`' AS action`,
		`a.subject`, `'`+propertyPrefix+`' || a.property AS subject`, `audit AS a`, `imported_properties AS a`,
		`a.redemption`, `a.row`).Replace(d.AuditEntries.Select)
	source.Columns["property"] = `a.property`
	return source
}

// importConditions returns the conditions on what imports made of listings, or false if that is not asked for. It is
// asked for by one listing, or by the action: the entry of an import stands for all its listings.
func (q AuditQuery) importConditions() (conditions []auditCondition, isWanted bool) {
	id, isProperty := strings.CutPrefix(q.Subject, propertyPrefix)
	action, isPrefix := auditPattern(q.Action)
	isAction := action == ActionImportProperty || isPrefix && strings.HasPrefix(ActionImportProperty, action)
	if !isAction || q.Subject == "" && action == "" || q.Subject != "" && !isProperty {
		return nil, false
	}
	conditions = q.timeConditions()
	if isProperty {
		number, err := strconv.ParseInt(id, 10, 64)
		if err != nil {
			return nil, false
		}
		conditions = append(conditions, auditCondition{"property", "=", number})
	}
	actor, isPrefix := auditPattern(q.Actor)
	return append(conditions, matching("actor", actor, isPrefix)...), true
}

// redemptionConditions returns the conditions on redemptions, or false if none of them can match.
func (q AuditQuery) redemptionConditions() ([]auditCondition, bool) {
	if action, isPrefix := auditPattern(q.Action); action != ActionRedeem &&
		!(isPrefix && strings.HasPrefix(ActionRedeem, action)) {
		return nil, false
	}
	conditions := q.timeConditions()
	if q.Subject != "" {
		id, isRedemption := strings.CutPrefix(q.Subject, redemptionPrefix)
		if !isRedemption || id == "" {
			return nil, false
		}
		conditions = append(conditions, auditCondition{"id", "=", id})
	}
	actor, isPrefix := auditPattern(q.Actor)
	client, isClient := strings.CutPrefix(actor, clientPrefix)
	if !isClient {
		return conditions, isPrefix && strings.HasPrefix(clientPrefix, actor)
	}
	id, name, isNamed := strings.Cut(client, "/")
	if !isNamed {
		return append(conditions, matching("client", client, isPrefix)...), true
	}
	conditions = append(conditions, auditCondition{"client", "=", id}, auditCondition{"actor", ">", ""})
	return append(conditions, matching("actor", name, isPrefix)...), true
}

func (q AuditQuery) timeConditions() (conditions []auditCondition) {
	if !q.Since.IsZero() {
		conditions = append(conditions, auditCondition{"at", ">=", q.Since})
	}
	if !q.Until.IsZero() {
		conditions = append(conditions, auditCondition{"at", "<", q.Until})
	}
	return conditions
}

// auditPattern splits a filter into its text, and whether that is a prefix.
func auditPattern(text string) (pattern string, isPrefix bool) {
	prefix, found := strings.CutSuffix(text, "*")
	return prefix, found || text == ""
}

func matching(field, text string, isPrefix bool) []auditCondition {
	switch {
	case !isPrefix:
		return []auditCondition{{field, "=", text}}
	case text == "":
		return nil
	}
	return []auditCondition{{field, ">=", text}, {field, "<", text + "\U0010ffff"}}
}
