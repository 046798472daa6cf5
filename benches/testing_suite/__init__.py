"""200 small web3.py tests on foreseal.testing, on eth-tester and on an anvil subprocess."""
