# What an operator types on a machine with systemd, from the packages to their removal. Each line that begins with "==" says
# what follows; the test reads that.
cd /media/drive
say() { echo "== $*"; }
settings=/etc/perksd/perksd.env

dpkg -i perksd.deb perksctl.deb
say after installing: "$(systemctl is-active perksd)" "$(systemctl is-enabled perksd)"

ip link set lo up
perksd-operate client create --name Team -o json >client.json && say a client was made
install -o root -g perksd -m 0640 fullchain.pem privkey.pem /etc/perksd/tls/
sed -i -e 's/^#\(PERKSD_TLS_\)/\1/' -e 's/^PERKSD_ADDR=.*/PERKSD_ADDR=127.0.0.1:8443/' $settings
cp $settings /run/settings
cat odd.env >>$settings
sed 's#/usr/bin/perksd #/usr/bin/env #' /usr/sbin/perksd-operate >/run/operate
seen() { tr '\n\0' '~\n' | grep '^ODD' | sort; }
sh /run/operate -0 | seen >/run/by-operate
systemd-run --quiet --pipe --wait -p EnvironmentFile=$settings /usr/bin/env -0 | seen >/run/by-systemd
say odd settings: "$(grep -q ODD_15=this /run/by-systemd && diff /run/by-systemd /run/by-operate && echo read as systemd does)"
cp /run/settings $settings
systemctl start perksd
pid=$(systemctl show -p MainPID --value perksd)
say after starting: "$(systemctl is-active perksd)"
say protections: $(grep -E '^(Uid|CapBnd|NoNewPrivs|Seccomp):' "/proc/$pid/status" | tr -d '\t' | sed "s/$(id -u perksd)/perksd/g")
perksctl="env HOME=/root PERKSCTL_API_URL=https://127.0.0.1:8443/v2 PERKSCTL_CA_CERT=authority.pem PERKSCTL_CONFIG_DIR=/run/perksctl PERKSCTL_TOKEN= PERKSCTL_CLIENT_ID=$(sed -n 's/.*"client_id": "\(.*\)",/\1/p' client.json) PERKSCTL_CLIENT_SECRET=$(sed -n 's/.*"client_secret": "\(.*\)",/\1/p' client.json) perksctl"
perksd-operate demo-data --perks 5 --users 2 --properties 0
say perks that are listed: "$($perksctl perk list --all -o id | wc -l)"

rm -f /bin/kill /usr/bin/kill # as on a minimal Debian
systemctl reload perksd
say after reloading: "$(systemctl is-active perksd)" "$([ "$(systemctl show -p MainPID --value perksd)" = "$pid" ] && echo the same process)"
journalctl --sync
say in the log: "$(journalctl -u perksd | grep -c 'the certificate was reloaded')" reload

dpkg -i perksd.deb
say after the upgrade: "$(systemctl is-active perksd)" "$([ "$(systemctl show -p MainPID --value perksd)" = "$pid" ] || echo another process)"
say restarts by itself: "$(systemctl show -p NRestarts --value perksd)"
kill -9 "$(systemctl show -p MainPID --value perksd)"
until [ "$(systemctl show -p NRestarts --value perksd)" = 1 ] && systemctl is-active -q perksd; do sleep 0.1; done
say after it was killed: "$(systemctl is-active perksd)"

systemctl stop perksd
say after stopping: "$(systemctl is-active perksd)" "$(systemctl show -p Result --value perksd)"
systemctl start perksd
dpkg -r perksd
say after the removal: "$(systemctl is-active perksd)" "$(pgrep -x perksd || echo no process)"
dpkg --purge perksd
say what is left: $(ls /var/lib/perksd /etc/perksd/tls 2>&1)
