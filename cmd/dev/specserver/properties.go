package specserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// change is an update before it is made: the new values of fields, and the images if it has any.
type change struct {
	fields    map[string]string
	images    []string
	hasImages bool
	problems  map[string][]string
}

func (s *Server) getProperty(id string) response {
	p, exists := s.properties[id]
	if !exists {
		return s.refuse(404, "Property not found", nil)
	}
	reply := s.reply(200, s.Freedoms.record(s.property(id, p)))
	if s.ETags != ETagsNone {
		reply.header["ETag"] = s.etag(p)
	}
	return reply
}

func (s *Server) etag(p *property) string {
	if s.ETags == ETagsStrong {
		return fmt.Sprintf(`"v%d"`, p.version)
	}
	return fmt.Sprintf(`W/"v%d"`, p.version)
}

// changeProperty updates or deletes.
func (s *Server) changeProperty(request Request, id string) response {
	p, exists := s.properties[id]
	guard := request.Header.Get("If-Match")
	switch {
	case !exists:
		return s.refuse(404, "Property not found", nil)
	case !p.isOurs:
		return s.refuse(403, "You may not change this property", nil)
	case guard != "" && guard != "*" && s.ETags != ETagsNone && (guard != s.etag(p) || s.ETags == ETagsWeak):
		return s.refuse(412, "The property has changed", nil)
	}
	done := Change{PropertyID: id, Deleted: request.Method == "DELETE", At: s.now(), Request: request.Number}
	if done.Deleted {
		delete(s.properties, id)
		s.record.Changes = append(s.record.Changes, done)
		return s.reply(200, object{"message": "The property is deleted"})
	}
	c, err := readChange(request)
	switch {
	case err != nil:
		return s.refuse(400, "Invalid JSON", nil)
	case len(c.problems) > 0:
		return s.refuse(422, "Validation failed", c.problems)
	}
	done.Fields = maps.Clone(c.fields)
	maps.Copy(p.fields, c.fields)
	if c.hasImages {
		p.images, done.Fields["images"] = c.images, strings.Join(c.images, ",")
	}
	p.version++
	s.record.Changes = append(s.record.Changes, done)
	return s.reply(200, object{"message": "The property is updated"})
}

// readChange reads JSON or a form.
func readChange(request Request) (change, error) {
	c := change{fields: map[string]string{}, problems: map[string][]string{}}
	values := map[string]any{}
	if strings.HasPrefix(request.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		form, err := url.ParseQuery(request.Body)
		if err != nil {
			return c, err
		}
		for name := range form {
			values[name] = form.Get(name)
		}
	} else {
		decoder := json.NewDecoder(bytes.NewReader([]byte(request.Body)))
		decoder.UseNumber()
		if err := decoder.Decode(&values); err != nil {
			return c, err
		}
	}
	for name, value := range values {
		c.set(name, value)
	}
	return c, nil
}

// set notes a field's new value, or what is wrong with it. A field that is unknown changes nothing.
func (c *change) set(name string, value any) {
	problem := ""
	switch {
	case name == "images":
		c.hasImages = true
		c.images, problem = readImages(value)
	case slices.Contains(textFields, name):
		text, isText := value.(string)
		if value != nil && !isText {
			problem = "must be a text"
		} else if name == "title" && strings.TrimSpace(text) == "" {
			problem = "must not be empty"
		}
		c.fields[name] = text
	case slices.Contains(numberFields, name):
		c.fields[name], problem = readNumber(name, value)
	}
	if problem != "" {
		c.problems[name] = []string{problem}
	}
}

func readImages(value any) (images []string, problem string) {
	switch value := value.(type) {
	case nil:
	case string:
		if value != "" {
			images = strings.Split(value, ",")
		}
	case []any:
		for _, item := range value {
			address, isText := item.(string)
			if !isText {
				return nil, "must be texts"
			}
			images = append(images, address)
		}
	default:
		return nil, "must be an array or a text"
	}
	return images, ""
}

// readNumber keeps the digits as they came.
func readNumber(name string, value any) (digits, problem string) {
	switch value := value.(type) {
	case nil:
		return "", ""
	case string:
		digits = value
	case json.Number:
		digits = value.String()
	}
	number, err := strconv.ParseFloat(digits, 64)
	if err != nil || !json.Valid([]byte(digits)) { // such as 0x1p4
		return "", "must be a number"
	}
	if number < 0 && name != "lat" && name != "lng" {
		return "", "must be at least 0"
	}
	return digits, ""
}
