package operation_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/operation"
)

// An edit of a category reviews, meets what somebody else has saved, merges and saves, as one of a property does.
func TestACategoryIsEdited(t *testing.T) {
	c, err := client.New(client.Config{BaseURL: "http://service.test", Tokens: client.StaticToken("token")})
	if err != nil {
		t.Fatal(err)
	}
	held, version := api.Category{ID: "food", Name: "Food"}, 1
	etag := func() string { return fmt.Sprintf("%q", fmt.Sprint(version)) }
	kind := operation.Categories
	kind.Get = func(*client.Client, context.Context, operation.CategoryID) (api.Category, string, error) {
		return held, etag(), nil
	}
	kind.Update = func(_ *client.Client, _ context.Context, _ operation.CategoryID, p api.CategoryPatch, ifMatch string,
	) (message api.Message, err error) {
		if ifMatch != etag() {
			return message, &client.Error{Status: http.StatusPreconditionFailed, Code: api.CodePreconditionFailed}
		}
		p.Apply(&held)
		version++
		return message, nil
	}
	base, _ := kind.Read(t.Context(), c, "food")
	e := kind.NewEdit("food", base)
	e.Type("category_name", "")
	if e.Submit() != operation.FoundInvalid {
		t.Error("no name was accepted")
	}
	e.Type("category_name", "Eating")
	e.Submit()
	e.Confirm()
	held.Name, version = "Drinks", 2 // by somebody else
	if event := e.Sent(e.Saving().Send(t.Context(), c)); event != operation.FoundConflict {
		t.Fatalf("event %v in %v", event, e.State())
	}
	e.Merge.Choose(operation.Mine)
	e.Decide()
	e.Confirm()
	if event := e.Sent(e.Saving().Send(t.Context(), c)); event != operation.FoundSaved || held.Name != "Eating" {
		t.Errorf("event %v, held %+v", event, held)
	}
}
