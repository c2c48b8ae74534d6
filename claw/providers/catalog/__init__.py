"""Who can be asked: vendors, keys, addresses and models."""
