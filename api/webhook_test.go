package api_test

import (
	"strings"
	"testing"

	"example.com/perks/api"
)

func TestWebhooksAreReadStrictly(t *testing.T) {
	hook, err := api.ParseNewWebhook([]byte(
		`{"url":"https://a.example:8443/x?y","types":["perk.changed","perk.changed"],"description":"d"}`))
	if err != nil || hook.URL != "https://a.example:8443/x?y" || len(hook.Types) != 1 || hook.Description != "d" {
		t.Errorf("%+v, %v", hook, err)
	}
	for body, field := range map[string]string{
		`{}`:                                           "url",
		`{"url":1}`:                                    "url",
		`{"url":"https://a","url":"https://b"}`:        "url",
		`{"url":"https://a:99999"}`:                    "url",
		`{"url":"https://a:"}`:                         "url",
		`{"url":"https://a#"}`:                         "url",
		`{"url":"https://@a"}`:                         "url",
		`{"url":"https://a\n"}`:                        "url",
		`{"url":"https://a","types":"x"}`:              "types",
		`{"url":"https://a","types":["webhook.test"]}`: "types",
		`{"url":"https://a","description":"` + strings.Repeat("x", 201) + `"}`: "description",
		`{"url":"https://a","enabled":true}`:                                   "enabled",
		`{"url":"https://a","id":"x"}`:                                         "id",
	} {
		if _, err := api.ParseNewWebhook([]byte(body)); !strings.Contains(errorText(err), field+" ") {
			t.Errorf("%s: %v", body, err)
		}
	}
	patch, err := api.ParseWebhookPatch([]byte(`{"enabled":false,"types":[]}`))
	if err != nil || patch.URL.Set || !patch.Types.Set || !patch.Enabled.Set || patch.Enabled.Value {
		t.Errorf("%+v, %v", patch, err)
	}
	if _, err := api.ParseWebhookPatch([]byte(`{"enabled":"yes"}`)); api.CodeOf(err) != api.CodeValidationFailed {
		t.Error(err)
	}
	if again, err := api.ParseWebhookRedelivery([]byte(`{"event_id":"a"}`)); err != nil || again.EventID != "a" {
		t.Errorf("%+v, %v", again, err)
	}
	for _, body := range []string{`{}`, `{"event_id":1}`, `{"event_id":"a","x":1}`, `[]`} {
		if _, err := api.ParseWebhookRedelivery([]byte(body)); err == nil {
			t.Errorf("%s is read", body)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
