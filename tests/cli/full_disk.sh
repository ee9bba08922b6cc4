#!/bin/sh
# Runs mixed.etl into a file of the format $1 on a file system with too little room, then lists what is there.
# Exits with 77 where no such file system can be made.
if unshare -rm true 2> /dev/null; then
  alone="unshare -rm"
elif unshare -m true 2> /dev/null; then
  # Inside a chroot the kernel gives no user namespace; root needs none.
  alone="unshare -m"
else
  echo "no mount namespace of our own"
  exit 77
fi
mkdir -p small
$alone sh -c '
  mount -t tmpfs -o size=64k none small 2> /dev/null || { echo "cannot mount a tmpfs here"; exit 77; }
  etwpipe run -q mixed.etl -o "small/x.$1"
  status=$?
  ls -A small
  exit $status' sh "$1"
status=$?
rm -rf small
exit $status
