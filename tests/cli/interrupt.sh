#!/bin/sh
# Sends the signal $1 to a run that waits for the end of its input, and exits with that run's status. The output is of
# the format $2, an .etl unless given.
{ cat mixed.etl; sleep 2; } | etwpipe run -q - -o "x.${2:-etl}" &
sleep 0.5
kill -"$1" $!
wait $!
