package session

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/perks/cli/command"
)

// ring is a keyring that works, unless err says otherwise or it hangs. It counts its calls.
type ring struct {
	held  map[string]string
	err   error
	hangs bool
	hung  chan struct{} // tells of a call that hangs
	calls int
}

func (r *ring) call(call keyringCall, name, secret string) (string, error) {
	r.calls++
	if r.hangs {
		r.hung <- struct{}{}
		select {}
	}
	if r.err != nil {
		return "", r.err
	}
	held, ok := r.held[name]
	switch {
	case call == setSecret:
		r.held[name] = secret
	case !ok:
		return "", ErrNoSecret
	case call == deleteSecret:
		delete(r.held, name)
	}
	return held, nil
}

// desk is one computer: a keyring, and the file. Each run of perksctl there has Secrets of its own.
type desk struct {
	t    *testing.T
	ring *ring
	file string
}

func newDesk(t *testing.T) *desk {
	return &desk{t, &ring{held: map[string]string{}}, filepath.Join(t.TempDir(), "secrets.json")}
}

// run is a run of perksctl in which the patience ends as soon as the keyring hangs, and never otherwise.
func (d *desk) run() *Secrets {
	keyring := &keyringClient{call: d.ring.call}
	hung := make(chan struct{}, 1)
	d.ring.hung = hung
	keyring.after = func(time.Duration) <-chan time.Time {
		over := make(chan time.Time)
		go func() {
			<-hung
			close(over)
		}()
		return over
	}
	return &Secrets{d.file, keyring}
}

func (d *desk) runWithout() *Secrets { return &Secrets{d.file, nil} }

func (d *desk) text() string {
	text, err := os.ReadFile(d.file)
	if err != nil && !os.IsNotExist(err) {
		d.t.Fatal(err)
	}
	return string(text)
}

var key = SecretKey{"work", "https://a/v2", "c"}

func (d *desk) set(s *Secrets, secret string) SavedSecret {
	d.t.Helper()
	kept, err := s.Set(context.Background(), key, secret)
	if err != nil {
		d.t.Fatal(err)
	}
	return kept
}

