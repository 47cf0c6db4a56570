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

// keyringCanExist looks for a session bus, through which such keyrings are reached. The library would start a bus of
// its own, which would outlive the command.
func keyringCanExist() bool {
	if address := os.Getenv("DBUS_SESSION_BUS_ADDRESS"); address != "" && address != "autolaunch:" {
		return true
	}
	dir := fmt.Sprintf("/run/user/%d/", os.Getuid())
	return slices.ContainsFunc([]string{"bus", "dbus-session"}, func(name string) bool {
		_, err := os.Stat(dir + name)
		return err == nil
	})
}

// meansNoKeyring reports whether the bus or the keyring is missing. One that was never set up only says that its
// default collection cannot be unlocked.
func meansNoKeyring(err error) bool {
	var network *net.OpError
	var program *exec.Error
	var reply dbus.Error
	switch {
	case errors.As(err, &network), errors.As(err, &program):
		return true
	case errors.As(err, &reply):
		return slices.Contains([]string{
			"org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner",
			"org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.Disconnected",
		}, reply.Name) || strings.HasPrefix(reply.Name, "org.freedesktop.DBus.Error.Spawn.")
	}
	return strings.Contains(err.Error(), "unlock correct collection '/org/freedesktop/secrets/aliases/default'")
}
