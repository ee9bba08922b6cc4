#!/bin/sh
# Runs mixed.etl into a file of the format $1 on a file system with too little room, then lists what is there.
# Exits with 77 where no such file system can be made.
mkdir -p small
unshare -rm sh -c '
  mount -t tmpfs -o size=64k none small 2> /dev/null || { echo "cannot mount a tmpfs here"; exit 77; }
  etwpipe run -q mixed.etl -o "small/x.$1"
  status=$?
  ls -A small
  exit $status' sh "$1" 2> errors
status=$?
cat errors >&2
rm -rf small errors
if grep -q unshare errors 2> /dev/null; then exit 77; fi
exit $status
