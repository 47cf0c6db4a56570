package tui_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"example.com/perks/api"
)

// erraticService replies at random: correctly, wrongly, with an error, or not at all.
type erraticService struct {
	*world
	one sync.Mutex // at a time
	now func() time.Time

	requests int // since the command started
	deletes  int // replied to or not
}

// maxRequests is more than a single command should send.
const maxRequests = 400

var errLost = errors.New("the connection was lost")

func (e *erraticService) RoundTrip(req *http.Request) (*http.Response, error) {
	e.one.Lock()
	defer e.one.Unlock()
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	var body []byte
	if req.Body != nil {
		defer req.Body.Close()
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
	}
	if req.Method == http.MethodDelete {
		e.deletes++
	}
	if e.requests++; e.requests > maxRequests {
		panic("a single command sent too many requests: " + req.Method + " " + req.URL.String())
	}
	change := req.Method != http.MethodGet
	if e.rarely(5) || change && chance(e, 2) {
		return e.failure(req)
	}
	return newResponse(req, http.StatusOK, toJSON(e.result(req, body)), "ETag",
		fmt.Sprintf(`"%d"`, e.n(4))), nil
}

func (e *erraticService) failure(req *http.Request) (*http.Response, error) {
	switch e.n(8) {
	case 0:
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	case 1:
		return nil, errLost
	case 2:
		return nil, context.DeadlineExceeded
	case 3:
		return newResponse(req, http.StatusOK, pick(e, []string{"", "{", "null", "[]", "{}",
			`{"data":null,"meta":null}`, "<html>Sign in</html>", `{"data":[{}]}`})), nil
	}
	return e.refusal(req), nil
}

func newResponse(req *http.Request, status int, body string, header ...string) *http.Response {
	res := &http.Response{
		Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
		ContentLength: int64(len(body)), Request: req,
	}
	for i := 0; i+1 < len(header); i += 2 {
		res.Header.Set(header[i], header[i+1])
	}
	return res
}

func toJSON(value any) string {
	body, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(body)
}

// refusals are errors of the service, and some that it never returns.
var refusals = []struct {
	status int
	code   api.Code
}{
	{400, api.CodeInvalidJSON}, {401, api.CodeInvalidToken}, {403, api.CodeForbidden}, {403, api.CodeInsufficientScope},
	{404, api.CodeNotFound},
	{409, api.CodeAlreadyRedeemed}, {409, api.CodeSoldOut}, {409, api.CodePerkExpired}, {409, api.CodePerkNotStarted},
	{409, api.CodeIdempotencyKeyReused},
	{412, api.CodePreconditionFailed}, {412, api.CodePreconditionFailed}, {422, api.CodeValidationFailed},
	{429, api.CodeRateLimited}, {500, api.CodeInternal},
	{503, api.CodeUnavailable}, {502, ""}, {302, ""}, {410, "never heard of"}, {418, ""},
}

func (e *erraticService) refusal(req *http.Request) *http.Response {
	refused := pick(e, refusals)
	status := refused.status
	body := api.ErrorBody{Response: e.text(), Status: status, Detail: e.text(), Code: refused.code}
	if status == http.StatusUnprocessableEntity || chance(e, 4) {
		body.Errors = api.FieldErrors{}
		for range e.n(4) {
			field := pick(e, []string{"title", "price_pw", "lat", "images", "bedrooms", "user_id", "metadata",
				"metadata.till", "perk_id", e.text()})
			body.Errors[field] = append(body.Errors[field], e.text())
		}
	}
	return newResponse(req, status, toJSON(body), "Retry-After", fmt.Sprint(e.n(90)), "X-Request-Id", "r-1")
}

