"""Random lives of a merchant and an x402 seller with one payee, whose payers are wallets."""
