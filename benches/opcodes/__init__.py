"""Gas per second of every opcode and precompiled contract, next to geth."""