func (e *erraticService) result(req *http.Request, body []byte) any {
	_, path, _ := strings.Cut(req.URL.Path, "/v2/")
	path = strings.TrimPrefix(path, "sandbox/")
	kind := req.URL.Query().Get("type")
	switch {
	case path == "partners/redemptions":
		return page(e, e.redemptionRecord)
	case strings.HasPrefix(path, "partners/redemptions/"):
		return e.redemptionRecord()
	case path == "partners/users":
		return page(e, func() api.User { return api.User{ID: e.text()} })
	case path == "partners/properties":
		return page(e, e.property)
	case strings.HasPrefix(path, "partners/properties/") && strings.HasSuffix(path, "/history"):
		return page(e, e.propertyVersion)
	case path == "partners/events":
		return e.events()
	case path == "partners/eligibility":
		var asked struct {
			Pairs []api.Pair `json:"pairs"`
		}
		if err := json.Unmarshal(body, &asked); err != nil {
			panic(err)
		}
		var list api.EligibilityList
		for _, pair := range asked.Pairs {
			list.Data = append(list.Data, e.eligibility(pair))
		}
		return list
	case path == "partners/perks/categories":
		categories := make([]api.Category, e.n(6))
		for i := range categories {
			categories[i] = api.Category{ID: e.text(), Name: e.text()}
		}
		return categories
	case strings.HasSuffix(path, "/redeem"):
		id := strings.TrimSuffix(strings.TrimPrefix(path, "partners/perks/"), "/redeem")
		made := e.redemption()
		made.PerkID, made.UserID = id, ""
		return made
	case strings.HasPrefix(path, "partners/perks/users/") && kind == "redeemed":
		return page(e, e.redemption)
	case strings.HasPrefix(path, "partners/perks/users/"), path == "partners/perks":
		return page(e, e.perk)
	case strings.HasPrefix(path, "partners/perks/") && strings.HasSuffix(path, "/stock"):
		return e.record().StockWith(int64(e.n(9)))
	case strings.HasPrefix(path, "partners/perks/") && strings.HasSuffix(path, "/history"):
		return page(e, e.version)
	case strings.HasPrefix(path, "partners/perks/"):
		return e.record()
	case strings.HasPrefix(path, "get-property/"):
		p := e.property()
		if id, err := strconv.ParseInt(strings.TrimPrefix(path, "get-property/"), 10, 64); err == nil && !e.rarely(10) {
			p.ID = id
		}
		return p
	}
	return api.Message{Message: e.text()}
}

func page[T any](d *erraticService, item func() T) api.Page[T] {
	p := api.Page[T]{Data: make([]T, pick(d, []int{0, 1, 2, 5, 20})),
		Meta: api.PageMeta{Page: int64(d.n(5)), PerPage: d.n(60), Total: int64(d.n(200)), TotalPages: int64(d.n(5))}}
	for i := range p.Data {
		p.Data[i] = item()
	}
	if chance(d, 3) { // it was not counted to its end
		p.Meta.Total, p.Meta.TotalPages, p.Meta.MoreThan = 0, 0, pick(d, []int64{1, 20, 200})
	}
	if d.rarely(10) {
		p.Meta = api.PageMeta{Page: -1, PerPage: -1, Total: pick(d, []int64{-1, 1 << 40}),
			TotalPages: pick(d, []int64{-1, 0, 1 << 40})}
	}
	return p
}

func (e *erraticService) perk() api.Perk {
	return api.Perk{
		ID: pick(e, []string{"coffee-2for1", "spa-day", "last-ticket", e.text()}), Title: e.text(),
		Description: e.text(), City: e.text(),
		Category: e.maybe(), MerchantName: e.maybe(), ImageURL: e.maybe(), DiscountText: e.maybe(), Terms: e.maybe(),
		ValidFrom: e.date(), ValidTo: e.date(), CreatedAt: e.now(), UpdatedAt: e.now(),
	}
}

// record is a perk as those see it who may change it.
func (e *erraticService) record() api.PerkRecord {
	approvals := []api.Approval{api.ApprovalAuto, api.ApprovalManual, ""}
	record := api.PerkRecord{Perk: e.perk(), Approval: pick(e, approvals)}
	if chance(e, 2) {
		stock := int64(e.n(99))
		record.Stock = &stock
	}
	return record
}

func (e *erraticService) redemptionRecord() api.RedemptionRecord {
	return api.RedemptionRecord{Redemption: e.redemption(), ClientID: e.text(), Actor: e.maybe(), DecidedAt: e.date(),
		DecidedBy: e.maybe(), DecidedActor: e.maybe(), Reason: e.maybe(), ExpiresAt: e.date()}
}

func (e *erraticService) eligibility(pair api.Pair) api.Eligibility {
	if chance(e, 2) {
		return api.Eligibility{PerkID: pair.PerkID, UserID: pair.UserID, Eligible: true}
	}
	code := pick(e, refusals).code
	return api.Eligibility{PerkID: pair.PerkID, UserID: pair.UserID, Code: &code, Reason: e.maybe()}
}

