package operation

import (
	"bytes"
	"context"
	"encoding/json"

	"example.com/perks/api"
	"example.com/perks/api/client"
)

// VersionsBackTo reads the versions of a record, the newest first: those that are newer than the one with the first
// ETag, then from there those that are newer than the one with the next, which it replaced. The error is CodeNotFound
// if the service does not have one of them any more. The last may be older than the history.
func (k *EditKind[I, R, P]) VersionsBackTo(
	ctx context.Context, c *client.Client, id I, etags ...string,
) (parts [][]api.PropertyVersion, err error) {
	var newer []api.PropertyVersion
	is := func(version api.PropertyVersion, etag string) bool {
		return version.ETag != nil && client.SameVersion(*version.ETag, etag)
	}
	for page, err := range k.Pages(c, ctx, id, client.ListOptions{PerPage: 10}) {
		if err != nil {
			return nil, err
		}
		for _, version := range page.Data {
			for len(parts) < len(etags) && is(version, etags[len(parts)]) {
				parts, newer = append(parts, newer), nil
			}
			if newer = append(newer, version); len(parts) == len(etags) {
				return parts, nil
			}
		}
	}
	if last := len(newer) - 1; last >= 0 && len(parts) == len(etags)-1 && string(newer[last].Before) != "null" {
		if len(parts) == 0 || is(newer[last], etags[len(parts)-1]) {
			return append(parts, newer), nil
		}
	}
	return nil, api.Errorf(api.CodeNotFound, "The history of %s does not have the version with the ETag %s.",
		k.Named(id), etags[len(parts)])
}

// NetChanges returns how a record differs from what it was before these versions, of which the newest is the first.
func (k *EditKind[I, R, P]) NetChanges(versions []api.PropertyVersion) (changes []FieldChange) {
	type members = map[string]json.RawMessage
	was, is, hasEnd := members{}, members{}, members{}
	for _, version := range versions {
		var before, after members
		_ = json.Unmarshal(version.Before, &before) // an object or null
		_ = json.Unmarshal(version.After, &after)
		for name, value := range after {
			if hasEnd[name] == nil {
				is[name], hasEnd[name] = value, value
			}
		}
		for name, value := range before {
			if was[name] = value; hasEnd[name] == nil { // the newest has deleted it
				hasEnd[name] = value
			}
		}
	}
	for _, field := range k.Fields() {
		if name := field.Name; !bytes.Equal(was[name], is[name]) {
			changes = append(changes, FieldChange{Field: name, From: was[name], To: is[name]})
		}
	}
	return changes
}
