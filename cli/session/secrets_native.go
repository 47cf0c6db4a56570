//go:build windows || darwin

package session

import (
	"errors"
	"os/exec"
)

// keyringCanBeThere is true: the keyring is a part of the operating system.
func keyringCanBeThere() bool { return true }

// meansAbsent tells whether the program that leads to the keyring is missing.
func meansAbsent(err error) bool {
	var program *exec.Error
	return errors.As(err, &program)
}
