"""`eth_simulateV1` beyond the recorded exchanges, on a chain in this process."""
