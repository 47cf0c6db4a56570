package session

import (
	"testing"
	"time"

	"example.com/perks/api/client"
	"example.com/perks/cli/streams"
)

func TestWaitsAreToldOnceAndOnlyWhenTheyAreFelt(t *testing.T) {
	s, _, err := streams.Buffers("")
	tell := (&Session{Streams: s}).tellWaits()
	for _, w := range []client.Wait{
		{For: 999 * time.Millisecond, Asked: true, Why: "429 Too Many Requests"},
		{For: 30 * time.Second, Asked: true, Why: "429 Too Many Requests"},
		{For: 29 * time.Second, Asked: true, Why: "429 Too Many Requests"},
		{For: 30 * time.Second, Asked: true, Why: "429 Too Many Requests"},
		{For: 40250 * time.Millisecond, Why: "connection \x1b[2Jrefused"},
	} {
		tell(w)
	}
	want := "The server asks to wait 30s (429 Too Many Requests).\nTrying again in 40.3s: connection [2Jrefused.\n"
	if err.String() != want {
		t.Errorf("told\n%s\nwant\n%s", err, want)
	}
}
