# shellcheck shell=bash
# Shared helpers for the scripts in this folder. Source it, do not run it:
#
#   . "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
#
# State (data, logs, pid files, chosen ports) lives in $PORTEIRO_TEST_STATE, by
# default ${TMPDIR:-/tmp}/porteiro-dev. Downloaded programs are kept in
# ${XDG_CACHE_HOME:-~/.cache}/porteiro. Both may be deleted when all is stopped.

umask 022
STATE=$(realpath -m "${PORTEIRO_TEST_STATE:-${TMPDIR:-/tmp}/porteiro-dev}")
# shellcheck disable=SC2034 # used by those who source this file
CACHE=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/porteiro

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
die() { say "$*"; exit 1; }

# usage: print the header comment of the calling script and fail.
usage() { sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$0" >&2; exit 2; }

is_root() { [ "$(id -u)" = 0 ]; }

# state_dir NAME USER: make $STATE/NAME, give it to USER when we are root, and
# take its lock (fd 9) so that two starts at once do not trip over each other.
state_dir() {
  [[ $STATE != *[[:space:]]* ]] || die "the path of the state folder must have no spaces: $STATE"
  mkdir -p "$STATE"
  [ -O "$STATE" ] || die "$STATE belongs to another user; set PORTEIRO_TEST_STATE to a folder of your own"
  chmod 755 "$STATE"
  mkdir -p "$STATE/$1"
  if is_root; then
    chown "$2:" "$STATE/$1"
    as_user "$2" test -x "$STATE/$1" ||
      die "user $2 cannot reach $STATE/$1; set PORTEIRO_TEST_STATE to a folder that every user may enter"
  fi
  exec 9>"$STATE/$1.lock"
  flock 9
}

# as_user USER COMMAND...: run COMMAND as USER when we are root, else as we are.
as_user() {
  local user=$1
  shift
  if is_root; then
    (cd / && exec setpriv --reuid="$user" --regid="$(id -g "$user")" --init-groups \
      env HOME=/nonexistent "$@" 9>&-)
  else
    (cd / && exec "$@" 9>&-)
  fi
}

# alive PIDFILE WORD: print the pid if that process runs and WORD is in its
# command line. A pid file left from before a reboot does not pass.
alive() {
  local pid
  [ -s "$1" ] || return 1
  read -r pid <"$1" || [ -n "${pid:-}" ] || return 1
  pid=${pid//[!0-9]/}
  [ -n "$pid" ] && [ -r "/proc/$pid/cmdline" ] || return 1
  tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -qF -- "$2" || return 1
  echo "$pid"
}

# stop_pid PID SIGNAL: ask that one process to end and wait for it.
stop_pid() {
  kill "-$2" "$1" 2>/dev/null || return 0
  wait_for 60 gone "$1" || { say "process $1 does not stop; killing it"; kill -KILL "$1" 2>/dev/null || true; }
}
gone() {
  local stat
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 0
  [[ $stat == *") Z "* ]]
}

# wait_for SECONDS COMMAND...: try COMMAND until it succeeds or time is up.
wait_for() {
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$end" ] || return 1
    sleep 0.1
  done
}

port_open() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# port_taken PORT: something listens on it, or an outgoing connection uses it.
port_taken() {
  if command -v ss >/dev/null; then
    ss -Htan "sport = :$1" | grep -qv '^TIME-WAIT'
  else
    port_open "$1"
  fi
}

# pick_port WANTED: print WANTED if it is free, else another free port. Others
# come from below the range the kernel uses for outgoing connections.
pick_port() {
  local port=$1
  while port_taken "$port"; do port=$((20000 + RANDOM % 12000)); done
  [ "$port" = "$1" ] || say "port $1 is taken; using $port"
  echo "$port"
}

# need PACKAGE COMMAND: install the Debian PACKAGE if COMMAND is missing and we
# are root. No service of that package is started.
need() { command -v "$2" >/dev/null || install_package "$1" "$2"; }

# need_file PACKAGE FILE: the same for a package without a command of its own.
need_file() { [ -e "$2" ] || install_package "$1" "$2"; }

install_package() {
  is_root || die "$2 is missing; install the package $1"
  command -v apt-get >/dev/null || die "$2 is missing and there is no apt-get; install $1 yourself"
  say "installing the package $1"
  (
    guard=/usr/sbin/policy-rc.d
    if [ ! -e $guard ]; then
      trap 'rm -f $guard' EXIT
      printf '#!/bin/sh\nexit 101\n' >$guard
      chmod 755 $guard
    fi
    apt_update_once
    DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 -qq -y \
      install --no-install-recommends "$1" >&2
  ) || die "could not install the package $1"
}

# apt_update_once: refresh apt's lists, at most once a run of a script.
apt_update_once() {
  [ -z "${PORTEIRO_APT_UPDATED:-}" ] || return 0
  apt-get -o DPkg::Lock::Timeout=120 -qq update >&2 || say "apt-get update failed; trying with the lists at hand"
  export PORTEIRO_APT_UPDATED=1
}

host_suite() { (. /etc/os-release && echo "${VERSION_CODENAME:-}") 2>/dev/null; }

# unpack_debs FOLDER SUITE SKIP PACKAGE...: download the PACKAGEs of a Debian
# SUITE and the libraries they depend on (except those that match the regular
# expression SKIP), and unpack them into FOLDER. Nothing is installed, no
# service starts, and the system's apt configuration and lists are only read:
# the mirrors are those this machine already uses. Works without root.
# FOLDER appears only when all is there; returns 1 if it cannot be had.
unpack_debs() (
  folder=$1 suite=$2 skip=$3
  shift 3
  [ ! -d "$folder" ] || exit 0
  if ! command -v apt-get >/dev/null || [ -z "$suite" ]; then exit 1; fi
  mkdir -p "$(dirname "$folder")" || exit 1
  tmp=$(mktemp -d "$folder.XXXXXX") || exit 1
  trap 'rm -rf "$tmp"' EXIT
  say "downloading $* of $suite into $folder"

  mkdir -p "$tmp"/{root,debs,parts,lists/partial,cache/archives/partial} && touch "$tmp/status"
  keyring=/usr/share/keyrings/debian-archive-keyring.gpg
  [ "$(. /etc/os-release && echo "${ID:-}")" != ubuntu ] || [ "$suite" != "$(host_suite)" ] || keyring=
  # Every Debian (or Ubuntu) mirror named in the machine's own sources.
  cat /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources} 2>/dev/null | grep -v '^ *#' |
    grep -oE '[a-z+]+:/[^] ]*/(debian|debian-security|ubuntu)(\.list)?/?( |$)' | tr -d ' ' | sort -u |
    while read -r uri; do
      case $uri in
        */debian-security*) echo "deb ${keyring:+[signed-by=$keyring]} $uri $suite-security main" ;;
        */ubuntu*) [ -n "$keyring" ] || printf 'deb %s %s main universe\n' "$uri" "$suite" "$uri" "$suite-updates" ;;
        *) echo "deb ${keyring:+[signed-by=$keyring]} $uri $suite main" ;;
      esac
    done >"$tmp/sources.list"
  [ -s "$tmp/sources.list" ] || { say "no Debian mirror in this machine's apt sources"; exit 1; }

  apt=(-o "Dir::Etc::sourcelist=$tmp/sources.list" -o "Dir::Etc::sourceparts=$tmp/parts"
    -o "Dir::Etc::preferencesparts=$tmp/parts" -o Dir::Etc::preferences=/dev/null
    -o "Dir::State::lists=$tmp/lists" -o "Dir::State::status=$tmp/status" -o "Dir::Cache=$tmp/cache"
    -o Acquire::Languages=none -o Acquire::Retries=2 -o Acquire::http::Timeout=20)
  if is_root; then apt+=(-o APT::Sandbox::User=root); fi
  # A mirror that lacks the suite is no matter as long as the packages come.
  apt-get "${apt[@]}" -qq update >"$tmp/log" 2>&1 || true

  # Libraries, level by level; a package's other dependencies are left alone.
  todo=("$@") all=("$@")
  while [ ${#todo[@]} -gt 0 ]; do
    mapfile -t found < <(apt-cache "${apt[@]}" depends --important "${todo[@]}" 2>/dev/null |
      sed -nE 's/^ +\|?(Pre)?Depends: (lib[^ :]+|zlib1g)(:.*)?$/\2/p' |
      grep -vE -- '-perl$|-common|-modules|-bin$|debconf|debian-installer' | sort -u)
    todo=()
    for lib in "${found[@]}"; do
      [[ -n $skip && $lib =~ $skip ]] || [[ " ${all[*]} " == *" $lib "* ]] || todo+=("$lib")
    done
    all+=("${todo[@]}")
  done
  if ! (cd "$tmp/debs" && apt-get "${apt[@]}" -qq download "${all[@]}") >>"$tmp/log" 2>&1; then
    tail -n 5 "$tmp/log" >&2
    exit 1
  fi
  for deb in "$tmp"/debs/*.deb; do dpkg -x "$deb" "$tmp/root" || exit 1; done
  chmod -R u-s,g-s,go+rX "$tmp/root"
  mv "$tmp/root" "$folder" 2>/dev/null || [ -d "$folder" ]
)

# place FOLDER TARGET: copy unpacked programs from the cache to the state
# folder, because the server's user may not read our home.
place() {
  [ ! "$2/.stamp" -nt "$1" ] || return 0
  rm -rf "$2"
  cp -a "$1" "$2"
  touch "$2/.stamp"
}
