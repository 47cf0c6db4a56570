package property

import (
	"errors"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/operation"
	"example.com/perks/server/servertest"
)

// newTestServer starts a server with property 42, and returns a connection as its owner.
func newTestServer(t *testing.T) connector {
	server := servertest.Start(t)
	owner, secret := server.Client()
	server.ImportProperties(owner, api.Property{ID: 42, Title: "Flat"})
	c, err := client.New(client.Config{BaseURL: server.URL, Tokens: client.StaticToken(server.TokenFor(owner, secret))})
	if err != nil {
		t.Fatal(err)
	}
	return func() (*client.Client, error) { return c, nil }
}

func (connect connector) update(t *testing.T, file string) operation.Task {
	t.Helper()
	e, err := parseUpdateRow(updateColumns(), firstRow(t, file))
	if err != nil {
		t.Fatal(err)
	}
	e.connect = connect
	return e
}

func (connect connector) remove(t *testing.T, file string) operation.Task {
	t.Helper()
	e, err := parseDeleteRow(deleteColumns(), firstRow(t, file))
	if err != nil {
		t.Fatal(err)
	}
	e.connect = connect
	return e
}

// version reads the ETag of property 42.
func (connect connector) version(t *testing.T) string {
	t.Helper()
	c, _ := connect()
	_, etag, err := c.Property(t.Context(), "42")
	if err != nil || etag == "" {
		t.Fatalf("%q, %v", etag, err)
	}
	return etag
}

func TestUpdateIsDoneAndFound(t *testing.T) {
	connect := newTestServer(t)
	task := connect.update(t, "id,title,price_pw,lat\n42,Loft,295.50,null\n")
	if task.Subject() != "42" {
		t.Errorf("the subject is %q", task.Subject())
	}
	if _, event, err := task.LookUp(t.Context(), time.Now(), nil); event != operation.Absent || err != nil {
		t.Fatalf("before: %d, %v", event, err)
	}
	want := operation.Outcome{ID: "42", Status: 200}
	if outcome, _, err := task.Send(t.Context(), "k"); outcome != want || err != nil {
		t.Fatalf("%+v, %v", outcome, err)
	}
	if outcome, event, err := task.LookUp(t.Context(), time.Now(), nil); outcome != want || event != operation.Found ||
		err != nil {
		t.Errorf("after: %+v, %d, %v", outcome, event, err)
	}
}

// TestARowWithAnInvalidValueIsNeverDone asks whether a run that was killed has carried out a row whose other values the
// property has already.
func TestARowWithAnInvalidValueIsNeverDone(t *testing.T) {
	connect := newTestServer(t)
	for _, row := range []string{"id,price_pw\n42,29x\n", "id,title,price_pw\n42,Flat,29x\n"} {
		task := connect.update(t, row)
		if _, event, err := task.LookUp(t.Context(), time.Now(), nil); event != operation.Absent || err != nil {
			t.Errorf("%q: %d, %v", row, event, err)
		}
		if outcome, _, err := task.Send(t.Context(), "k"); api.CodeOf(err) != api.CodeValidationFailed {
			t.Errorf("%q: %+v, %v", row, outcome, err)
		}
	}
}

// TestSpellingsOfAnIDAreOneSubject has ids that perksd takes for one, so that their rows must stay in order.
func TestSpellingsOfAnIDAreOneSubject(t *testing.T) {
	for id, want := range map[api.PropertyID]string{
		"42": "42", "042": "42", "+42": "42", "7f3c": "7f3c", "4e1": "4e1",
	} {
		if got := (&task{PropertySaving: deletion(id, "")}).Subject(); got != want {
			t.Errorf("%s has the subject %s", id, got)
		}
	}
}

func TestDeletionIsDoneAndFound(t *testing.T) {
	connect := newTestServer(t)
	task := connect.remove(t, "id,title\n42,Flat\n")
	if task.Subject() != "42" {
		t.Errorf("the subject is %q", task.Subject())
	}
	if _, event, err := task.LookUp(t.Context(), time.Now(), nil); event != operation.Absent || err != nil {
		t.Fatalf("before: %d, %v", event, err)
	}
	want := operation.Outcome{ID: "42", Status: 200}
	if outcome, _, err := task.Send(t.Context(), "k"); outcome != want || err != nil {
		t.Fatalf("%+v, %v", outcome, err)
	}
	if outcome, event, err := task.LookUp(t.Context(), time.Now(), nil); outcome != want || event != operation.Found ||
		err != nil {
		t.Errorf("after: %+v, %d, %v", outcome, event, err)
	}
	if _, _, err := task.Send(t.Context(), "k"); api.CodeOf(err) != api.CodeNotFound {
		t.Errorf("again: %v", err)
	}
}

func TestETagGuardsTheProperty(t *testing.T) {
	connect := newTestServer(t)
	before := connect.version(t)
	quoted := `"""` + before[1:len(before)-1] + `"""` // as in CSV
	first := connect.update(t, "id,title,if_match\n42,Loft,"+quoted+"\n")
	second := connect.update(t, "id,title,if_match\n42,Barn,"+quoted+"\n")
	removal := connect.remove(t, "id,if_match\n42,"+quoted+"\n")
	for _, task := range []operation.Task{first, second, removal} {
		if err := task.Predict(t.Context()).Err; err != nil {
			t.Errorf("check before the update: %v", err)
		}
	}
	if _, _, err := first.Send(t.Context(), "k"); err != nil {
		t.Fatal(err)
	}
	for _, task := range []operation.Task{second, removal} {
		if _, _, err := task.Send(t.Context(), "k"); api.CodeOf(err) != api.CodePreconditionFailed {
			t.Errorf("stale version: %v", err)
		}
		if err := task.Predict(t.Context()).Err; api.CodeOf(err) != api.CodePreconditionFailed {
			t.Errorf("check of a stale version: %v", err)
		}
	}
	for _, version := range []string{"*", connect.version(t), `"other", ` + connect.version(t)} {
		task := task{PropertySaving: deletion("42", version), connect: connect}
		if err := task.Predict(t.Context()).Err; err != nil {
			t.Errorf("check of %s: %v", version, err)
		}
	}
}

func TestMissingProperty(t *testing.T) {
	connect := newTestServer(t)
	update := connect.update(t, "id,title\n7,Loft\n")
	deletion := connect.remove(t, "id\n7\n")
	for _, task := range []operation.Task{update, deletion} {
		if err := task.Predict(t.Context()).Err; api.CodeOf(err) != api.CodeNotFound {
			t.Errorf("check: %v", err)
		}
		if _, _, err := task.Send(t.Context(), "k"); api.CodeOf(err) != api.CodeNotFound {
			t.Errorf("%v", err)
		}
	}
	if _, event, err := update.LookUp(t.Context(), time.Now(), nil); event != operation.Unread ||
		api.CodeOf(err) != api.CodeNotFound {
		t.Errorf("update of a missing property: %d, %v", event, err)
	}
}

func TestTaskWithoutConnectionFails(t *testing.T) {
	broken := errors.New("no connection")
	connect := connector(func() (*client.Client, error) { return nil, broken })
	for _, task := range []operation.Task{connect.update(t, "id,title\n42,Loft\n"), connect.remove(t, "id\n42\n")} {
		_, _, do := task.Send(t.Context(), "k")
		_, _, done := task.LookUp(t.Context(), time.Now(), nil)
		check := task.Predict(t.Context()).Err
		for _, err := range []error{do, done, check} {
			if err != broken {
				t.Errorf("%v", err)
			}
		}
	}
}
