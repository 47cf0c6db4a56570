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

// EnvKeyring is the variable that switches the keyring off.
const EnvKeyring = "PERKSCTL_KEYRING"

// Location is where a secret is saved; the empty Location is nowhere.
type Location string

// The locations of a secret.
const (
	InKeyring     Location = "keyring"
	InFile        Location = "file"
	InEnvironment Location = "environment"
)

// Secrets saves client secrets in the keyring of the operating system, or in a private file if no keyring responds. The
// file also says which secrets are in the keyring: the keyring is asked only for secrets that it has, and a secret that
// is in both is deleted in both.
type Secrets struct {
	path    string
	keyring *keyringClient // nil if it is switched off
}

// savedSecret is what the file has for a key.
type savedSecret struct {
	Secret  string `json:"secret,omitempty"`
	Keyring bool   `json:"keyring,omitempty"` // the keyring has one too, perhaps an older one
}

// ErrNoSecret says that no secret is saved under the key.
var ErrNoSecret = errors.New("no secret is saved")

// SecretKey names a secret. The address is part of it, so that a profile whose address is changed does not send its
// secret there.
type SecretKey struct{ Profile, APIURL, ClientID string }

func (k SecretKey) String() string { return fmt.Sprintf("%s %s %s", k.Profile, k.ClientID, k.APIURL) }

// Key returns the name of the secret of a profile with this name.
func (p Profile) Key(name string) SecretKey { return SecretKey{name, p.APIURL, p.ClientID} }

// Key returns the name of the connection's secret.
func (c Connection) Key() SecretKey { return c.Profile.Key(c.ProfileName) }

// Secrets returns the same Secrets each time, so that a keyring that did not respond is not asked again.
func (s *Session) Secrets() (*Secrets, error) { return s.secrets() }

func (s *Session) newSecrets() (*Secrets, error) {
	dir, err := s.Dir()
	if err != nil {
		return nil, err
	}
	secrets := &Secrets{path: filepath.Join(dir, "secrets.json")}
	switch setting := s.env(EnvKeyring); setting {
	case "", "on":
		secrets.keyring = &keyringClient{call: callKeyring, after: time.After}
	case "off":
	default:
		return nil, command.Usagef("%s is %q; it can be on or off.", EnvKeyring, setting)
	}
	return secrets, nil
}

// Get returns the secret, or ErrNoSecret. If the keyring does not give it, the error is a *command.NotLoggedIn that
// says what to do.
func (s *Secrets) Get(ctx context.Context, key SecretKey) (string, error) {
	saved, err := s.saved(key)
	switch {
	case err != nil:
		return "", err
	case saved.Secret != "": // it is never older than that of the keyring
		return saved.Secret, nil
	case !saved.Keyring:
		return "", ErrNoSecret
	case s.keyring == nil:
		return "", &command.NotLoggedIn{Message: fmt.Sprintf("The secret of %s at %s is in the keyring, which %s=off "+
			"disables. Unset it, or log in again to save the secret in a file.", key.ClientID, key.APIURL, EnvKeyring)}
	}
	secret, err := s.keyring.ask(ctx, getSecret, key.String(), "")
	if err == nil || errors.Is(err, ErrNoSecret) || ctx.Err() != nil {
		return secret, err
	}
	return "", &command.NotLoggedIn{Message: fmt.Sprintf("The secret of %s at %s is in the keyring: %s. Unlock or "+
		"start the keyring and try again; or save the secret in a file: %s", key.ClientID, key.APIURL, err,
		loginWithout)}
}

const loginWithout = EnvKeyring + "=off perksctl auth login"

// Set saves the secret, replacing an earlier one: in the keyring, or in the file if there is no keyring.
func (s *Secrets) Set(ctx context.Context, key SecretKey, secret string) (SavedSecret, error) {
	inFile := SavedSecret{Location: InFile, File: s.path}
	if s.keyring == nil {
		return inFile, s.update(ctx, key, func(saved *savedSecret) { saved.Secret = secret })
	}
	_, err := s.keyring.ask(ctx, setSecret, key.String(), secret)
	switch {
	case err == nil:
		return SavedSecret{Location: InKeyring}, s.update(ctx, key,
			func(saved *savedSecret) { *saved = savedSecret{Keyring: true} })
	case ctx.Err() != nil:
		return SavedSecret{}, err
	case !errors.Is(err, ErrKeyringTimeout) && !errors.Is(err, ErrNoKeyring): // it is the keyring's own reply
		return SavedSecret{}, &command.Advised{
			Err:    fmt.Errorf("the keyring refused the secret: %w", err),
			Advice: "Unlock the keyring and log in again; or save the secret in a file: " + loginWithout,
		}
	}
	inFile.why = err
	return inFile, s.update(ctx, key, func(saved *savedSecret) {
		saved.Secret = secret
		saved.Keyring = saved.Keyring || errors.Is(err, ErrKeyringTimeout) // it may save the secret later
	})
}

// SavedSecret says where Set has saved a secret.
type SavedSecret struct {
	Location Location
	File     string // its path, if it is InFile
	why      error  // why it is not in the keyring
}

// String is a sentence for people.
func (s SavedSecret) String() string {
	if s.Location == InKeyring {
		return "The secret is saved in the keyring."
	}
	where := fmt.Sprintf("he secret is saved in the file %s, which only you can read.", s.File)
	switch {
	case errors.Is(s.why, ErrKeyringTimeout):
		return "The keyring does not respond; t" + where
	case s.why != nil:
		return "There is no keyring here; t" + where
	}
	return "T" + where
}

