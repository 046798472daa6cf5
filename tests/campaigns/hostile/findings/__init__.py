"""The findings S1 to S12 and N1 to N13 of two attacks, reproduced from outside on any build."""
