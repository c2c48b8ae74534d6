"""Tools that hand work to other agents and models."""
