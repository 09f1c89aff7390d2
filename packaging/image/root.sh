#!/usr/bin/env bash
# root.sh FOLDER: makes the root file system of the image from Debian packages: the libraries that longshored links,
# certificates and a user. It has no shell and no other program. Needs neither root nor mounts.
set -euo pipefail
export LC_ALL=C
out=$1
case $(dpkg --print-architecture) in
    amd64) loader=lib64/ld-linux-x86-64.so.2 ;;
    arm64) loader=lib/ld-linux-aarch64.so.1 ;;
    *) echo "root.sh: only amd64 and arm64 are known" >&2; exit 1 ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/packages" "$work/all"

download() { (cd "$work/packages" && apt-get download -qq --option APT::Sandbox::User=root "$@"); }

download libc6 libgcc-s1 ca-certificates
# The package with the licence of libgcc has the version of the compiler in its name.
compiler=$(dpkg-deb --field "$work"/packages/libgcc-s1_*.deb Depends | grep -oE 'gcc-[0-9]+-base')
download "$compiler"
for package in "$work"/packages/*.deb; do dpkg-deb --extract "$package" "$work/all"; done

# install_library NAME PATH: the one file of that name, at a path of the root.
install_library() {
    local found
    found=$(find "$work/all" -name "$1" -path '*-linux-gnu/*' -not -path '*/gconv/*')
    [[ -n $found && $found != *$'\n'* ]] || { echo "root.sh: not exactly one $1: $found" >&2; exit 1; }
    install -D -m 755 "$found" "$out/$2"
}

mkdir -p "$out"
install_library "${loader##*/}" "$loader"
for library in libc.so.6 libm.so.6 libgcc_s.so.1; do install_library "$library" "lib/$library"; done

mkdir -p "$out/etc/ssl/certs" "$out/etc/longshore" "$out/run/secrets" "$out/usr/bin" "$out/usr/share/longshore"
cat "$work"/all/usr/share/ca-certificates/mozilla/*.crt >"$out/etc/ssl/certs/ca-certificates.crt"
for package in libc6 "$compiler" ca-certificates; do
    install -D -m 644 "$work/all/usr/share/doc/$package/copyright" "$out/usr/share/doc/$package/copyright"
done
# What a scanner of images needs to know.
for package in "$work"/packages/*.deb; do
    dpkg-deb --show --showformat='${Package} ${Version} ${Architecture}\n' "$package"
done | sort >"$out/usr/share/longshore/base-packages"

printf 'root:x:0:0:root:/:/sbin/nologin\nlongshore:x:65532:65532:longshore:/:/sbin/nologin\n' >"$out/etc/passwd"
printf 'root:x:0:\nlongshore:x:65532:\n' >"$out/etc/group"
printf 'hosts: files dns\n' >"$out/etc/nsswitch.conf"
# Its files belong to root and are readable by all; only /tmp is writable.
chmod -R u=rwX,go=rX "$out"
mkdir -m 1777 -p "$out/tmp"
chmod 1777 "$out/tmp"
