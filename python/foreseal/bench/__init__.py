"""`foreseal bench`: what Ethereum nodes do under the same load, with the same content, in one interleaved run.

    contents   accounts, a token, and the blocks that every node gets        filling    puts them there
    matrix     the calls that are measured                                   measuring  runs of them, in random order
    sending, visibility, fanout, scale                                       what is no plain read
    peers      starts nodes                                                  report     JSON, HTML, lines

The load comes from the core (`foreseal._core.Load`); nothing here is between a request and its answer.
"""
