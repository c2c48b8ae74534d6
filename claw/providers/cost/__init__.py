"""What calls cost: prices, and every call in the ledger."""
