package specserver

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

func (s *Server) findPerk(id string) (perk, bool) {
	i := slices.IndexFunc(s.perks, func(p perk) bool { return p.id == id })
	if i < 0 {
		return perk{}, false
	}
	return s.perks[i], true
}

func (s *Server) getPerk(id string) response {
	p, found := s.findPerk(id)
	if !found {
		return s.refuse(404, "Perk not found", nil)
	}
	return s.reply(200, s.Freedoms.record(s.perk(p)))
}

func (s *Server) listCategories() response {
	list := make([]object, len(categories))
	for i, name := range categories {
		list[i] = s.withExtras(object{"id": strconv.Itoa(i + 1), "category_name": name})
	}
	return s.reply(200, list)
}

func (s *Server) listPerks(request Request) response {
	return s.list(request, s.perkObjects(func(p perk) bool {
		city, category := request.Query.Get("city"), request.Query.Get("category")
		return s.IgnoresWords || (city == "" || city == p.city) && (category == "" || category == p.category)
	}))
}

func (s *Server) perkObjects(isWanted func(perk) bool) (list []object) {
	for _, p := range s.perks {
		if isWanted(p) {
			list = append(list, s.perk(p))
		}
	}
	return list
}

// listOfUser lists the latest redemption first, unless OldestFirst.
func (s *Server) listOfUser(request Request, id string) response {
	if !s.users[id] {
		return s.refuse(404, "User not found", nil)
	}
	isRedeemed := cmp.Or(request.Query.Get("type"), "available") == "redeemed"
	var list []object
	if s.MixedLists || !isRedeemed {
		list = s.perkObjects(func(p perk) bool { return !s.OncePerUser || !s.hasRedeemed(p.id, id) })
	}
	if s.MixedLists || isRedeemed {
		var made []object
		for _, r := range s.record.Redemptions {
			if r.UserID == id {
				made = append(made, s.redemption(r))
			}
		}
		if !s.OldestFirst {
			slices.Reverse(made)
		}
		list = append(list, made...)
	}
	return s.list(request, list)
}

func (s *Server) hasRedeemed(perkID, userID string) bool {
	made := s.record.Redeemed(perkID, userID)
	return slices.ContainsFunc(made, func(r Redemption) bool { return r.Status != string(StatusRejected) })
}

// list replies with the page that a request asks for.
func (s *Server) list(request Request, all []object) response {
	page, pageErr := strconv.Atoi(cmp.Or(request.Query.Get("page"), "1"))
	size, sizeErr := strconv.Atoi(cmp.Or(request.Query.Get("per_page"), "25"))
	if pageErr != nil || sizeErr != nil || page < 1 || size < 1 || size > 100 {
		return s.refuse(422, "page or per_page is out of range", nil)
	}
	size = min(size, cmp.Or(s.MostPerPage, size))
	if s.IgnoresPage {
		page = 1
	}
	if !s.IgnoresSort {
		sortBy(all, request.Query.Get("sort"))
	}
	total, pages := len(all), (len(all)+size-1)/size
	from := min((page-1)*size, total)
	body := object{"data": append([]object{}, all[from:min(from+size, total)]...)}
	meta := map[string]int{"page": page, "per_page": size, "total": total, "total_pages": pages}
	switch s.Meta {
	case MetaNumbers:
		body["meta"] = meta
	case MetaText:
		words := map[string]string{}
		for name, value := range meta {
			words[name] = strconv.Itoa(value)
		}
		body["meta"] = words
	}
	reply := s.reply(200, body)
	if !s.NoTotal {
		reply.header["X-Total-Count"] = strconv.Itoa(total)
	}
	if !s.NoLinks {
		reply.header["Link"] = links(request, page, pages)
	}
	return reply
}

func links(request Request, page, pages int) string {
	var links []string
	add := func(relation string, to int) {
		query := url.Values{}
		for name, values := range request.Query {
			query[name] = values
		}
		query["page"] = []string{strconv.Itoa(to)}
		address := "http://" + request.Header.Get("Host") + request.Path + "?" + query.Encode()
		links = append(links, fmt.Sprintf(`<%s>; rel="%s"`, address, relation))
	}
	add("first", 1)
	if page < pages {
		add("next", page+1)
	}
	if page > 1 {
		add("prev", page-1)
	}
	return strings.Join(links, ", ")
}

// sortBy sorts by fields that are texts; others are all the same.
func sortBy(all []object, fields string) {
	slices.SortStableFunc(all, func(a, b object) int {
		for field := range strings.SplitSeq(fields, ",") {
			name, isDescending := strings.CutPrefix(field, "-")
			x, _ := a[name].(string)
			y, _ := b[name].(string)
			if order := cmp.Compare(x, y); order != 0 && isDescending {
				return -order
			} else if order != 0 {
				return order
			}
		}
		return 0
	})
}

func (s *Server) redeem(request Request, perkID string) response {
	var body struct {
		UserID   string          `json:"user_id"`
		Metadata json.RawMessage `json:"metadata"`
	}
	if err := json.Unmarshal([]byte(request.Body), &body); err != nil {
		return s.refuse(400, "Invalid JSON", nil)
	}
	if string(body.Metadata) == "null" {
		body.Metadata = nil
	}
	isObject := body.Metadata == nil || bytes.HasPrefix(body.Metadata, []byte("{"))
	_, found := s.findPerk(perkID)
	switch {
	case !isObject:
		return s.refuse(422, "Validation failed", map[string][]string{"metadata": {"must be an object"}})
	case !found:
		return s.refuse(404, "Perk not found", nil)
	case !s.users[body.UserID]:
		return s.refuse(404, "User not found", nil)
	}
	key, what := request.Header.Get("Idempotency-Key"), request.Path+"\n"+request.Body
	if s.Keys == KeysIgnored {
		key = ""
	}
	if before, isKnown := s.replies[key]; isKnown {
		if before.request != what {
			return s.refuse(422, "This idempotency key was used for another request", nil)
		}
		return before.response
	}
	if s.OncePerUser && s.hasRedeemed(perkID, body.UserID) {
		return s.refuse(cmp.Or(int(s.RefusalCode), http.StatusConflict), "The user has redeemed this perk", nil)
	}
	made := Redemption{
		ID: fmt.Sprintf("red_%d", len(s.record.Redemptions)+1), PerkID: perkID, UserID: body.UserID,
		Metadata: body.Metadata,
		At:       s.now(), Status: s.NewStatus.word(), Request: request.Number,
	}
	s.record.Redemptions = append(s.record.Redemptions, made)
	reply := s.reply(cmp.Or(int(s.RedeemedCode), http.StatusCreated), s.Freedoms.record(s.redemption(made)))
	if key != "" {
		s.replies[key] = keyed{what, reply}
	}
	return reply
}
