#!/bin/sh
# Sends the signal $1 to a run that waits for the end of its input, and exits with that run's status. The output is of
# the format $2, an .etl unless given. Says so if the run went on waiting.
mkfifo input
{ cat mixed.etl; exec sleep 10; } > input 2> /dev/null &
writer=$!
etwpipe run -q - -o "x.${2:-etl}" < input &
sleep 0.5
asked=$(date +%s)
kill -"$1" $!
wait $!
status=$?
[ $(($(date +%s) - asked)) -lt 5 ] || echo "still running after 5 seconds"
kill $writer
rm input
exit $status
