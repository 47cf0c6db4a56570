package listen

import (
	"net"
	"syscall"
	"time"
)

// sendBuffer is how much the system keeps of a stream that is not read, the usual maximum of Linux. The system
// doubles it.
const sendBuffer = 208 << 10

// LimitSendBuffer keeps the system from storing megabytes for a connection that is not read.
func (c *Conn) LimitSendBuffer() {
	if c == nil {
		return
	}
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(sendBuffer) // otherwise it keeps its own size
	}
}

// CanWrite reports whether the system takes more at once: a third of the send buffer, on Linux.
func (c *Conn) CanWrite() bool {
	can := true
	if raw := c.raw(); raw != nil {
		_ = raw.Control(func(fd uintptr) { can = isWritable(fd) }) // on a closed connection, writing fails
	}
	return can
}

// AwaitWrite waits for CanWrite. After so long the error is os.ErrDeadlineExceeded. Nothing else may write meanwhile.
func (c *Conn) AwaitWrite(within time.Duration) error {
	raw := c.raw()
	if raw == nil {
		return nil
	}
	if err := c.Conn.SetWriteDeadline(time.Now().Add(within)); err != nil {
		return err
	}
	return raw.Write(isWritable)
}

func (c *Conn) raw() syscall.RawConn {
	if c == nil {
		return nil
	}
	has, ok := c.Conn.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := has.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}
