"""The parts of cg2d report."""
