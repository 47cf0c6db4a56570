package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"github.com/zalando/go-keyring"

	"example.com/perks/cli/command"
)

// EnvKeyring names the variable that keeps perksctl away from the keyring of the operating system.
const EnvKeyring = "PERKSCTL_KEYRING"

// Place is a kind of place in which a secret is kept.
type Place string

// The places of a secret. The empty Place is nowhere.
const (
	InKeyring     Place = "keyring"
	InFile        Place = "file"
	InEnvironment Place = "environment"
)

// Secrets keeps client secrets between runs: in the keyring of the operating system, or in a file for its owner alone where
// no keyring answers. The file also notes which secrets are in the keyring, so that the keyring is not asked in vain, and a
// secret that went into one place while the other was away is still found, and forgotten in both.
type Secrets struct {
	file    secretFile
	keyring *patientKeyring // nil if it is switched off
}

// ErrNoSecret says that no secret is kept under the key.
var ErrNoSecret = errors.New("no secret is kept")

// SecretKey names a secret. The address is part of it, so that a profile that is pointed elsewhere does not take its
// secret along.
type SecretKey struct {
	Profile, APIURL, ClientID string
}

func (k SecretKey) String() string { return fmt.Sprintf("%s %s %s", k.Profile, k.ClientID, k.APIURL) }

// Key returns the name of the secret of a profile with this name.
func (p Profile) Key(name string) SecretKey { return SecretKey{name, p.APIURL, p.ClientID} }

// Key returns the name of the connection's secret.
func (c Connection) Key() SecretKey { return c.Profile.Key(c.ProfileName) }

// Secrets returns where this session keeps secrets, always the same, because a keyring that was found silent must not be asked
// again. Neither file nor keyring is touched yet.
func (s *Session) Secrets() (*Secrets, error) { return s.secrets() }

func (s *Session) newSecrets() (*Secrets, error) {
	dir, err := s.Folder()
	if err != nil {
		return nil, err
	}
	secrets := &Secrets{file: secretFile(filepath.Join(dir, "secrets.json"))}
	switch setting := s.env(EnvKeyring); setting {
	case "", "on":
		secrets.keyring = newPatientKeyring(systemKeyring{})
	case "off":
	default:
		return nil, command.Usagef("%s is %q; it can be on or off.", EnvKeyring, setting)
	}
	return secrets, nil
}

// Get returns the secret, or ErrNoSecret. A secret that cannot be had now is an *command.NotLoggedIn that says what to do.
func (s *Secrets) Get(ctx context.Context, key SecretKey) (string, error) {
	kept, err := s.file.get(key)
	switch {
	case err != nil:
		return "", err
	case kept.Secret != "": // it is never older than what the keyring may hold
		return kept.Secret, nil
	case !kept.Keyring:
		return "", ErrNoSecret
	case s.keyring == nil:
		return "", &command.NotLoggedIn{Message: fmt.Sprintf("The secret of %s at %s is in the keyring, which %s=off leaves out. Unset that, or log in again to keep the secret in a file.", key.ClientID, key.APIURL, EnvKeyring)}
	}
	secret, err := s.keyring.get(ctx, key.String())
	if err == nil || errors.Is(err, ErrNoSecret) || ctx.Err() != nil {
		return secret, err
	}
	return "", &command.NotLoggedIn{Message: fmt.Sprintf("The secret of %s at %s is in the keyring: %s. Unlock or start the keyring and try again; or keep the secret in a file: %s", key.ClientID, key.APIURL, err, loginWithout)}
}

// loginWithout is what helps where a keyring does not.
const loginWithout = EnvKeyring + "=off perksctl auth login"

// Set keeps the secret in the place of an earlier one, in the keyring if it answers. A copy in the other place is removed.
func (s *Secrets) Set(ctx context.Context, key SecretKey, secret string) (Kept, error) {
	toFile := Kept{Place: InFile, File: string(s.file)}
	if s.keyring == nil {
		return toFile, s.file.change(ctx, key, func(k *keptSecret) { k.Secret = secret })
	}
	err := s.keyring.set(ctx, key.String(), secret)
	switch {
	case err == nil:
		return Kept{Place: InKeyring}, s.file.change(ctx, key, func(k *keptSecret) { *k = keptSecret{Keyring: true} })
	case ctx.Err() != nil:
		return Kept{}, err
	case !isAway(err):
		return Kept{}, &command.Advised{
			Err:    fmt.Errorf("the keyring does not take the secret: %w", err),
			Advice: "Unlock the keyring and log in again; or keep the secret in a file: " + loginWithout,
		}
	}
	toFile.why = err
	return toFile, s.file.change(ctx, key, func(k *keptSecret) {
		k.Secret = secret
		k.Keyring = k.Keyring || errors.Is(err, ErrKeyringSilent) // it may take the secret yet
	})
}

