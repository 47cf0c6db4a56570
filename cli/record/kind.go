// Package record is the commands that create, show, change, delete and restore records of any kind: one, or many by a
// file, a query or a plan. A Kind is a table of the fields, requests and words of one.
package record

import (
	"context"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/api/operation"
	"example.com/perks/cli/bulk"
	"example.com/perks/cli/command"
	"example.com/perks/cli/list"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

// Kind is a kind of record: I is its id, R the record, and P a change of some of its fields.
type Kind[I ~string, R any, P operation.Patch[R, P]] struct {
	*operation.EditKind[I, R, P]
	Words

	IDColumn bulk.Column // of a file; its name is that of the id on the wire
	// ReadID reads an id, and Subject is the same for ids of one record that are spelled in two ways.
	ReadID  func(value api.Value, into *I) (problem string)
	Subject func(I) string
	// Exported are the fields of an export that cannot be changed, and Ignored those of them that a file of changes may
	// have all the same.
	Exported, Ignored []string

	New       func([]api.Member) (I, P, error) // reads a new record, and its id if it has one
	TakesID   bool                             // a new record may have one
	Required  []string                         // fields of a new record
	Check     func(*R) error                   // the rules between fields; nil if there are none
	SetChange func(v *api.PropertyVersion, before, after *R) error
	// Has tells whether a field has a value, valid or not, and IsOdd whether it has one that is not. They are nil where
	// no record has one.
	Has   func(of R, name string, value api.Value) bool
	IsOdd func(of R, name string) bool

	Find          Find[I, R]
	CompleteQuery cobra.CompletionFunc
	OwnList       []string // flags of list that show what the client has created
	Shown         []string // fields by which people know a record that is deleted; the first is its title
	View          output.View
	IDs           func(s *session.Session, own bool) cobra.CompletionFunc
	End           func(I) string               // says what to do instead of deleting a record; nil where Delete is not
	MayChange     func(*session.Session) error // refuses a connection where nothing can be changed; nil refuses none
}

// Words are how messages and help name records.
type Words struct {
	Plural                string // of the kind's name
	One, All              string // in help: a listing, listings
	Mine                  string // those that a query may change: your listings
	Whose                 string // behind a number of those: " of yours", or nothing if a query may change all
	None                  string // none of your properties
	ExampleID, ExampleSet string // an id, and a change of many as --set takes it
	InResults             string // the kind in the results of rows; "" for properties, whose results say none
}

// Find reads --query, and returns how to find what it means.
type Find[I ~string, R any] func(*cobra.Command) (search[I, R], error)

type search[I ~string, R any] func(context.Context, *client.Client) Found[I, R]

// Found is what a query finds.
type Found[I ~string, R any] struct {
	IDs  iter.Seq2[I, error] // of the records that the client may change
	Fits func(R) bool        // tells whether a record still fits the query
	// All counts those of others too, on its first page. Nil if the client may change all of them.
	All func() (api.PageMeta, error)
}

// Search makes Find from a list of records, whose entries L may have fewer fields than a record. own narrows a filter
// to what the client may change; it is nil if that is everything.
func Search[F, L any, I ~string, R any](
	fields []api.FilterField[F], pages func(*client.Client, context.Context, F, client.ListOptions) client.Pages[L],
	id func(L) I, entry func(R) L, own func(*F) *bool,
) Find[I, R] {
	return func(cmd *cobra.Command) (search[I, R], error) {
		filter, err := list.ReadQuery(cmd, fields)
		return func(ctx context.Context, c *client.Client) (found Found[I, R]) {
			all, mine := filter, filter
			if own != nil && !*own(&mine) {
				*own(&mine) = true
				found.All = func() (api.PageMeta, error) {
					for page, err := range pages(c, ctx, all, client.ListOptions{PerPage: 1}) {
						return page.Meta, err
					}
					return api.PageMeta{}, nil
				}
			}
			found.Fits = func(record R) bool {
				check := api.CheckFilter[F, L](fields, all)
				check.Page([]L{entry(record)})
				return len(check.Ignored()) == 0
			}
			found.IDs = func(yield func(I, error) bool) {
				check := api.CheckFilter[F, L](fields, mine)
				for page, err := range pages(c, ctx, mine, client.ListOptions{PerPage: api.MaxPerPage}) {
					if check.Page(page.Data); err == nil {
						err = list.Ignored(check)
					}
					if err != nil {
						yield("", err)
						return
					}
					for _, item := range page.Data {
						if !yield(id(item), nil) {
							return
						}
					}
				}
			}
			return found
		}, err
	}
}

func (k *Kind[I, R, P]) parseIDs(args []string) ([]I, error) {
	ids := make([]I, len(args))
	for i, arg := range args {
		if problem := api.AnyIDRule(arg); problem != "" {
			return nil, command.Usagef("%q is not the id of a %s: it %s.", arg, k.Name, problem)
		}
		ids[i] = I(arg)
	}
	return ids, nil
}

func (k *Kind[I, R, P]) plural(n int64) string { return display.Plural(n, k.Name, k.Plural) }

// saving is an attempt about a record, without a change.
func (k *Kind[I, R, P]) saving(id I) operation.Saving[I, R, P] {
	return operation.Saving[I, R, P]{Kind: k.EditKind, ID: id}
}

// names returns the names of the fields that can be changed.
func (k *Kind[I, R, P]) names() []string { return namesOf(k.Fields()) }

func namesOf(fields []api.Field) []string {
	var names []string
	for _, field := range fields {
		names = append(names, field.Name)
	}
	return names
}

func (k *Kind[I, R, P]) title(of R) string { return strings.Join(k.Texts(of, k.Shown[0]), "") }

func (k *Kind[I, R, P]) checkMayChange(s *session.Session) error {
	if k.MayChange == nil {
		return nil
	}
	return k.MayChange(s)
}

// checked returns the error if a record breaks a rule between its fields.
func (k *Kind[I, R, P]) checked(record R, err error) error {
	if err == nil && k.Check != nil {
		err = k.Check(&record)
	}
	return err
}

func with[R any, P operation.Patch[R, P]](record R, patch P) R {
	patch.Apply(&record)
	return record
}

// Versioned is a record with its ETag, which guards an update from an export.
type Versioned[R any] client.Version[R]

// MarshalJSON writes the record as the service wrote it, with what could not be read.
func (v Versioned[R]) MarshalJSON() ([]byte, error) {
	return api.JoinObjects(v.Record, struct {
		ETag string `json:"etag"`
	}{v.ETag})
}

// Remarks are those of the record.
func (v Versioned[R]) Remarks() map[string]string {
	if of, hasRemarks := any(v.Record).(interface{ Remarks() map[string]string }); hasRemarks {
		return of.Remarks()
	}
	return nil
}

// done is the output of a change.
type done[I ~string] struct {
	id      I
	message string
}

// MarshalJSON writes the id under its name in a record.
func (d done[I]) MarshalJSON() ([]byte, error) {
	name := "id"
	if named, is := any(d.id).(interface{ Field() string }); is {
		name = named.Field()
	}
	return api.JoinObjects(map[string]I{name: d.id}, struct {
		Message string `json:"message"`
	}{d.message})
}

// updated is the output of an update.
type updated[I ~string] struct {
	done[I]
	changes []operation.FieldChange // null if it is not certain what the update has replaced
}

// MarshalJSON adds the changes.
func (u updated[I]) MarshalJSON() ([]byte, error) {
	return api.JoinObjects(u.done, struct {
		Changes []operation.FieldChange `json:"changes"`
	}{u.changes})
}

// begin makes the printer of a command that changes records, and checks that it may.
func begin[T any, I ~string, R any, P operation.Patch[R, P]](
	k *Kind[I, R, P], s *session.Session,
) (*output.Printer[T], error) {
	printer, err := output.New[T](s.Output, s.Streams, output.View{ID: k.IDColumn.Name})
	if err != nil {
		return nil, err
	}
	return printer, k.checkMayChange(s)
}
