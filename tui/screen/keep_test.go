package screen_test

import (
	"testing"

	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
)

// TestTheLastValueOfASettingIsKept runs the saves in the other order, as goroutines may.
func TestTheLastValueOfASettingIsKept(t *testing.T) {
	memory := &tuitest.Memory{}
	shell := &screen.Shell{Memory: memory}
	first, second := shell.Keep("views", "a"), shell.Keep("views", "a b")
	if failed := second(); failed != nil {
		t.Error(failed)
	}
	if failed := first(); failed != nil || memory.Settings()["views"] != "a b" {
		t.Errorf("%v, kept %v", failed, memory.Settings())
	}
}
