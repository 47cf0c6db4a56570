#!/bin/sh
# Makes an authority for this cluster alone, and a certificate for each node, all valid for ten years:
#
#     sh certificates.sh FOLDER a=10.20.0.11 b=10.20.0.12 c=10.20.0.13
#
# On each node, ca.crt and the node's two files, as node.crt and node.key, belong in /etc/perks-ha. Beside perksd,
# ca.crt does. Keep ca.key on no node: it makes further certificates, of which etcd obeys each.
set -eu
umask 077
mkdir -p "$1"
cd "$1"
shift
make() { openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 "$@"; }
[ -e ca.key ] || make -subj '/CN=perks cluster' -addext keyUsage=critical,keyCertSign,cRLSign -keyout ca.key -out ca.crt
for node; do
	# perksd reaches a node through HAProxy on its own machine.
	make -CA ca.crt -CAkey ca.key -subj "/CN=${node%%=*}" -keyout "${node%%=*}.key" -out "${node%%=*}.crt" \
		-addext "subjectAltName=IP:${node#*=},IP:127.0.0.1" -addext extendedKeyUsage=serverAuth,clientAuth \
		-addext basicConstraints=critical,CA:FALSE
done
