"""Delay of honest payments while shoppers pay by wallets whose code does not end."""
