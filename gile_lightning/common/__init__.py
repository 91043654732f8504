"""What every room may use: errors, parts as plain values, the console, child processes."""
