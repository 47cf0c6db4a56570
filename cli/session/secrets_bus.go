//go:build !windows && !darwin

package session

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/godbus/dbus/v5"
)

// keyringCanBeThere tells whether there is a session bus, over which such keyrings are reached. Without this the bus's
// library would start a bus of its own, which would outlive the command.
func keyringCanBeThere() bool {
	if address := os.Getenv("DBUS_SESSION_BUS_ADDRESS"); address != "" && address != "autolaunch:" {
		return true
	}
	folder := fmt.Sprintf("/run/user/%d/", os.Getuid())
	return slices.ContainsFunc([]string{"bus", "dbus-session"}, func(name string) bool {
		_, err := os.Stat(folder + name)
		return err == nil
	})
}

// meansAbsent tells whether the bus or the keyring behind it is missing. A keyring that nobody has ever set up says no more
// than that its default collection cannot be unlocked.
func meansAbsent(err error) bool {
	var network *net.OpError
	var program *exec.Error
	var answer dbus.Error
	switch {
	case errors.As(err, &network), errors.As(err, &program):
		return true
	case errors.As(err, &answer):
		return slices.Contains([]string{
			"org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner",
			"org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.Disconnected",
		}, answer.Name) || strings.HasPrefix(answer.Name, "org.freedesktop.DBus.Error.Spawn.")
	}
	return strings.Contains(err.Error(), "unlock correct collection '/org/freedesktop/secrets/aliases/default'")
}
