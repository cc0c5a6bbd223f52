"""Facts of class S and of the reports."""

# zeta after every outer iteration of class S, as the official 3.4 program prints it on 1 rank.
CLASS_S_ZETA = (
    9.998644157914,
    8.5733279203222,
    8.5954510374058,
    8.5969972340737,
    8.5971549151767,
    8.5971744311608,
    8.5971770704913,
    8.597177444063,
    8.5971774983942,
    8.5971775064409,
    8.5971775076486,
    8.5971775078318,
    8.5971775078598,
    8.5971775078641,
    8.5971775078648,
)
CLASS_S_NONZEROS = 78148

PHASES = ("collection", "multiply", "summation", "shuffle", "dot", "vector_updates")
