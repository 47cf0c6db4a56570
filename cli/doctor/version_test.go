package doctor

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestAServerIsTooOldOrTooNew(t *testing.T) {
	for _, test := range []struct {
		server, client string
		want           age
	}{
		{"v1.2.3", "v1.2.3", fits},
		{"1.2.0", "v1.2.9", fits},
		{"v1.3.0", "v1.2.3", fits},
		{"v1.10.0", "v1.9.0", fits},
		{"v1.1.9", "v1.2.0", tooOld},
		{"v1.9.0", "v1.10.0", tooOld},
		{"v1.9.9", "v2.0.0", tooOld},
		{"v2.0.0", "v1.9.9", tooNew},
		{"v2.0.0-rc.1", "v1.9.9", tooNew},
		{"v1.2.0-4-gabcdef0-dirty", "v1.2.3", fits},
		{"v1.1.0-4-gabcdef0", "v1.2.3", tooOld},
		{"dev", "v1.2.3", fits},
		{"v1.2.3", "b9ae7d4", fits},
		{"b9ae7d4-dirty", "dev", fits},
		{"", "v1.2.3", fits},
	} {
		if got := ageOf(test.server, test.client); got != test.want {
			t.Errorf("a server %s for a client %s: %d, want %d", test.server, test.client, got, test.want)
		}
	}
}

func TestDoctorSaysThatTheServerIsTooOldOrTooNew(t *testing.T) {
	for version, want := range map[string][3]string{ // perksctl is version 1.2.3
		"1.1.0": {warning, "The server is too old for this perksctl: perksctl 1.2.3 (",
			"Ask the operator to upgrade it"},
		"2.0.1": {warning, "The server is too new for this perksctl: perksctl 1.2.3 (",
			"Install perksctl 2.0.1 or newer"},
		"1.4.0": {ok, "; the server is version 1.4.0.", ""},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if strings.HasSuffix(r.URL.Path, "/health") {
				_, _ = w.Write([]byte(`{"status":"ok","version":"` + version + `"}`))
			} else {
				w.WriteHeader(http.StatusUnauthorized)
			}
		}))
		r := diagnose(t, newFixture(t, server.URL+"/v2").diagnosis())
		r.want("version", want[0], want[1], want[2])
		server.Close()
	}
}