func (e *erraticService) events() (page api.EventPage) {
	for range e.n(4) {
		r, p := e.redemptionRecord(), e.property()
		page.Data = append(page.Data, pick(e, []api.Event{
			{Type: api.EventRedemptionMade, Subject: "redemption/" + r.ID, Redemption: &r},
			{Type: api.EventRedemptionVoided, Subject: "redemption/" + r.ID, Redemption: &r},
			{Type: api.EventPropertyDeleted, Subject: "property/1", Property: &p},
			{Type: api.EventPropertyChanged, Subject: "property/1", Property: &p},
			{Type: api.EventPerkChanged, Subject: "perk/coffee-2for1"}, {Type: api.EventPerksImported, Subject: "perks"},
			{Type: api.EventType(e.text()), Subject: e.text()},
		}))
	}
	page.Next = e.text()
	return page
}

func (e *erraticService) propertyVersion() api.PropertyVersion {
	before, after := e.property(), e.property()
	v := api.PropertyVersion{ETag: e.maybe(), At: e.now(), ClientID: e.maybe(), Action: pick(e, []string{
		api.VersionUpdated, api.VersionCreated, api.VersionDeleted, api.VersionRestored, e.text()})}
	if err := v.SetChange(pick(e, []*api.Property{&before, nil}), pick(e, []*api.Property{&after, nil})); err != nil {
		panic(err)
	}
	return v
}

func (e *erraticService) version() api.PerkVersion {
	before, after := e.record(), e.record()
	v := api.PerkVersion{ETag: e.maybe(), At: e.now(), ClientID: e.maybe(), Action: pick(e, []string{api.VersionUpdated,
		api.VersionStock, api.VersionCreated, e.text()})}
	if err := v.SetPerkChange(pick(e, []*api.PerkRecord{&before, nil}), &after); err != nil {
		panic(err)
	}
	return v
}

func (e *erraticService) maybe() *string {
	if chance(e, 4) {
		return nil
	}
	t := e.text()
	return &t
}

func (e *erraticService) date() *time.Time {
	if chance(e, 4) {
		return nil
	}
	hours := time.Duration(e.n(4000)-2000) * time.Hour
	at := pick(e, []time.Time{e.now().Add(hours), {}, time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)})
	return &at
}

func (e *erraticService) redemption() api.Redemption {
	metadata := map[string]any{}
	for range e.n(4) {
		metadata[e.text()] = e.text()
	}
	if chance(e, 4) {
		metadata["deep"] = map[string]any{"list": []any{1, nil, e.text()}}
	}
	return api.Redemption{
		ID: e.text() + "-r", PerkID: e.text(), UserID: e.text(),
		RedeemedAt: e.now().Add(-time.Duration(e.n(1000)) * time.Minute),
		Status: pick(e, []api.RedemptionStatus{api.StatusApproved, api.StatusPending, api.StatusRejected,
			api.StatusVoided, api.RedemptionStatus(e.text())}), Metadata: json.RawMessage(toJSON(metadata)),
	}
}

func (e *erraticService) property() api.Property {
	price, err := api.ParsePrice(pick(e, []string{"0", "395.00", "410.5", "99999999.99"}))
	if err != nil {
		panic(err)
	}
	p := api.Property{
		ID: int64(e.n(3)), Title: e.text(), Description: e.text(), Address: e.text(), City: e.text(),
		Postcode: e.text(),
		PricePW:  price, Bedrooms: e.n(5), Bathrooms: e.n(5), Deposit: float64(e.n(1000)),
	}
	for range e.n(4) {
		p.Images = append(p.Images, e.text())
	}
	if e.rarely(10) {
		p.Bedrooms, p.Deposit = -1, 1.0/3
	}
	if chance(e, 2) {
		lat, lng := float64(e.n(200)-100), 13.4
		p.Lat, p.Lng = &lat, &lng
	}
	return p
}

// erraticDesktop fails at random.
type erraticDesktop struct{ *world }

func (d erraticDesktop) Copy(string) error { return d.fail() }

func (d erraticDesktop) Ring() error { return d.fail() }

func (d erraticDesktop) Notify(string) error { return d.fail() }
func (d erraticDesktop) Open(string) error   { return d.fail() }

func (d erraticDesktop) Save(path string, _ bool, write func(io.Writer) error) (string, error) {
	if err := d.fail(); err != nil {
		return path, err
	}
	return path, write(&smallDisk{left: 1 << 16})
}

// smallDisk is full after so many bytes, which ends the export of a long list.
type smallDisk struct{ left int }

func (s *smallDisk) Write(p []byte) (int, error) {
	if s.left -= len(p); s.left < 0 {
		return 0, syscall.ENOSPC
	}
	return len(p), nil
}

func (d erraticDesktop) fail() error {
	if chance(d, 3) {
		return errors.New(d.text())
	}
	return nil
}
