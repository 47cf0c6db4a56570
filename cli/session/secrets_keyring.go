package session

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/zalando/go-keyring"
)

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

// systemKeyring is the keyring of the operating system.
type systemKeyring struct{}

func (systemKeyring) get(name string) (string, error) {
	if !keyringCanBeThere() {
		return "", ErrNoKeyring
	}
	secret, err := keyring.Get(keyringService, name)
	return secret, meaning(err)
}

func (systemKeyring) set(name, secret string) error {
	if !keyringCanBeThere() {
		return ErrNoKeyring
	}
	return meaning(keyring.Set(keyringService, name, secret))
}

func (systemKeyring) delete(name string) error {
	if !keyringCanBeThere() {
		return ErrNoKeyring
	}
	return meaning(keyring.Delete(keyringService, name))
}

func meaning(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, keyring.ErrNotFound):
		return ErrNoSecret
	case errors.Is(err, keyring.ErrUnsupportedPlatform), meansAbsent(err):
		return ErrNoKeyring
	}
	return err
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
	answer := make(chan string, 1)
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
