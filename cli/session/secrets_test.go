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
	"example.com/perks/cli/output"
)

// fakeKeyring is a keyring that works, unless err is set or it hangs. It counts its calls.
type fakeKeyring struct {
	held  map[string]string
	err   error
	hangs bool
	hung  chan struct{} // receives when a call hangs
	calls int
}

func (r *fakeKeyring) call(call keyringCall, name, secret string) (string, error) {
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

// secretsFixture is a computer with a keyring and a file. Each run of perksctl has its own Secrets.
type secretsFixture struct {
	t       *testing.T
	keyring *fakeKeyring
	file    string
}

func newSecretsFixture(t *testing.T) *secretsFixture {
	return &secretsFixture{t, &fakeKeyring{held: map[string]string{}}, filepath.Join(t.TempDir(), "secrets.json")}
}

// run returns the Secrets of a run of perksctl. The timeout expires only when the keyring hangs.
func (f *secretsFixture) run() *Secrets {
	keyring := &keyringClient{call: f.keyring.call}
	hung := make(chan struct{}, 1)
	f.keyring.hung = hung
	keyring.after = func(time.Duration) <-chan time.Time {
		timeout := make(chan time.Time)
		go func() {
			<-hung
			close(timeout)
		}()
		return timeout
	}
	return &Secrets{f.file, keyring}
}

func (f *secretsFixture) runWithout() *Secrets { return &Secrets{f.file, nil} }

func (f *secretsFixture) text() string {
	text, err := os.ReadFile(f.file)
	if err != nil && !os.IsNotExist(err) {
		f.t.Fatal(err)
	}
	return string(text)
}

var key = SecretKey{"work", "https://a/v2", "c"}

func (f *secretsFixture) set(s *Secrets, secret string) SavedSecret {
	f.t.Helper()
	saved, err := s.Set(context.Background(), key, secret)
	if err != nil {
		f.t.Fatal(err)
	}
	return saved
}

func (f *secretsFixture) want(s *Secrets, want string) {
	f.t.Helper()
	got, err := s.Get(context.Background(), key)
	if got != want || want == "" && !errors.Is(err, ErrNoSecret) || want != "" && err != nil {
		f.t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

func TestSecretIsSavedOnlyInTheKeyring(t *testing.T) {
	f := newSecretsFixture(t)
	if saved := f.set(f.run(), "s3cret"); saved.String() != "The secret is saved in the keyring." {
		t.Error(saved)
	}
	f.want(f.run(), "s3cret")
	if strings.Contains(f.text(), "s3cret") {
		t.Errorf("the file has the secret:\n%s", f.text())
	}
	if location, _, err := f.run().Location(key); location != InKeyring || err != nil {
		t.Errorf("the location is %q, %v", location, err)
	}
}

func TestSecretIsSavedInTheFileWithoutKeyring(t *testing.T) {
	for name, test := range map[string]struct {
		keyring fakeKeyring
		want    string
	}{
		"hanging": {fakeKeyring{hangs: true}, "The keyring does not respond; the secret is saved in the file "},
		"absent":  {fakeKeyring{err: ErrNoKeyring}, "There is no keyring here; the secret is saved in the file "},
	} {
		f := newSecretsFixture(t)
		f.keyring = &test.keyring
		if saved := f.set(f.run(), "s3cret"); !strings.HasPrefix(saved.String(), test.want) || saved.File != f.file {
			t.Errorf("%s: %s", name, saved)
		}
		later := f.run()
		f.want(later, "s3cret")
		if test.keyring.calls != 1 {
			t.Errorf("%s: %d calls, want only that of the login", name, test.keyring.calls)
		}
		if info, err := os.Stat(f.file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: the file's mode is %v, %v", name, info.Mode().Perm(), err)
		}
	}
}

func TestDisabledKeyringIsNotCalled(t *testing.T) {
	f := newSecretsFixture(t)
	if saved := f.set(f.runWithout(), "s3cret"); !strings.HasPrefix(saved.String(),
		"The secret is saved in the file ") {
		t.Error(saved)
	}
	f.want(f.runWithout(), "s3cret")
	if _, left, err := f.runWithout().Delete(context.Background(), key); left || err != nil {
		t.Errorf("left %t, %v", left, err)
	}
	if f.keyring.calls != 0 {
		t.Errorf("%d calls", f.keyring.calls)
	}
}

func TestKeyringIsNotCalledForUnknownSecrets(t *testing.T) {
	f := newSecretsFixture(t)
	f.want(f.run(), "")
	if _, _, err := f.run().Delete(context.Background(), key); err != nil || f.keyring.calls != 0 {
		t.Errorf("%d calls, %v", f.keyring.calls, err)
	}
}

func TestSilentKeyringCostsOneWait(t *testing.T) {
	f := newSecretsFixture(t)
	f.set(f.run(), "s3cret")
	f.keyring.hangs = true
	run := f.run()
	for range 3 {
		_, err := run.Get(context.Background(), key)
		if err == nil || !strings.Contains(err.Error(), "does not respond") ||
			output.ExitCode(err) != command.ExitDenied {
			t.Errorf("got %v", err)
		}
	}
	if f.keyring.calls != 2 { // one to set it, one that hangs
		t.Errorf("%d calls", f.keyring.calls)
	}
}

func TestKeyringCallStopsWithTheContext(t *testing.T) {
	f := newSecretsFixture(t)
	f.set(f.run(), "s3cret")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	hanging := &Secrets{f.file, &keyringClient{call: (&fakeKeyring{hangs: true}).call, after: time.After}}
	if _, err := hanging.Get(ctx, key); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestSecretInTheFileIsNewerThanInTheKeyring(t *testing.T) {
	f := newSecretsFixture(t)
	f.set(f.run(), "old")
	f.keyring.hangs = true
	f.set(f.run(), "new")
	f.keyring.hangs = false
	f.want(f.run(), "new")
	f.set(f.run(), "newest")
	f.want(f.run(), "newest")
	if strings.Contains(f.text(), "new") {
		t.Errorf("the file still has a copy:\n%s", f.text())
	}
}

func TestUnavailableKeyringGivesAdvice(t *testing.T) {
	for want, use := range map[string]func(f *secretsFixture) *Secrets{
		"there is no keyring here. Unlock or start": func(f *secretsFixture) *Secrets {
			f.keyring.err = ErrNoKeyring
			return f.run()
		},
		"the collection is locked. Unlock or start": func(f *secretsFixture) *Secrets {
			f.keyring.err = errors.New("the collection is locked")
			return f.run()
		},
		"which PERKSCTL_KEYRING=off disables. Unset it, or log in": (*secretsFixture).runWithout,
	} {
		f := newSecretsFixture(t)
		f.set(f.run(), "s3cret")
		_, err := use(f).Get(context.Background(), key)
		if err == nil || !strings.Contains(err.Error(), want) || output.ExitCode(err) != command.ExitDenied {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	f := newSecretsFixture(t)
	f.set(f.run(), "s3cret")
	clear(f.keyring.held) // by another program
	f.want(f.run(), "")
}

func TestLoginFailsIfKeyringRefusesSecret(t *testing.T) {
	f := newSecretsFixture(t)
	f.keyring.err = errors.New("the collection is locked")
	_, err := f.run().Set(context.Background(), key, "s3cret")
	report := output.NewReport(err)
	if err == nil || !strings.Contains(report.Message, "the collection is locked") {
		t.Errorf("got %v", err)
	}
	if strings.Contains(f.text(), "s3cret") {
		t.Error("the secret was saved in the file")
	}
}

func TestLogoutDeletesSecretFromKeyringAndFile(t *testing.T) {
	f := newSecretsFixture(t)
	f.set(f.run(), "old")
	f.keyring.hangs = true
	f.set(f.run(), "new")
	f.keyring.hangs = false
	from, left, err := f.run().Delete(context.Background(), key)
	if len(from) != 2 || left || err != nil {
		t.Errorf("from %v, left %t, %v", from, left, err)
	}
	if len(f.keyring.held) > 0 || strings.Contains(f.text(), "work") {
		t.Errorf("left: %v\n%s", f.keyring.held, f.text())
	}
	f.want(f.run(), "")
}

func TestLogoutFailsIfKeyringHangs(t *testing.T) {
	f := newSecretsFixture(t)
	f.set(f.run(), "s3cret")
	f.keyring.hangs = true
	if _, left, err := f.run().Delete(context.Background(), key); !left || err == nil {
		t.Errorf("left %t, %v", left, err)
	}
	f.keyring.hangs = false
	f.want(f.run(), "s3cret")
	if _, left, err := f.run().Delete(context.Background(), key); left || err != nil || len(f.keyring.held) > 0 {
		t.Errorf("left %t, %v, %v", left, err, f.keyring.held)
	}
}

func TestLogoutWithKeyringOffReportsSecretLeft(t *testing.T) {
	f := newSecretsFixture(t)
	f.set(f.run(), "s3cret")
	if _, left, err := f.runWithout().Delete(context.Background(), key); !left || err != nil {
		t.Errorf("left %t, %v", left, err)
	}
	f.want(f.run(), "")
}

func TestLogoutDeletesSecretThatKeyringSavedLate(t *testing.T) {
	f := newSecretsFixture(t)
	f.keyring.hangs = true
	f.set(f.run(), "s3cret")
	f.keyring.hangs, f.keyring.held[key.String()] = false, "s3cret" // the user unlocked it late
	if _, _, err := f.run().Delete(context.Background(), key); err != nil || len(f.keyring.held) > 0 {
		t.Errorf("%v, held %v", err, f.keyring.held)
	}
}

func TestSecretsBelongToProfileAddressAndClient(t *testing.T) {
	f := newSecretsFixture(t)
	f.set(f.runWithout(), "s3cret")
	elsewhere := key
	elsewhere.APIURL = "https://evil/v2"
	if _, err := f.runWithout().Get(context.Background(), elsewhere); !errors.Is(err, ErrNoSecret) {
		t.Errorf("another address got the secret: %v", err)
	}
}
