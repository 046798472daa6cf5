"""Half an hour at 80 % of the highest send rate, with readers and subscribers: cadence, delay, backlog and memory."""
