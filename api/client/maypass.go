package client

import (
	"errors"
	"io"
	"net"
)

// mayPass tells whether a connection that could not be made may come about later: a refusal or silence may end, but a wrong
// name, a certificate that nobody vouches for and a fault in the request stay as they are.
func mayPass(err error) bool {
	var name *net.DNSError
	var network net.Error
	switch {
	case errors.As(err, &name) && name.IsNotFound, isAlert(err):
		return false
	}
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
