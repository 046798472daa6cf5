"""`foreseal bench`: benchmark of Ethereum nodes with equal load and equal content in one interleaved run.

    contents   accounts, a token, and the blocks of every node     filling    writes them to a node
    matrix     the measured read calls                             measuring  runs of the matrix in random order
    sending, visibility, fanout                                    all other measurements
    peers      starts nodes                                        report     JSON, HTML, lines

The core (`foreseal._core.Load`) generates the load; Python code does not run between a request and its response.
"""