func (d *desk) want(s *Secrets, want string) {
	d.t.Helper()
	got, err := s.Get(context.Background(), key)
	if got != want || want == "" && !errors.Is(err, ErrNoSecret) || want != "" && err != nil {
		d.t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

func TestSecretGoesIntoTheKeyringAndIntoNoFile(t *testing.T) {
	d := newDesk(t)
	if kept := d.set(d.run(), "s3cret"); kept.String() != "The secret is saved in the keyring." {
		t.Error(kept)
	}
	d.want(d.run(), "s3cret")
	if strings.Contains(d.text(), "s3cret") {
		t.Errorf("the file holds it:\n%s", d.text())
	}
	if place, _, err := d.run().Location(key); place != InKeyring || err != nil {
		t.Errorf("the place is %q, %v", place, err)
	}
}

func TestSecretGoesIntoTheFileWhereNoKeyringAnswers(t *testing.T) {
	for name, test := range map[string]struct {
		ring ring
		want string
	}{
		"hanging": {ring{hangs: true}, "The keyring does not answer; the secret is saved in the file "},
		"absent":  {ring{err: ErrNoKeyring}, "There is no keyring here; the secret is saved in the file "},
	} {
		d := newDesk(t)
		d.ring = &test.ring
		if kept := d.set(d.run(), "s3cret"); !strings.HasPrefix(kept.String(), test.want) || kept.File != d.file {
			t.Errorf("%s: %s", name, kept)
		}
		later := d.run()
		d.want(later, "s3cret")
		if test.ring.calls != 1 {
			t.Errorf("%s: %d calls, want only that of the login", name, test.ring.calls)
		}
		if info, err := os.Stat(d.file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: the file's mode is %v, %v", name, info.Mode().Perm(), err)
		}
	}
}

func TestKeyringThatIsSwitchedOffIsNotAsked(t *testing.T) {
	d := newDesk(t)
	if kept := d.set(d.runWithout(), "s3cret"); !strings.HasPrefix(kept.String(), "The secret is saved in the file ") {
		t.Error(kept)
	}
	d.want(d.runWithout(), "s3cret")
	if _, left, err := d.runWithout().Delete(context.Background(), key); left || err != nil {
		t.Errorf("left %t, %v", left, err)
	}
	if d.ring.calls != 0 {
		t.Errorf("%d calls", d.ring.calls)
	}
}

func TestKeyringIsNotAskedForWhatItDoesNotHold(t *testing.T) {
	d := newDesk(t)
	d.want(d.run(), "")
	if _, _, err := d.run().Delete(context.Background(), key); err != nil || d.ring.calls != 0 {
		t.Errorf("%d calls, %v", d.ring.calls, err)
	}
}

func TestSilentKeyringCostsOneWait(t *testing.T) {
	d := newDesk(t)
	d.set(d.run(), "s3cret")
	d.ring.hangs = true
	run := d.run()
	for range 3 {
		_, err := run.Get(context.Background(), key)
		if err == nil || !strings.Contains(err.Error(), "does not answer") || command.ExitCode(err) != command.ExitDenied {
			t.Errorf("got %v", err)
		}
	}
	if d.ring.calls != 2 { // one when it was set, one that hangs
		t.Errorf("%d calls", d.ring.calls)
	}
}

func TestWaitingForTheKeyringEndsWithTheContext(t *testing.T) {
	d := newDesk(t)
	d.set(d.run(), "s3cret")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	hanging := &Secrets{d.file, &keyringClient{call: (&ring{hangs: true}).call, after: time.After}}
	if _, err := hanging.Get(ctx, key); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestSecretOfTheFileIsFoundWhenTheKeyringIsBack(t *testing.T) {
	d := newDesk(t)
	d.set(d.run(), "old")
	d.ring.hangs = true
	d.set(d.run(), "new")
	d.ring.hangs = false
	d.want(d.run(), "new")
	d.set(d.run(), "newest")
	d.want(d.run(), "newest")
	if strings.Contains(d.text(), "new") {
		t.Errorf("a copy was left in the file:\n%s", d.text())
	}
}

func TestSecretOfTheKeyringIsMissedWithAdvice(t *testing.T) {
	for want, use := range map[string]func(d *desk) *Secrets{
		"there is no keyring here. Unlock or start":                func(d *desk) *Secrets { d.ring.err = ErrNoKeyring; return d.run() },
		"the collection is locked. Unlock or start":                func(d *desk) *Secrets { d.ring.err = errors.New("the collection is locked"); return d.run() },
		"which PERKSCTL_KEYRING=off disables. Unset it, or log in": (*desk).runWithout,
	} {
		d := newDesk(t)
		d.set(d.run(), "s3cret")
		_, err := use(d).Get(context.Background(), key)
		if err == nil || !strings.Contains(err.Error(), want) || command.ExitCode(err) != command.ExitDenied {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	d := newDesk(t)
	d.set(d.run(), "s3cret")
	clear(d.ring.held) // by hand, in the keyring's own program
	d.want(d.run(), "")
}

func TestKeyringThatRefusesASecretStopsTheLogin(t *testing.T) {
	d := newDesk(t)
	d.ring.err = errors.New("the collection is locked")
	_, err := d.run().Set(context.Background(), key, "s3cret")
	report := command.NewReport(err)
	if err == nil || !strings.Contains(report.Message, "the collection is locked") {
		t.Errorf("got %v", err)
	}
	if strings.Contains(d.text(), "s3cret") {
		t.Error("the secret was put into the file unasked")
	}
}

func TestLoggingOutForgetsTheSecretInBothPlaces(t *testing.T) {
	d := newDesk(t)
	d.set(d.run(), "old")
	d.ring.hangs = true
	d.set(d.run(), "new")
	d.ring.hangs = false
	from, left, err := d.run().Delete(context.Background(), key)
	if len(from) != 2 || left || err != nil {
		t.Errorf("from %v, left %t, %v", from, left, err)
	}
	if len(d.ring.held) > 0 || strings.Contains(d.text(), "work") {
		t.Errorf("left: %v\n%s", d.ring.held, d.text())
	}
	d.want(d.run(), "")
}

func TestLoggingOutWithoutTheKeyringIsNotTakenForDone(t *testing.T) {
	d := newDesk(t)
	d.set(d.run(), "s3cret")
	d.ring.hangs = true
	if _, left, err := d.run().Delete(context.Background(), key); !left || err == nil {
		t.Errorf("left %t, %v", left, err)
	}
	d.ring.hangs = false
	d.want(d.run(), "s3cret")
	if _, left, err := d.run().Delete(context.Background(), key); left || err != nil || len(d.ring.held) > 0 {
		t.Errorf("left %t, %v, %v", left, err, d.ring.held)
	}
}

func TestLoggingOutWithTheKeyringOffTellsWhatStays(t *testing.T) {
	d := newDesk(t)
	d.set(d.run(), "s3cret")
	if _, left, err := d.runWithout().Delete(context.Background(), key); !left || err != nil {
		t.Errorf("left %t, %v", left, err)
	}
	d.want(d.run(), "")
}

func TestKeyringThatTakesASecretLateIsAskedToForgetIt(t *testing.T) {
	d := newDesk(t)
	d.ring.hangs = true
	d.set(d.run(), "s3cret")
	d.ring.hangs, d.ring.held[key.String()] = false, "s3cret" // the person has unlocked it after all
	if _, _, err := d.run().Delete(context.Background(), key); err != nil || len(d.ring.held) > 0 {
		t.Errorf("%v, held %v", err, d.ring.held)
	}
}

func TestSecretsAreKeptByProfileAddressAndClient(t *testing.T) {
	d := newDesk(t)
	d.set(d.runWithout(), "s3cret")
	elsewhere := key
	elsewhere.APIURL = "https://evil/v2"
	if _, err := d.runWithout().Get(context.Background(), elsewhere); !errors.Is(err, ErrNoSecret) {
		t.Errorf("another address got the secret: %v", err)
	}
}
