package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
)

// explain says in one sentence why the database cannot be used and what to do about it. What it knows nothing of, it
// returns as it is.
func (d *postgresDatabase) explain(err error) error {
	var answer *pgconn.PgError
	if errors.As(err, &answer) {
		return d.explainAnswer(answer, err)
	}
	var refused *pgconn.ConnectError
	if errors.As(err, &refused) {
		return d.explainNoAnswer(refused)
	}
	return err
}

// The SQLSTATEs (PostgreSQL's appendix of error codes) that a person can do something about.
const (
	stateNoDatabase      = "3D000"
	stateWrongPassword   = "28P01"
	stateNotLetIn        = "28000"
	stateNoPrivilege     = "42501"
	stateReadOnly        = "25006"
	stateUndefinedColumn = "42703"
)

// explainAnswer is for what the server itself says.
func (d *postgresDatabase) explainAnswer(answer *pgconn.PgError, err error) error {
	switch answer.Code {
	case stateNoDatabase:
		return fmt.Errorf("there is no database %s; make it with: createdb --maintenance-db=%s %s", d.name(), shellWord(d.clientAddress("postgres")), shellWord(d.dbname))
	case stateWrongPassword:
		return fmt.Errorf("the password of %q for the database %s is wrong or missing; give it in PGPASSWORD or in ~/.pgpass", d.user, d.name())
	case stateNotLetIn:
		return fmt.Errorf("PostgreSQL does not let %q connect to the database %s: %s", d.user, d.name(), answer.Message)
	case stateNoPrivilege:
		return fmt.Errorf("%q lacks a privilege in the database %s (%s); make it the owner of that database", d.user, d.name(), answer.Message)
	case stateReadOnly:
		return d.takesNoWrites()
	case stateUndefinedColumn:
		return fmt.Errorf("the database %s has a table migrations that is not perksd's; give perksd a database of its own", d.name())
	}
	if errors.As(err, new(*pgconn.ConnectError)) {
		return fmt.Errorf("PostgreSQL refuses the connection to the database %s: %s (SQLSTATE %s)", d.name(), answer.Message, answer.Code)
	}
	return err
}

func (d *postgresDatabase) takesNoWrites() error {
	return fmt.Errorf("PostgreSQL at %s takes no writes; is it a standby, and where is its primary?", d.where())
}

// explainNoAnswer is for when no server has said anything.
func (d *postgresDatabase) explainNoAnswer(refused *pgconn.ConnectError) error {
	var unknown *net.DNSError
	switch {
	case errors.As(refused, &unknown):
		return fmt.Errorf("there is no host %q; is the name in the address of the database right?", unknown.Name)
	case errors.Is(refused, syscall.ECONNREFUSED), errors.Is(refused, fs.ErrNotExist):
		return fmt.Errorf("nothing listens at %s; is PostgreSQL running, and are host and port right?", d.where())
	case errors.Is(refused, fs.ErrPermission):
		return fmt.Errorf("the socket of PostgreSQL at %s may not be used by this user of the system", d.where())
	case pgconn.Timeout(refused):
		return fmt.Errorf("%s did not answer in time; are host and port right, and does a firewall let perksd through?", d.where())
	case errors.Is(refused, pgconn.ErrReadOnlyConnection):
		return d.takesNoWrites()
	case errors.Is(refused, io.EOF), errors.Is(refused, io.ErrUnexpectedEOF), errors.Is(refused, syscall.ECONNRESET):
		return fmt.Errorf("what listens at %s does not answer as PostgreSQL does; are host and port right?", d.where())
	}
	return fmt.Errorf("connecting to the database %s: %s", d.name(), strings.Join(strings.Fields(refused.Unwrap().Error()), " "))
}
