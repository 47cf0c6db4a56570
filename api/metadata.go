package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// MaxMetadata is the longest metadata object of a redemption, in bytes of compact JSON.
const MaxMetadata = 16 << 10

// Common readers of JSON fail above these: jq 1.6 on 257 levels, Python on 1,000 levels and on whole numbers of 4,301
// digits. Whoever reads events could not get past such a redemption.
const (
	maxMetadataDepth  = 32 // the metadata itself is the first level
	maxMetadataDigits = 40 // of one number, with those of its exponent
)

// ParseMetadata reads the metadata of a redemption, and returns it as compact JSON; absent and null mean {}. It refuses
// what other programs can't read, or read differently. The error is the end of a sentence about the metadata.
func ParseMetadata(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("{}"), nil
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil || compact.Bytes()[0] != '{' {
		return nil, errors.New("must be a JSON object")
	}
	if compact.Len() > MaxMetadata {
		return nil, fmt.Errorf("must be at most %d bytes", MaxMetadata)
	}
	text := compact.Bytes()
	r := metadataReader{decoder: json.NewDecoder(bytes.NewReader(text)), lone: loneSurrogate(text)}
	r.decoder.UseNumber()
	if problem := r.read(); problem != "" {
		return nil, errors.New(problem)
	}
	return text, nil
}

// ReadMetadata reads metadata as people type it: one JSON object, or entries of the form key=value, whose values are
// texts. Blank entries are nothing; it returns nil if all are blank. An error is the end of a sentence about the entry
// at the index.
func ReadMetadata(entries []string) (metadata json.RawMessage, at int, err error) {
	isWhole, object := false, map[string]string{}
	for at, entry := range entries {
		entry, isObject := strings.TrimLeft(entry, " \t\r\n"), strings.HasPrefix(strings.TrimSpace(entry), "{")
		key, value, isPair := strings.Cut(entry, "=")
		_, isTwice := object[key]
		switch {
		case strings.TrimSpace(entry) == "":
			continue
		case isWhole:
			err = errors.New("must be empty: the first one is a JSON object")
		case isObject && at > 0:
			err = errors.New("must be key=value; a JSON object belongs in the first one")
		case isObject:
			isWhole = true
			if _, err = ParseObject([]byte(entry)); err != nil { // which says where it is broken
				err = fmt.Errorf("cannot be read: %w", err)
			} else {
				metadata, err = ParseMetadata(json.RawMessage(entry))
			}
		case !isPair:
			err = errors.New("must be key=value, such as ticket=4711")
		case strings.TrimSpace(key) == "":
			err = errors.New("must have a key before the =")
		case isTwice:
			err = fmt.Errorf("has the key %q a second time", key)
		default:
			object[key] = value
			text, _ := EncodeJSON(object) // a map of strings always marshals
			if metadata, err = ParseMetadata(text); len(text) > MaxMetadata {
				err = fmt.Errorf("makes the metadata longer than %d bytes", MaxMetadata)
			}
		}
		if err != nil {
			return nil, at, err
		}
	}
	return metadata, 0, nil
}

// metadataReader finds what makes valid JSON unfit to be metadata. Its methods return it as the end of a sentence,
// which names the member as a.b[0], or "".
type metadataReader struct {
	decoder *json.Decoder
	lone    int // where half of a surrogate pair stands, or -1
	path    []string
}

func (r *metadataReader) read() string {
	token, err := r.decoder.Token()
	if err != nil {
		return "must be valid JSON"
	}
	switch token := token.(type) {
	case json.Delim:
		return r.readNested(token == '{')
	case json.Number:
		return r.number(token.String())
	}
	return r.surrogate()
}

// readNested reads to the end of an array or an object.
func (r *metadataReader) readNested(isObject bool) string {
	if len(r.path) == maxMetadataDepth {
		return fmt.Sprintf("must nest at most %d levels deep", maxMetadataDepth)
	}
	names := map[string]bool{}
	for i := 0; r.decoder.More(); i++ {
		step := "[" + strconv.Itoa(i) + "]"
		if isObject {
			token, err := r.decoder.Token()
			if err != nil {
				return "must be valid JSON"
			}
			step = fmt.Sprintf(".%s", token)
		}
		r.path = append(r.path, step)
		problem := r.surrogate()
		switch {
		case problem != "":
		case names[step]:
			problem = fmt.Sprintf("has the member %q more than once", r.where())
		default:
			names[step] = true
			problem = r.read()
		}
		if problem != "" {
			return problem
		}
		r.path = r.path[:len(r.path)-1]
	}
	_, _ = r.decoder.Token() // the closing delimiter, which More has seen
	return ""
}

func (r *metadataReader) number(text string) string {
	digits := strings.NewReplacer("-", "", "+", "", ".", "", "e", "", "E", "").Replace(text)
	_, isDouble := parseDouble(text)
	switch {
	case len(digits) > maxMetadataDigits:
		return fmt.Sprintf("has a number of more than %d digits in the member %q", maxMetadataDigits, r.where())
	case !isDouble:
		return fmt.Sprintf("has the number %s in the member %q, whose exponent is out of range", text, r.where())
	}
	return ""
}

// surrogate checks the token that was read last.
func (r *metadataReader) surrogate() string {
	if r.lone >= 0 && int64(r.lone) < r.decoder.InputOffset() {
		return fmt.Sprintf("has half of a surrogate pair in the member %q", r.where())
	}
	return ""
}

func (r *metadataReader) where() string { return strings.TrimPrefix(strings.Join(r.path, ""), ".") }
