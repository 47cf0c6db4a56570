package cluster

import (
	"errors"
	"os"
	"os/exec"
	"os/user"
	"strconv"
)

// account is who runs the servers. PostgreSQL and PgBouncer both refuse root.
type account struct {
	name     string
	uid, gid int
	other    bool // it is not who runs this process
}

var errNoAccount = errors.New(`PostgreSQL refuses to run as root, and there is neither a user "postgres" nor "nobody" to run it instead`)

func unprivileged() (account, error) {
	if os.Geteuid() != 0 {
		return account{}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.Atoi(found.Uid)
		gid, gidErr := strconv.Atoi(found.Gid)
		if uidErr == nil && gidErr == nil {
			return account{name: name, uid: uid, gid: gid, other: true}, nil
		}
	}
	return account{}, errNoAccount
}

// own makes a file or folder the account's.
func (a account) own(path string) error {
	if !a.other {
		return nil
	}
	return os.Chown(path, a.uid, a.gid)
}

// canEnter tries it: a folder above may be closed to the account in more ways than its mode shows.
func (a account) canEnter(path string) bool {
	enter := exec.Command("sh", "-c", `cd "$1"`, "enter", path)
	enter.Dir = "/"
	enter.SysProcAttr = detached(a)
	return enter.Run() == nil
}
