package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
)

// keepSupervisorInformed tells systemd, or whoever else started the program and has set NOTIFY_SOCKET, that it answers, and
// when ctx ends that it drains. See sd_notify(3).
func (p *program) keepSupervisorInformed(ctx context.Context, log *slog.Logger) {
	socket := p.getenv("NOTIFY_SOCKET")
	if socket == "" {
		return
	}
	tell := func(state string) {
		if err := notify(socket, state); err != nil {
			log.Warn("the supervisor was not told how far perksd is", "state", state, "error", err.Error())
		}
	}
	tell("READY=1")
	context.AfterFunc(ctx, func() { tell("STOPPING=1") })
}

// notify sends one datagram. A name that begins with @ is in Linux's abstract namespace, as Go has it too.
func notify(socket, state string) error {
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("NOTIFY_SOCKET: %w", err)
	}
	defer conn.Close()
	_, err = conn.Write([]byte(state))
	return err
}
