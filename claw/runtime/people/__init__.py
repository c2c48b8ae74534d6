"""What people ask and answer beside their turns."""