// Kept tells where Set has put a secret.
type Kept struct {
	Place Place
	File  string // its path, in the place InFile
	why   error  // the reason why it is not the keyring
}

// String is a sentence for people.
func (k Kept) String() string {
	if k.Place == InKeyring {
		return "The secret is kept in the keyring."
	}
	where := fmt.Sprintf("he secret is kept in the file %s, which only you can read.", k.File)
	switch {
	case errors.Is(k.why, ErrKeyringSilent):
		return "The keyring does not answer; t" + where
	case k.why != nil:
		return "There is no keyring here; t" + where
	}
	return "T" + where
}

// Place tells where the secret is, and the file's path if it is there. It asks no keyring.
func (s *Secrets) Place(key SecretKey) (Place, string, error) {
	kept, err := s.file.get(key)
	switch {
	case err != nil:
		return "", "", err
	case kept.Secret != "":
		return InFile, string(s.file), nil
	case kept.Keyring:
		return InKeyring, "", nil
	}
	return "", "", nil
}

// Delete forgets the secret in every place and returns the places that it was in. It is no error if there is none. With
// the keyring switched off, what the keyring holds stays there, and left tells so.
func (s *Secrets) Delete(ctx context.Context, key SecretKey) (from []Place, left bool, err error) {
	kept, err := s.file.get(key)
	if err != nil || kept == (keptSecret{}) {
		return nil, false, err
	}
	if kept.Secret != "" {
		from = append(from, InFile)
	}
	if !kept.Keyring || s.keyring == nil {
		return from, kept.Keyring, s.file.change(ctx, key, forget)
	}
	err = s.keyring.delete(ctx, key.String())
	if err != nil && !errors.Is(err, ErrNoSecret) {
		failed := &command.Advised{
			Err:    fmt.Errorf("the secret of %s at %s stays in the keyring: %w", key.ClientID, key.APIURL, err),
			Advice: fmt.Sprintf("Unlock or start the keyring and try again; or leave the secret there: %s=off", EnvKeyring),
		}
		return from, true, errors.Join(failed, s.file.change(ctx, key, func(k *keptSecret) { k.Secret = "" }))
	}
	if err == nil {
		from = append(from, InKeyring)
	}
	return from, false, s.file.change(ctx, key, forget)
}

func forget(k *keptSecret) { *k = keptSecret{} }

// KeyringState says how the keyring does: nil if it answers or is switched off, which off tells. It is for diagnosis.
func (s *Secrets) KeyringState(ctx context.Context) (off bool, err error) {
	if s.keyring == nil {
		return true, nil
	}
	if _, err = s.keyring.get(ctx, "a name that is not used"); errors.Is(err, ErrNoSecret) {
		err = nil
	}
	return false, err
}

// File returns the path of the file that stands in for the keyring.
func (s *Secrets) File() string { return string(s.file) }

// SecretPlace tells where the secret of a connection comes from, and the file's path if it is in the file. Nothing but the file is
// asked. A token from the environment needs no secret.
func (s *Session) SecretPlace(c Connection) (Place, string, error) {
	switch {
	case c.token != "":
		return "", "", nil
	case c.secret != "":
		return InEnvironment, "", nil
	}
	secrets, err := s.Secrets()
	if err != nil {
		return "", "", err
	}
	return secrets.Place(c.Key())
}

// secretFile is a file for its owner alone: a JSON object from keys to what is kept for them.
type secretFile string

// keptSecret is what the file knows of one key.
type keptSecret struct {
	Secret  string `json:"secret,omitempty"`
	Keyring bool   `json:"keyring,omitempty"` // the keyring holds one too, maybe an older one
}

func (f secretFile) get(key SecretKey) (keptSecret, error) {
	all, err := f.load()
	return all[key.String()], err
}

