"""The words of the house: contracts and value types, standard library only."""
