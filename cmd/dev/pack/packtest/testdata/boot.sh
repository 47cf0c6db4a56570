#!/bin/sh
# boot.sh FOLDER, in namespaces of its own (unshare), starts systemd on a temporary copy of this machine.
# systemd runs FOLDER/drive.sh, which writes to FOLDER/drive.log, and powers off.
set -eu
folder=$1

mount --make-rprivate /
overlay=$folder/overlay
mkdir "$overlay"
mount -t tmpfs tmpfs "$overlay"
mkdir "$overlay/upper" "$overlay/work" "$overlay/machine"
machine=$overlay/machine
mount -t overlay overlay -o "lowerdir=/,upperdir=$overlay/upper,workdir=$overlay/work" "$machine"
mount -t proc proc "$machine/proc"
mount -t tmpfs tmpfs "$machine/run"
mount -t sysfs sysfs "$machine/sys"
mount -t cgroup2 cgroup2 "$machine/sys/fs/cgroup"
mount --rbind /dev "$machine/dev"
mkdir -p "$machine/media/drive"
mount --bind "$folder" "$machine/media/drive"

# Debian asks this file whether services may start; tests of other programs may forbid it.
rm -f "$machine/usr/sbin/policy-rc.d"
cat >"$machine/etc/systemd/system/drive.service" <<'UNIT'
[Unit]
After=basic.target
[Service]
Type=oneshot
StandardOutput=file:/media/drive/drive.log
StandardError=inherit
ExecStart=/bin/sh /media/drive/drive.sh
ExecStopPost=/bin/systemctl --force --force poweroff
TimeoutStartSec=100
UNIT
mkdir -p "$machine/etc/systemd/system/basic.target.wants"
ln -s /etc/systemd/system/drive.service "$machine/etc/systemd/system/basic.target.wants/drive.service"

# Not chroot, in which the kernel refuses what PrivateUsers= needs.
cd "$machine"
mkdir -p mnt/before
pivot_root . mnt/before
umount -l /mnt/before
exec env -i container=lxc PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --unit=basic.target </dev/null
