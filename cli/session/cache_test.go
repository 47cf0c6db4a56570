package session

import (
	"os"
	"testing"
	"time"
)

func TestStoreDeletesWhatWasSavedFirst(t *testing.T) {
	s := Store[string]{Dir: t.TempDir(), Most: 2}
	for i, key := range []string{"a", "b", "c"} {
		s.Save(key, key)
		at := time.Now().Add(time.Duration(i-9) * time.Minute)
		if err := os.Chtimes(s.path(key), at, at); err != nil {
			t.Fatal(err)
		}
	}
	for key, want := range map[string]bool{"a": false, "b": true, "c": true} {
		if value, ok := s.Load(key); ok != want || ok && value != key {
			t.Errorf("%s: %q, %t", key, value, ok)
		}
	}
	Store[string]{}.Save("a", "a")
	if _, ok := (Store[string]{}).Load("a"); ok {
		t.Error("a store without a directory keeps something")
	}
}
