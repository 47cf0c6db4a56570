//go:build !windows

package event

import (
	"strings"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/cli/command"
)

func TestAProgramGetsTheEvent(t *testing.T) {
	t.Parallel()
	actor := "ann"
	e := api.Event{ID: "property/7", Type: api.EventPropertyChanged, Subject: "property/7", Actor: &actor, Cursor: "c",
		At: time.Date(2026, 3, 2, 9, 5, 0, 0, time.UTC)}
	for name, test := range map[string]struct {
		line, said, problem string
	}{
		"the environment": {`sh -c 'env | grep ^PERKS_EVENT_ | sort'`, "property/7: PERKS_EVENT_ACTOR=ann\n" +
			"property/7: PERKS_EVENT_AT=2026-03-02T09:05:00Z\nproperty/7: PERKS_EVENT_ATTEMPT=2\n" +
			"property/7: PERKS_EVENT_CURSOR=c\nproperty/7: PERKS_EVENT_ID=property/7\n" +
			"property/7: PERKS_EVENT_SUBJECT=property/7\nproperty/7: PERKS_EVENT_TYPE=property.changed\n", ""},
		"the input": {`sed 's/,"at".*//'`, "property/7: {\"id\":\"property/7\",\"type\":\"property.changed\"\n", ""},
		"no shell":  {`echo '$HOME' ';' "a b"`, "property/7: $HOME ; a b\n", ""},
		"a failure": {`sh -c 'printf "one\ntwo" >&2; exit 3'`, "property/7: one\nproperty/7: two\n",
			"it ended with exit code 3"},
		"a signal":       {`sh -c 'kill -9 $$'`, "", "it was killed"},
		"long lines":     {`sh -c 'head -c 20000 /dev/zero | tr "\0" x'`, "", ""},
		"what it leaves": {`sh -c 'sleep 1000 & echo left'`, "property/7: left\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			streams, _, stderr := command.BufferedStreams("")
			p, err := newProgram(test.line, streams)
			if err != nil {
				t.Fatal(err)
			}
			defer p.close()
			a := p.deliver(t.Context(), e, time.Now(), 2)
			if a.problem != test.problem || a.exitCode == nil != (test.problem == "it was killed") {
				t.Errorf("got %+v", a)
			}
			if name == "long lines" {
				if lines := strings.Count(stderr.String(), "\n"); lines != 3 || stderr.Len() < 20000 {
					t.Errorf("%d bytes are %d lines", stderr.Len(), lines)
				}
			} else if stderr.String() != test.said {
				t.Errorf("it said %q, want %q", stderr.String(), test.said)
			}
		})
	}
	streams, _, _ := command.BufferedStreams("")
	for line, want := range map[string]string{
		"no-such-program": "--exec: no-such-program is not installed, or its directory is not in PATH.",
		"echo 'a":         "--exec \"echo 'a\" is not a command line.", " ": "is not a command line",
	} {
		if _, err := newProgram(line, streams); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", line, err)
		}
	}
}
