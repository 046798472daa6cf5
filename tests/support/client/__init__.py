"""The client library against scripted nodes, in-process chains and live ones."""