// change changes what is kept for a key; of one without anything nothing stays.
func (f secretFile) change(ctx context.Context, key SecretKey, change func(*keptSecret)) error {
	unlock, err := command.LockFile(ctx, string(f))
	if err != nil {
		return err
	}
	defer unlock()
	all, err := f.load()
	if err != nil {
		return err
	}
	kept := all[key.String()]
	change(&kept)
	all[key.String()] = kept
	if kept == (keptSecret{}) {
		delete(all, key.String())
	}
	text, err := json.MarshalIndent(all, "", "  ") // #nosec G117 -- a file of secrets, which only its owner reads
	if err != nil {
		return fmt.Errorf("keep the secret: %w", err)
	}
	if err := command.WritePrivate(string(f), append(text, '\n')); err != nil {
		return fmt.Errorf("keep the secret: %w", err)
	}
	return nil
}

func (f secretFile) load() (map[string]keptSecret, error) {
	all := map[string]keptSecret{}
	text, err := command.ReadPrivate(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the kept secrets: %w", err)
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w. Move it away and log in again", f, err)
	}
	return all, nil
}

// keyringTime is how long a keyring may take. Those of computers without a screen often never answer.
const keyringTime = 3 * time.Second

// Why a keyring is not used.
var (
	ErrKeyringSilent = errors.New("the keyring does not answer")
	ErrNoKeyring     = errors.New("there is no keyring here")
)

// isAway tells whether an error means that there is no keyring to talk to. Any other is the keyring's own answer.
func isAway(err error) bool { return errors.Is(err, ErrKeyringSilent) || errors.Is(err, ErrNoKeyring) }

// keyringService is under what name people find the secrets in their keyring.
const keyringService = "perksctl"

// secretKeyring is a keyring. A secret that it does not hold is ErrNoSecret, and where there is no keyring, every call is
// ErrNoKeyring.
type secretKeyring interface {
	get(name string) (string, error)
	set(name, secret string) error
	delete(name string) error
}

type systemKeyring struct{}

func (systemKeyring) get(name string) (secret string, err error) {
	err = callKeyring(func() (err error) {
		secret, err = keyring.Get(keyringService, name)
		return err
	})
	return secret, err
}

func (systemKeyring) set(name, secret string) error {
	return callKeyring(func() error { return keyring.Set(keyringService, name, secret) })
}

func (systemKeyring) delete(name string) error {
	return callKeyring(func() error { return keyring.Delete(keyringService, name) })
}

func callKeyring(call func() error) error {
	if !keyringCanBeThere() {
		return ErrNoKeyring
	}
	switch err := call(); {
	case err == nil:
		return nil
	case errors.Is(err, keyring.ErrNotFound):
		return ErrNoSecret
	case errors.Is(err, keyring.ErrUnsupportedPlatform), meansAbsent(err):
		return ErrNoKeyring
	default:
		return err
	}
}

// patientKeyring waits for a keyring for a while, and does not ask it again once it was silent: a keyring that hangs costs
// a run one wait, however often it is needed.
type patientKeyring struct {
	keyring secretKeyring
	after   func(time.Duration) <-chan time.Time

	mu     sync.Mutex
	silent bool
}

func newPatientKeyring(keyring secretKeyring) *patientKeyring {
	return &patientKeyring{keyring: keyring, after: time.After}
}

func (p *patientKeyring) get(ctx context.Context, name string) (string, error) {
	answer := make(chan string, 1) // a call that is left behind writes to no variable of this one
	err := p.ask(ctx, func() error {
		secret, err := p.keyring.get(name)
		answer <- secret
		return err
	})
	if err != nil {
		return "", err
	}
	return <-answer, nil
}

func (p *patientKeyring) set(ctx context.Context, name, secret string) error {
	return p.ask(ctx, func() error { return p.keyring.set(name, secret) })
}

func (p *patientKeyring) delete(ctx context.Context, name string) error {
	return p.ask(ctx, func() error { return p.keyring.delete(name) })
}

// ask leaves a call that hangs behind; it ends with the process.
func (p *patientKeyring) ask(ctx context.Context, call func() error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.silent {
		return ErrKeyringSilent
	}
	answer := make(chan error, 1)
	go func() { answer <- call() }()
	select {
	case err := <-answer:
		return err
	case <-p.after(keyringTime):
		p.silent = true
		return ErrKeyringSilent
	case <-ctx.Done():
		return ctx.Err()
	}
}
