"""The smallest `pay.toml` of a merchant."""

TOKEN = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"
SMALL = f"""
[node]
url = "http://127.0.0.1:8545"
chain_id = 84532
[token]
address = "{TOKEN}"
[payee]
key_env = "SHOP_KEY"
[database]
url = "sqlite:///pay.db"
"""
