package api

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// MaxSearchedKeys is the most keys of metadata that a service searches.
const MaxSearchedKeys = 8

// MetadataFilter is values that the metadata of a redemption must have, by their keys. It is a text, so that filters
// can be compared: that of a URL's query.
type MetadataFilter string

// With returns the filter with a value of a key; "" is any value.
func (f MetadataFilter) With(key, value string) MetadataFilter {
	values := f.values()
	if values.Del(key); value != "" {
		values.Set(key, value)
	}
	return MetadataFilter(values.Encode())
}

// Value returns the value that a key must have; "" is any.
func (f MetadataFilter) Value(key string) string { return f.values().Get(key) }

// Keys returns the keys that must have values, in their order.
func (f MetadataFilter) Keys() (keys []string) {
	for key := range f.values() {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func (f MetadataFilter) values() url.Values {
	values, _ := url.ParseQuery(string(f)) // With has written it
	return values
}

// metadataPrefix comes before a key in the name of its parameter.
const metadataPrefix = "metadata."

var metadataKey = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`) })

// MetadataKeyRule returns why a key of metadata cannot be searched, or "".
func MetadataKeyRule(key string) string {
	if !metadataKey().MatchString(key) {
		return "must be 1 to 64 of these characters: A-Z a-z 0-9 _ . -"
	}
	return ""
}

// WithMetadata adds to the fields of a filter those of searched keys. In a query, a key that is the key of another
// field is written as in metadata.user:4711.
func WithMetadata(fields []FilterField[RedemptionFilter], searched []string) []FilterField[RedemptionFilter] {
	fields = slices.Clip(fields)
	for _, key := range searched {
		field := metadataField(key)
		if len(keyed(fields, field.Key)) > 0 {
			field.Key = strings.ToLower(field.Name)
		}
		fields = append(fields, field)
	}
	return fields
}

func metadataField(key string) FilterField[RedemptionFilter] {
	text := textFilter(metadataPrefix+key, "metadata", "", "", "", func(text *string) *string { return text })
	return judged(FilterField[RedemptionFilter]{
		Name: text.Name, Flag: text.Flag, Key: strings.ToLower(key), isSeparate: true, needsValue: "must have a value",
		Get: func(f RedemptionFilter) string { return f.Metadata.Value(key) },
		Set: func(f *RedemptionFilter, value string) string {
			var read string
			if problem := text.Set(&read, value); problem != "" {
				return problem
			}
			if value != "" && read == "" {
				return "must have a value"
			}
			f.Metadata = f.Metadata.With(key, read)
			return ""
		},
	}, func(f RedemptionFilter, r *RedemptionRecord) Fit {
		var metadata map[string]json.RawMessage
		if json.Unmarshal(r.Metadata, &metadata) != nil {
			return CannotTell
		}
		if text, isSearched := SearchedText(metadata[key]); isSearched {
			return sameText(f.Metadata.Value(key), text)
		}
		return Misfits
	})
}

// ReadMetadataFilter reads a filter as people type it, such as ticket=4711. The error is the end of a sentence about
// the entry.
func ReadMetadataFilter(entries []string) (filter MetadataFilter, err error) {
	for _, entry := range entries {
		key, value, isPair := strings.Cut(entry, "=")
		key = strings.TrimSpace(key)
		with := RedemptionFilter{Metadata: filter}
		problem := MetadataKeyRule(key)
		switch {
		case !isPair || key == "" || strings.TrimSpace(value) == "":
			return "", fmt.Errorf("%q must be KEY=VALUE, such as ticket=4711", entry)
		case filter.Value(key) != "":
			return "", fmt.Errorf("%q has the key %q a second time", entry, key)
		case problem != "":
			return "", fmt.Errorf("%q: the key %s", entry, problem)
		}
		if problem := metadataField(key).Set(&with, value); problem != "" {
			return "", fmt.Errorf("%q: the value %s", entry, problem)
		}
		filter = with.Metadata
	}
	return filter, nil
}

// SearchedText returns the text by which a value in metadata is found: a string without blanks at its ends, a number as
// it was written, true or false. Nothing finds null, arrays, objects, and texts that are longer than a filter may be.
func SearchedText(value json.RawMessage) (text string, isSearched bool) {
	switch {
	case len(value) == 0 || value[0] == '{' || value[0] == '[' || value[0] == 'n':
		return "", false
	case value[0] != '"':
		text = string(value)
	case json.Unmarshal(value, &text) != nil:
		return "", false
	}
	text = strings.TrimSpace(text)
	isSearched = text != "" && !strings.ContainsRune(text, 0) && utf8.RuneCountInString(text) <= maxFilterText
	return text, isSearched
}

// refuseUnsearched refuses parameters of keys that are not searched: without them, the list would hold what was not
// asked for.
func (p *Parameters) refuseUnsearched(searched []string) {
	problem := "is not searched: no key is. The operator chooses keys with perksd serve --search-metadata"
	if len(searched) > 0 {
		problem = "is not searched; these keys of metadata are: " + strings.Join(searched, ", ")
	}
	for name := range p.Values {
		if key, isKey := strings.CutPrefix(name, metadataPrefix); isKey && !slices.Contains(searched, key) {
			p.Fields.Add(name, "%s", problem)
		}
	}
}

// SearchedKeys reads HeaderSearched.
func SearchedKeys(header string) (keys []string) {
	for key := range strings.SplitSeq(header, ",") {
		if key = strings.TrimSpace(key); MetadataKeyRule(key) == "" && len(keys) < MaxSearchedKeys {
			keys = append(keys, key)
		}
	}
	return keys
}
