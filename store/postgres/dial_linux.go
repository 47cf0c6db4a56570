package postgres

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// setUserTimeout lets a connection break when its host disappears while data is sent to it: keep-alives are sent
// only on a quiet connection, and without this limit the kernel tries for a quarter of an hour.
func setUserTimeout(network, _ string, conn syscall.RawConn) error {
	if network == "unix" {
		return nil
	}
	var failure error
	err := conn.Control(func(fd uintptr) {
		failure = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT,
			int(unacknowledgedTimeout.Milliseconds()))
	})
	if err != nil {
		return err
	}
	return failure
}
