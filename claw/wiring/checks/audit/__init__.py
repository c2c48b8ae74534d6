"""What `claw security audit` looks at: one module for each group."""
