"""Times of other machines, NPB 1 kernel CG, class B: Table 7 of K. Itakura et al., "Performance Evaluation of NPB Kernel CG on
CP-PACS", Transactions of the Information Processing Society of Japan 39(6), 1998. Seconds over the number of processors."""

TABLE_7_CLASS = "B"
TABLE_7_PROCESSORS = (16, 32, 64, 128, 256)
TABLE_7_S = {
    "CP-PACS": (101.25, 54.51, 30.3, 17.59, 11.38),
    "Cray T3E (Nov 96)": (107.1, 59.3, 33.8, 22.9, 22.2),
    "IBM SP Wide-node 1, 67 MHz (Mar 94)": (88.4, 52.53, 33.79, 25.44, None),
    "IBM SP P2SC, 120 MHz (Nov 96)": (62.21, 36.22, 22.71, None, None),
}
