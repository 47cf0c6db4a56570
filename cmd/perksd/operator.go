package main

import (
	"fmt"
	"os"
	"os/user"
	"strings"
	"unicode/utf8"

	"example.com/perks/store"
)

// whoOperates is how the audit log names the person who types: by the account of the process and, where sudo says so, by
// the one who became it. What sudo says is what the environment says: it helps to find a person, and proves nothing, which
// is why the account itself always comes first.
func whoOperates(getenv func(string) string) store.Actor {
	var account string
	// Not user.Current, which asks the environment when it finds no name.
	if found, err := user.LookupId(fmt.Sprint(os.Getuid())); err == nil {
		account = found.Username
	} else if os.Getuid() < 0 { // Windows has names where others have numbers
		if found, err := user.Current(); err == nil {
			account = found.Username
		}
	}
	return operatorActor(account, os.Getuid(), getenv("SUDO_USER"))
}

func operatorActor(account string, uid int, sudoUser string) store.Actor {
	if account == "" {
		account = fmt.Sprintf("uid-%d", uid)
	}
	if sudoUser == "" || sudoUser == account {
		return store.OperatorActor(accountName(account))
	}
	return store.OperatorActor(accountName(account), accountName(sudoUser))
}

// maxAccountName is longer than any system's names are.
const maxAccountName = 64

// accountName keeps a name to what is plain in a log and cannot be taken for more than one name.
func accountName(name string) string {
	if utf8.RuneCountInString(name) > maxAccountName {
		name = string([]rune(name)[:maxAccountName])
	}
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', strings.ContainsRune(`._-@+\$`, r):
			return r
		}
		return '_'
	}, name)
}
