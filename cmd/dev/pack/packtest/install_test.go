//go:build package

package packtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const settings = "etc/perksd/perksd.env"

func TestInstallingGivesEveryFileItsModeAndOwners(t *testing.T) {
	r := newRoot(t)
	said := r.dpkg("-i", serverPackage(t), clientPackage(t))
	if !strings.Contains(said, "perksd is installed and does not run yet.") ||
		!strings.Contains(said, "systemctl enable --now perksd") {
		t.Errorf("the next step is missing:\n%s", said)
	}
	for name, want := range map[string]string{
		settings:                                "0640 root:perksd",
		"etc/perksd":                            "0750 root:perksd",
		"etc/perksd/tls":                        "0750 root:perksd",
		"var/lib/perksd":                        "0700 perksd:perksd",
		"usr/bin/perksd":                        "0755 root:root",
		"usr/bin/perksctl":                      "0755 root:root",
		"usr/bin/perksctl-mcp":                  "0755 root:root",
		"usr/sbin/perksd-operate":               "0755 root:root",
		"usr/lib/systemd/system/perksd.service": "0644 root:root",
	} {
		if got := r.owned(name); got != want {
			t.Errorf("/%s is %s, want %s", name, got, want)
		}
	}
	for _, name := range strings.Fields(r.dpkg("-L", "perksd") + r.dpkg("-L", "perksctl")) {
		info, err := os.Lstat(r.path(name))
		if err != nil {
			t.Error(err)
		} else if info.Mode().Perm()&0o022 != 0 {
			t.Errorf("%s can be written by others: %s", name, info.Mode())
		}
	}
	if files := r.run(exec.Command("dpkg-deb", "--info", serverPackage(t), "conffiles")); files != "/"+settings+"\n" {
		t.Errorf("the configuration files are %q", files)
	}
	if r.exists("etc/systemd/system/multi-user.target.wants/perksd.service") {
		t.Error("the service is enabled before it is set up")
	}
}

// older returns the package as an earlier version, with other settings if given.
func older(t *testing.T, r *root, version, changed string) string {
	t.Helper()
	directory := t.TempDir()
	tree, file := filepath.Join(directory, "tree"), filepath.Join(directory, "older.deb")
	r.run(exec.Command("dpkg-deb", "-R", serverPackage(t), tree))
	control, err := os.ReadFile(filepath.Join(tree, "DEBIAN/control"))
	r.must(err)
	var lines []string
	for line := range strings.Lines(string(control)) {
		if strings.HasPrefix(line, "Version: ") {
			line = "Version: " + version + "\n"
		}
		lines = append(lines, line)
	}
	r.must(os.WriteFile(filepath.Join(tree, "DEBIAN/control"), []byte(strings.Join(lines, "")), 0o644))
	if changed != "" {
		r.must(os.WriteFile(filepath.Join(tree, settings), []byte(changed), 0o600))
	}
	r.run(exec.Command("dpkg-deb", "--root-owner-group", "-Znone", "-b", tree, file))
	return file
}

func TestAnUpgradeKeepsTheSettings(t *testing.T) {
	for name, shipped := range map[string]string{"settings of the package": "",
		"new settings of the package": "PERKSD_ADDR=127.0.0.1:1\n"} {
		t.Run(name, func(t *testing.T) {
			r := newRoot(t)
			r.dpkg("-i", older(t, r, "0~0", shipped))
			r.append(settings, "PERKSD_RATE_LIMIT=7/s")
			before := r.read(settings)
			said := r.dpkg("--force-confdef", "--force-confold", "-i", serverPackage(t))
			if !strings.Contains(said, "Unpacking perksd") || !strings.Contains(said, "over (0~0)") ||
				strings.Contains(said, "does not run yet") {
				t.Errorf("it does not look like an upgrade:\n%s", said)
			}
			if after := r.read(settings); after != before {
				t.Errorf("the settings were\n%s\nand are\n%s", before, after)
			}
			if got := r.owned(settings); got != "0640 root:perksd" {
				t.Errorf("the settings are %s", got)
			}
			if brought := r.exists(settings + ".dpkg-dist"); brought != (shipped != "") {
				t.Errorf("new settings beside the operator's: %t", brought)
			}
		})
	}
}

func TestRemovingKeepsSettingsAndPurgingKeepsTheDatabase(t *testing.T) {
	r := newRoot(t)
	r.dpkg("-i", serverPackage(t), clientPackage(t))
	for _, name := range []string{"var/lib/perksd/perks.db", "etc/perksd/tls/key.pem"} {
		r.must(os.WriteFile(r.path(name), []byte("precious"), 0o600))
	}
	r.dpkg("-r", "perksd", "perksctl")
	for name, stays := range map[string]bool{
		settings: true, "var/lib/perksd/perks.db": true, "etc/perksd/tls/key.pem": true,
		"usr/bin/perksd": false, "usr/bin/perksctl": false, "usr/bin/perksctl-mcp": false, "usr/lib/systemd/system/perksd.service": false,
		"usr/share/man/man8/perksd.8.gz": false,
	} {
		if r.exists(name) != stays {
			t.Errorf("after the removal /%s is there: %t", name, !stays)
		}
	}
	said := r.dpkg("--purge", "perksd")
	for name, stays := range map[string]bool{settings: false, "var/lib/perksd/perks.db": true,
		"etc/perksd/tls/key.pem": true} {
		if r.exists(name) != stays {
			t.Errorf("after the purge /%s is there: %t", name, !stays)
		}
	}
	if !strings.Contains(said, "The data in /var/lib/perksd are left") {
		t.Errorf("the message about the remaining data is missing:\n%s", said)
	}
}

func TestPurgingRemovesEverythingWithoutData(t *testing.T) {
	r := newRoot(t)
	r.dpkg("-i", serverPackage(t))
	said := r.dpkg("--purge", "perksd")
	for _, name := range []string{"etc/perksd", "var/lib/perksd", "usr/bin/perksd"} {
		if r.exists(name) {
			t.Errorf("/%s is left", name)
		}
	}
	if strings.Contains(said, "are left") {
		t.Errorf("it reports remaining data:\n%s", said)
	}
}
