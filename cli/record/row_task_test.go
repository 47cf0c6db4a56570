package record

import (
	"reflect"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/operation"
	"example.com/perks/server/servertest"
)

// newTestServer starts a server with property 42, and returns a client of its owner.
func newTestServer(t *testing.T) *client.Client {
	server := servertest.Start(t)
	owner, secret := server.Client()
	server.ImportProperties(owner, api.Property{ID: 42, Title: "Flat"})
	c, err := client.New(client.Config{BaseURL: server.URL, Tokens: client.StaticToken(server.TokenFor(owner, secret))})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func update(t *testing.T, file string) operation.Task {
	t.Helper()
	e, err := listings.parseUpdateRow(listings.updateColumns(), firstRow(t, file))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func remove(t *testing.T, file string) operation.Task {
	t.Helper()
	e, err := listings.parseDeleteRow(listings.deleteColumns(), firstRow(t, file))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// send carries out a row.
func send(t *testing.T, c *client.Client, task operation.Task) operation.Outcome {
	t.Helper()
	made, _, err := task.Send(t.Context(), c, "k")
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// version reads the ETag of property 42.
func version(t *testing.T, c *client.Client) string {
	t.Helper()
	_, etag, err := c.Property(t.Context(), "42")
	if err != nil || etag == "" {
		t.Fatalf("%q, %v", etag, err)
	}
	return etag
}

func TestUpdateIsDoneAndFound(t *testing.T) {
	c := newTestServer(t)
	send(t, c, update(t, "id,city\n42,Leeds\n"))
	task := update(t, "id,title,price_pw,lat\n42,Loft,295.50,null\n")
	if task.Subject() != "42" {
		t.Errorf("the subject is %q", task.Subject())
	}
	if _, event, err := task.LookUp(t.Context(), c, time.Now(), nil); event != operation.Absent || err != nil {
		t.Fatalf("before: %d, %v", event, err)
	}
	began := time.Now()
	made, _, err := task.Send(t.Context(), c, "k")
	if err != nil || made.ID != "42" || made.Status != 200 {
		t.Fatalf("%+v, %v", made, err)
	}
	if outcome, event, err := task.LookUp(t.Context(), c, began, nil); !reflect.DeepEqual(outcome, made) ||
		event != operation.Found || err != nil {
		t.Errorf("after: %+v, %d, %v", outcome, event, err)
	}
}

// TestARowWithAnInvalidValueIsNeverDone asks whether a run that was killed has carried out a row whose other values the
// property has already.
func TestARowWithAnInvalidValueIsNeverDone(t *testing.T) {
	c := newTestServer(t)
	for _, row := range []string{"id,price_pw\n42,29x\n", "id,title,price_pw\n42,Flat,29x\n"} {
		task := update(t, row)
		if _, event, err := task.LookUp(t.Context(), c, time.Now(), nil); event != operation.Absent || err != nil {
			t.Errorf("%q: %d, %v", row, event, err)
		}
		if outcome, _, err := task.Send(t.Context(), c, "k"); api.CodeOf(err) != api.CodeValidationFailed {
			t.Errorf("%q: %+v, %v", row, outcome, err)
		}
	}
}

// TestSpellingsOfAnIDAreOneSubject has ids that perksd takes for one, so that their rows must stay in order.
func TestSpellingsOfAnIDAreOneSubject(t *testing.T) {
	for id, want := range map[api.PropertyID]string{
		"42": "42", "042": "42", "+42": "42", "7f3c": "7f3c", "4e1": "4e1",
	} {
		if got := (&listingTask{Saving: listings.deletion(id, ""), kind: listings}).Subject(); got != want {
			t.Errorf("%s has the subject %s", id, got)
		}
	}
}

func TestDeletionIsDoneAndFound(t *testing.T) {
	c := newTestServer(t)
	send(t, c, update(t, "id,city\n42,Leeds\n"))
	task := remove(t, "id,title\n42,Flat\n")
	if task.Subject() != "42" {
		t.Errorf("the subject is %q", task.Subject())
	}
	if _, event, err := task.LookUp(t.Context(), c, time.Now(), nil); event != operation.Absent || err != nil {
		t.Fatalf("before: %d, %v", event, err)
	}
	began := time.Now()
	made, _, err := task.Send(t.Context(), c, "k")
	if err != nil || made.ID != "42" || made.Status != 200 {
		t.Fatalf("%+v, %v", made, err)
	}
	if outcome, event, err := task.LookUp(t.Context(), c, began, nil); !reflect.DeepEqual(outcome, made) ||
		event != operation.Found || err != nil {
		t.Errorf("after: %+v, %d, %v", outcome, event, err)
	}
	if _, _, err := task.Send(t.Context(), c, "k"); api.CodeOf(err) != api.CodeNotFound {
		t.Errorf("again: %v", err)
	}
}

func TestETagGuardsTheProperty(t *testing.T) {
	c := newTestServer(t)
	before := version(t, c)
	quoted := `"""` + before[1:len(before)-1] + `"""` // as in CSV
	first := update(t, "id,title,if_match\n42,Loft,"+quoted+"\n")
	second := update(t, "id,title,if_match\n42,Barn,"+quoted+"\n")
	removal := remove(t, "id,if_match\n42,"+quoted+"\n")
	for _, task := range []operation.Task{first, second, removal} {
		if err := task.Predict(t.Context(), c).Err; err != nil {
			t.Errorf("check before the update: %v", err)
		}
	}
	if _, _, err := first.Send(t.Context(), c, "k"); err != nil {
		t.Fatal(err)
	}
	for _, task := range []operation.Task{second, removal} {
		if _, _, err := task.Send(t.Context(), c, "k"); api.CodeOf(err) != api.CodePreconditionFailed {
			t.Errorf("stale version: %v", err)
		}
		if err := task.Predict(t.Context(), c).Err; api.CodeOf(err) != api.CodePreconditionFailed {
			t.Errorf("check of a stale version: %v", err)
		}
	}
	for _, version := range []string{"*", version(t, c), `"other", ` + version(t, c)} {
		task := listings.newTask(listings.deletion("42", version))
		if err := task.Predict(t.Context(), c).Err; err != nil {
			t.Errorf("check of %s: %v", version, err)
		}
	}
}

func TestMissingProperty(t *testing.T) {
	c := newTestServer(t)
	update := update(t, "id,title\n7,Loft\n")
	deletion := remove(t, "id\n7\n")
	for _, task := range []operation.Task{update, deletion} {
		if err := task.Predict(t.Context(), c).Err; api.CodeOf(err) != api.CodeNotFound {
			t.Errorf("check: %v", err)
		}
		if _, _, err := task.Send(t.Context(), c, "k"); api.CodeOf(err) != api.CodeNotFound {
			t.Errorf("%v", err)
		}
	}
	if _, event, err := update.LookUp(t.Context(), c, time.Now(), nil); event != operation.Unread ||
		api.CodeOf(err) != api.CodeNotFound {
		t.Errorf("update of a missing property: %d, %v", event, err)
	}
}
