package session

import (
	"bytes"
	"cmp"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"example.com/perks/cli/command"
)

const caCertFlag = "ca-cert"

// CACert returns the file of certificates to trust beside the system's, "" for none: that of the flag, even if it is
// empty, of the environment, or of the profile.
func (s *Session) CACert(profile Profile) string {
	if s.givesCACert() {
		return s.Flags.CACert
	}
	return cmp.Or(s.env(EnvCACert), profile.CACert)
}

func (s *Session) givesCACert() bool { return s.Flags.set != nil && s.Flags.set.Changed(caCertFlag) }

// AbsoluteCACert is CACert for a profile, which is used in other directories too.
func (s *Session) AbsoluteCACert(profile Profile) (string, error) {
	file := s.CACert(profile)
	if file == "" {
		return "", nil
	}
	return filepath.Abs(file)
}

// TrustFlags returns --ca-cert if it was given.
func (s *Session) TrustFlags() []string {
	if !s.givesCACert() {
		return nil
	}
	return []string{"--" + caCertFlag + "=" + s.Flags.CACert}
}

// Roots returns the system's certificate authorities and those in the file; without a file it is nil, the system's
// alone. It reads the file once in a session, because it may be a pipe.
func (s *Session) Roots(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	if known := s.roots[file]; known != nil {
		return known, nil
	}
	certificates, problem := readCertificates(file)
	if problem != "" {
		source := "the profile's " + caCertFlag
		switch {
		case s.givesCACert():
			source = "--" + caCertFlag
		case s.env(EnvCACert) != "":
			source = EnvCACert
		}
		return nil, command.Usagef("%s, which %s names, %s.", file, source, problem)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool() // the system has none
	}
	for _, certificate := range certificates {
		roots.AddCert(certificate)
	}
	if s.roots == nil {
		s.roots = map[string]*x509.CertPool{}
	}
	s.roots[file] = roots
	return roots, nil
}

// maxCertificates bounds the file. All authorities of a browser take a quarter of a megabyte.
const maxCertificates = 16 << 20

// readCertificates reads every certificate in a PEM file, or describes the problem with the file.
func readCertificates(path string) (certificates []*x509.Certificate, problem string) {
	file, err := os.Open(path)
	if err == nil {
		defer file.Close()
		if info, statErr := file.Stat(); statErr == nil && info.IsDir() {
			return nil, "is a directory, not a file of certificates in PEM"
		}
	}
	var text []byte
	if err == nil {
		text, err = io.ReadAll(io.LimitReader(file, maxCertificates))
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, "does not exist"
	case errors.Is(err, fs.ErrPermission):
		return nil, "cannot be read: permission denied"
	case err != nil:
		return nil, "cannot be read: " + command.Plain(err)
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	rest, others := text, ""
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			others = block.Type
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Sprintf("cannot be used: its certificate %d is broken", len(certificates)+1)
		}
		certificates = append(certificates, certificate)
	}
	switch _, notDER := x509.ParseCertificate(text); {
	case len(certificates) > 0:
		return certificates, ""
	case others != "":
		return nil, fmt.Sprintf("holds no certificate, but %q", others)
	case notDER == nil:
		return nil, "holds a certificate, but not in PEM; convert it with openssl x509 -inform der"
	}
	return nil, "holds no certificate in PEM, which begins with -----BEGIN CERTIFICATE-----"
}
