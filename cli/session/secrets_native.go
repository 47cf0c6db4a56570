//go:build windows || darwin

package session

import (
	"errors"
	"os/exec"
)

// keyringCanExist is true: the keyring is a part of the operating system.
func keyringCanExist() bool { return true }

// meansNoKeyring reports whether the program that calls the keyring is missing.
func meansNoKeyring(err error) bool {
	var program *exec.Error
	return errors.As(err, &program)
}
