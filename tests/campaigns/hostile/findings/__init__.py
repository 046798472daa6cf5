"""The findings S1 to S12 of an independent attack, reproduced from outside on any build."""
