"""Which labels are likely to be wrong: what leave-one-out evidence says against the cells of y."""