// Location returns where the secret is, and the path if it is in the file. It does not ask the keyring.
func (s *Secrets) Location(key SecretKey) (Location, string, error) {
	saved, err := s.saved(key)
	switch {
	case err != nil:
		return "", "", err
	case saved.Secret != "":
		return InFile, s.path, nil
	case saved.Keyring:
		return InKeyring, "", nil
	}
	return "", "", nil
}

// Delete deletes the secret wherever it is, and returns where it was. left says that the keyring still has it, because
// it is switched off or does not respond.
func (s *Secrets) Delete(ctx context.Context, key SecretKey) (from []Location, left bool, err error) {
	saved, err := s.saved(key)
	if err != nil || saved == (savedSecret{}) {
		return nil, false, err
	}
	if saved.Secret != "" {
		from = append(from, InFile)
	}
	if saved.Keyring && s.keyring != nil {
		_, err = s.keyring.ask(ctx, deleteSecret, key.String(), "")
		if err != nil && !errors.Is(err, ErrNoSecret) {
			failed := &command.Advised{
				Err: fmt.Errorf("the secret of %s at %s is still in the keyring: %w", key.ClientID, key.APIURL, err),
				Advice: fmt.Sprintf("Unlock or start the keyring and try again; or leave the secret there: %s=off",
					EnvKeyring),
			}
			return from, true, errors.Join(failed, s.update(ctx, key, func(saved *savedSecret) { saved.Secret = "" }))
		}
		if err == nil {
			from = append(from, InKeyring)
		}
	}
	left = saved.Keyring && s.keyring == nil
	return from, left, s.update(ctx, key, func(saved *savedSecret) { *saved = savedSecret{} })
}

// KeyringState is for diagnosis: it asks the keyring for a secret, unless it is off.
func (s *Secrets) KeyringState(ctx context.Context) (off bool, err error) {
	if s.keyring == nil {
		return true, nil
	}
	if _, err = s.keyring.ask(ctx, getSecret, "a name that is not used", ""); errors.Is(err, ErrNoSecret) {
		err = nil
	}
	return false, err
}

// SecretLocation returns where the secret of a connection comes from, and the path if it is in the file. It does not
// ask the keyring. A token from the environment needs no secret.
func (s *Session) SecretLocation(c Connection) (Location, string, error) {
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
	return secrets.Location(c.Key())
}

func (s *Secrets) saved(key SecretKey) (savedSecret, error) {
	all, err := s.load()
	return all[key.String()], err
}

// update changes what the file has for a key, and removes the key if nothing is left.
func (s *Secrets) update(ctx context.Context, key SecretKey, change func(*savedSecret)) error {
	unlock, err := command.LockFile(ctx, s.path)
	if err != nil {
		return err
	}
	defer unlock()
	all, err := s.load()
	if err != nil {
		return err
	}
	saved := all[key.String()]
	change(&saved)
	all[key.String()] = saved
	if saved == (savedSecret{}) {
		delete(all, key.String())
	}
	if err := command.WritePrivateJSON(s.path, all); err != nil {
		return fmt.Errorf("the secret cannot be saved: %w", err)
	}
	return nil
}

func (s *Secrets) load() (map[string]savedSecret, error) {
	all := map[string]savedSecret{}
	text, err := command.ReadPrivate(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return all, nil
	case err != nil:
		return nil, fmt.Errorf("the saved secrets cannot be read: %w", err)
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, command.Usagef("%s is not valid JSON. Rename it and log in again.", s.path)
	}
	return all, nil
}

// Why a keyring is not used.
var (
	ErrKeyringTimeout = errors.New("the keyring does not respond")
	ErrNoKeyring      = errors.New("there is no keyring here")
)

// keyringService is the name under which people find the secrets in their keyring.
const keyringService = "perksctl"

type keyringCall int

const (
	getSecret keyringCall = iota
	setSecret
	deleteSecret
)

// callKeyring calls the system's keyring. A secret that it does not have is ErrNoSecret; without a keyring, every call
// is ErrNoKeyring.
func callKeyring(call keyringCall, name, secret string) (found string, err error) {
	if !keyringCanExist() {
		return "", ErrNoKeyring
	}
	switch call {
	case getSecret:
		found, err = keyring.Get(keyringService, name)
	case setSecret:
		err = keyring.Set(keyringService, name, secret)
	case deleteSecret:
		err = keyring.Delete(keyringService, name)
	}
	switch {
	case errors.Is(err, keyring.ErrNotFound):
		err = ErrNoSecret
	case err != nil && (errors.Is(err, keyring.ErrUnsupportedPlatform) || meansNoKeyring(err)):
		err = ErrNoKeyring
	}
	return found, err
}

// keyringTime is how long a keyring may take. On a computer without a screen it often never responds.
const keyringTime = 3 * time.Second

// keyringClient waits for the keyring a limited time, and only once: a keyring that hangs delays a run once, however
// often it is used.
type keyringClient struct {
	call  func(call keyringCall, name, secret string) (string, error)
	after func(time.Duration) <-chan time.Time

	mu       sync.Mutex
	timedOut bool
}

// ask leaves a call that hangs to the end of the process.
func (k *keyringClient) ask(ctx context.Context, call keyringCall, name, secret string) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.timedOut {
		return "", ErrKeyringTimeout
	}
	type reply struct {
		secret string
		err    error
	}
	replies := make(chan reply, 1)
	go func() {
		found, err := k.call(call, name, secret)
		replies <- reply{found, err}
	}()
	select {
	case r := <-replies:
		return r.secret, r.err
	case <-k.after(keyringTime):
		k.timedOut = true
		return "", ErrKeyringTimeout
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
