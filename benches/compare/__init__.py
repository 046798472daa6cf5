"""`foreseal bench` for developers of Foreseal: with plots, flame graphs of the nodes, and longer and longer chains."""
